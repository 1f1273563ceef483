#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wqe-dump build, against bytes written down by hand. usage: dump_build.py PROGRAM"""

import subprocess
import sys

from dump_rig import DUMP, dump, golden, goldens
from harness import check, has, main

RADDR = '--raddr 0x8008 --rkey 0x5000 '
LONG_RADDR = '--raddr 0x7f1122334455 --rkey 0x181920 '
LONG_SGE = '--sge 0x5566778899aa:4096:0x1aff'
HEADERS = ('02005e10 20300200 5e102031 08004500 00300000 40004006 00000a00 00010a00 00021234 '
           '56780000 00010000 00025010 1000').replace(' ', '')
CHECKSUMS = '--set l4_csum=1,l3_csum=1 '
UMR = ('--mkey 0x181920 --set umr_ctrl.mkey_mask={mask},umr_en=1,rw=1,rr=1,lw=1 '
       '--set mkey_ctx.qpn=0xffffff,mkey_7_0=0x20,start_addr=0x1000,mkey_ctx.len={len} ')
USUAL_MASK = 0x201c2041
ARGUMENT = '80000001 00000002 00000003 00000004'.replace(' ', '') + '00' * 47 + '05'


def sge(size, key=0x6000, addr=0x9000):
    return f'--sge {addr:#x}:{size}:{key:#x}'


# Each golden file as arguments of the command; --qpn 0x45 and --signaled are added.
BUILT = {
    'nop': 'nop --index 8',
    'rdma_write': 'write --qpn 0xc7 --index 0x123 ' + LONG_RADDR + LONG_SGE,
    'rdma_write_inline': 'rdma_write --qpn 0xabcdef --index 0xffff --raddr 0xffeeddccbbaa9988 '
                         '--rkey 0x80000001 --inline 000102030405060708090a0b0c0d0e0f10',
    'rdma_write_mixed': 'WRITE --qpn 0x100 --index 7 --set ce=on_error --raddr 0x12345678 '
                        '--rkey 0xb0c --inline a0:a1:a2:a3:a4:a5:a6:a7:a8:a9:aa:ab '
                        '--sge 0x102030405060708:0x7ffffff0:0xd0e --inline b0b1b2',
    'rdma_write_imm': 'write-imm --qpn 2 --index 0x10 --solicited --imm 0xcafef00d '
                      '--raddr 0x1000 --rkey 0x2000',
    'send_imm_fenced': 'send_imm --index 1 --fence --solicited --imm 0x01020304 '
                       '--sge 0x7ffffffff000:64:0x7700',
    'send_inval': 'send-inval --index 0x1234 --set ce=0 --invalidate 0xabcd12 '
                  '--sge 1:1:0x11 --sge 2:2:0x22',
    'rdma_read': 'read --index 2 --raddr 0x100000000 --rkey 0x3000 --sge 0x200000000:0:0x4000',
    'atomic_cs': 'atomic_cs --index 3 ' + RADDR + '--swap 0x3333333344444444 '
                 '--compare 0x1111111122222222 ' + sge(8),
    'atomic_fa': 'atomic-fa --index 4 ' + RADDR + '--add 5 ' + sge(8),
    'masked_cs': 'atomic_masked_cs --index 5 ' + RADDR + '--swap 0x0102030405060708 '
                 '--compare 0x1112131415161718 --swap-mask 0xffff000000000000 '
                 '--compare-mask 0xffff ' + sge(8),
    'masked_cs32': 'atomic_masked_cs --size 4 -t dc --index 6 ' + RADDR + '--dc-key 0x11223344 '
                   '--dqpn 0xdc7 --gid fe80::200:ff:fe00:1 --set rmac_hi=0x02000000,rmac_lo=1,'
                   'hop_limit=0x40,sgid_index=6,flow_label=3 --swap 0x01020304 '
                   '--compare 0x11121314 --swap-mask 0xff000000 --compare-mask 0xff ' + sge(4),
    'masked_fa': 'atomic_masked_fa --index 5 ' + RADDR + '--add 0x100000002 '
                 '--boundary 0x8000000080000000 ' + sge(8),
    'masked_fa32': 'atomic_masked_fa --size 4 --index 5 ' + RADDR + '--add 3 '
                   '--boundary 0x80000000 ' + sge(4),
    'ud_send_compact': 'send -t ud --index 9 --qkey 0x11111111 --dqpn 0x48 --sl 5 --lid 0x17 '
                       '--set stat_rate=2,mlid=3 ' + sge(32),
    'ud_send_roce': 'send_imm -t ud --index 10 --imm 7 --qkey 0x80010000 --dqpn 0x48 --sl 6 '
                    '--lid 0xc0de --gid ::ffff:192.168.1.2 --set rmac_hi=0x02005e10,'
                    'rmac_lo=0x2030,tclass=0x60,hop_limit=64,sgid_index=3,flow_label=0x1234 '
                    + sge(32),
    'dc_write': 'write -t dc --index 11 --dc-key 0x64 --dqpn 0x123 --lid 0x17 '
                '--gid fe80::2:c903:1:203 --set dci_stream=2,fl=1,hop_limit=64,grh=1,sgid_index=1 '
                + LONG_RADDR + LONG_SGE,
    'xrc_send': 'send -t xrc --index 12 --srqn 0x321 ' + sge(32),
    'umr_list': 'umr --index 0x20 ' + UMR.format(mask=USUAL_MASK, len=0x3000) +
                sge(4096) + ' ' + sge(8192, 0x6100, 0x10000),
    'umr_repeat': 'umr --index 0x20 ' + UMR.format(mask=USUAL_MASK, len=96 * 8) +
                  '--segment repeat --set byte_count=96,op=0x400,repeat_count=8,num_entries=2 '
                  '--segment repeat_entry --set stride=4096,byte_count=64,mkey=0x6000,va=0x9000 '
                  '--segment repeat_entry --set stride=96,byte_count=32,mkey=0x6100,va=0x100000',
    'umr_pointer': 'umr --index 0x20 ' + UMR.format(mask=USUAL_MASK, len=0x3000) +
                   '--set klm_octowords=64 ' + sge(1024, 0x6200, 0x7f0000001000),
    'umr_invalidate': 'umr --index 0x20 --mkey 0x181920 --set is_inline=1,has_offset=1,check_qpn=1,'
                      'umr_ctrl.mkey_mask=0x20006000,free=1,mkey_ctx.qpn=0xffffff,mkey_7_0=0x20',
    'umr_signature_crypto':
        'umr --index 0x20 ' + UMR.format(mask=USUAL_MASK | 1 << 12, len=0x3000) +
        '--set bsf_en=1 ' + sge(0x3000) + ' --segment bsf --set size=signature_and_crypto,'
        'same_block=1,check_mask=0xff,wire_copy_or_block=0xc0,mem_block=b512,'
        'raw_data_size=0xffffffff,wire_psv=0x11,mem_psv=0x12 ' +
        ' '.join(f'--set {d}_valid=1,{d}_refresh=1,{d}_app_tag=0x1234,{d}_ref_tag=5,{d}_sig_type=1,'
                 f'{d}_repeat=1,{d}_seed=1,{d}_guard_check={g},{d}_app_mask=0xffff'
                 for d, g in (('wire', 0x40), ('mem', 0x41))) +
        ' --segment bsf_crypto --set size=3,type=CRYPTO,order=memory_signature,'
        'raw_data_size=0xffffffff,block=b512,tweak_hi=0x0102030405060708,'
        'tweak_lo=0x1112131415161718,dek=0x33,keytag=0x2122232425262728',
    'set_psv': 'set_psv --index 0x21 --set fence=initiator_small,psv=0x11,'
               'set_psv.signature=0xffff123400000005',
    'get_psv': 'get_psv --index 0x22 --set num_psv=2,lkey=0x6000,va=0x9000,psv_0=0x11,psv_1=0x12',
    'check_psv': 'check_psv --index 0x22 --set coalescing_op=1,transport_op=2,transport_mask=3,'
                 'num_psv=1,lkey=0x6000,va=0x9000,psv_0=0x11',
    'fmr': 'fmr --index 0x23 --set a=1,rw=1,rr=1,lw=1,lr=1,mkey=0x181920,list=0x7f0000001000,'
           'start_addr=0x9000,len=0x3000,offset=8,page_size=12',
    'tm_append': 'tag-matching --index 0x24 --set op=append,wants_cqe=1,has_sw_cnt=1,index=7,'
                 'sw_cnt=3,tag=0x123456789abcdef0,mask=0xffffffff00000000 ' + sge(2048),
    'tm_remove': 'tag_matching --index 0x25 --set op=remove,wants_cqe=1,index=7',
    'eth_send': 'send -t eth --index 0x26 ' + CHECKSUMS + f'--header {HEADERS[:36]} ' + sge(32),
    'eth_send_vlan': 'send -t eth --index 0x27 --set ce=0,swp_outer_l4=27,swp_outer_l3=7,l4_csum=1,'
                     'swp_outer_udp=1,swp_outer_ipv6=1,metadata=9,insert_vlan=1,start=0x2064 '
                     + sge(32),
    'tso': f'tso -t eth --index 0x28 --set mss=1460 {CHECKSUMS} --header {HEADERS[:100]}00000000 '
           + sge(8192),
    'enhanced_mpsw': 'enhanced-mpsw -t eth --index 0x29 ' + CHECKSUMS + sge(64) +
                     f' --inline {HEADERS[:28]} ' + sge(1500, 0x6000, 0xa000),
    'ipoib_send': 'send -t ipoib --index 0x2a --qkey 0xb1b --dqpn 0x48 --lid 0x17 '
                  '--gid fe80::2:c903:1:203 --set hop_limit=64,grh=1 ' + CHECKSUMS +
                  '--header 08000000 ' + sge(96),
    'wait_cq': 'wait --index 0x2b --set ce=0,wait_en.index=5,number=0x31',
    'wait_time': 'wait --opmod 2 --index 0x2c --set ce=0,condition=cyclic_smaller,'
                 'value=0x123456789,mask=0xffffffffffffffff',
    'wait_data': 'wait --opmod 1 --index 0x2c --set ce=0,condition=equal,lkey=0x6000,va=0x9000,'
                 'value=1,mask=0xffffffffffffffff',
    'send_en': 'send_en --index 0x2d --set ce=0,wait_en.index=9,number=0x46',
    'rcv_en': 'rcv_en --index 0x2e --set ce=0,wait_en.index=9,number=0x46',
    'dump': 'dump -t eth --index 0x2f --set ce=0 --object 0x1200 ' + sge(1024),
    'mmo_dma': 'mmo --opmod 1 --index 0x30 --set lkey=0x5000,va=0x8000 ' + sge(4096) + ' ' +
               sge(4096, 0x6100, 0xa000),
    'aso': 'access_aso -t eth --opmod 2 --index 0x31 --object 0x44 --set va_h=0x7f00,va_l=0x800,'
           'read=1,lkey=0x6000,mask_mode=2,cond_0=always,cond_1=always,cond_or=1,'
           f'data_mask=0x80ffffff00000000 --raw {ARGUMENT}',
    'flow': 'flow_tbl_access --opmod 1 --index 0x32 --object 7 --set flow.index=3,stc_0=9 '
            f'--raw {ARGUMENT}',
    'recv': f'recv {sge(2048)} {sge(4096, 0x6100, 0xa000)} --sge 0:0:0x100 --pad',
    'recv_srq': 'recv-srq --set next_wqe_index=0x102 ' + sge(2048),
    'recv_signed': 'recv-signed --set signature=0x5a ' + sge(2048),
}


def args_of(name):
    args = BUILT[name].split()
    if not args[0].startswith('recv'):
        args[1:1] = ['--qpn', '0x45', '--signaled']  # the later ones win
    return args


def build(bench, *args):
    out, _ = bench.run(DUMP, 'build', *args)
    return bytes.fromhex(''.join(out.split()))


def test_every_golden_wqe(bench):
    wanted = {name for name, (kind, *_) in goldens(None) if kind != 'cqe'}
    check(wanted == BUILT.keys(), f'not built: {wanted ^ BUILT.keys()}')
    for name in sorted(BUILT):
        want, built = golden(name), build(bench, *args_of(name))
        check(built == want, f'{name}:\n{built.hex(" ", 4)}\nis not\n{want.hex(" ", 4)}')


def test_options_without_an_argument_take_none(bench):
    """Not that of the option before."""
    begin = ['write', '--raddr', '1', '--rkey', '2']
    for option in '--fence', '--signaled', '--solicited':
        wanted = build(bench, *begin, option)
        check(build(bench, *begin, '-t', 'uc', option) == wanted, option)
        check(wanted != build(bench, *begin), option)


def test_every_wqe_is_read_back(bench):
    for name, (kind, *transport) in goldens(None):
        if kind == 'cqe':
            continue
        # Hex of fewer than 48 bytes is not taken for a receive WQE.
        padding = ['--pad'] if kind != 'send' else []
        hexed = bench.run(DUMP, 'build', *args_of(name), *padding)[0]
        options = (['wqe', '--transport', transport[0].lower()] if kind == 'send'
                   else [kind, '--stride', str(len(golden(name)))])
        records = dump(hexed, '--format', *options)['records']
        check([record['raw'] for record in records] == [golden(name).hex()], f'{name}: {records}')


def test_binary_and_padding(bench):
    process = subprocess.run([DUMP, 'build', *args_of('rdma_write'), '--binary'], timeout=60,
                             capture_output=True, check=True)
    check(process.stdout == golden('rdma_write'), process.stdout)
    check(len(build(bench, 'nop', '--pad')) == 64, 'no padding')


def test_lists(bench):
    has(bench.run(DUMP, 'build', '--list')[0], 'RDMA_WRITE', 'recv-srq', 'mkey_ctx')
    out, _ = bench.run(DUMP, 'build', 'wait', '--opmod', '2', '--fields')
    check('wait_mem.condition' in out and 'wait_en' not in out, out)
    has(bench.run(DUMP, 'build', '--help')[0], 'wqe-dump build', '--compare-mask')


def refuses(bench, *cases):
    for text, words in cases:
        bench.complains(text, DUMP, 'build', *words.split(), status=2)


def test_what_an_operation_lacks(bench):
    refuses(
        bench,
        ('name one operation', ''),
        ('no operation frob: see wqe-dump build --list', 'frob'),
        ('RDMA_WRITE needs --raddr and --rkey', 'write --raddr 1'),
        ('SEND on RC has no field raddr.raddr: its segments are ctrl', 'send --raddr 1'),
        ('RDMA_WRITE has no --imm', 'write --imm 1 --raddr 1 --rkey 1'),
        ('SEND has no --invalidate', 'send --invalidate 1'),
        ('RDMA_READ takes no inline data: give --sge', 'read --raddr 1 --rkey 1 --inline 00'),
        ('an atomic without a place for its result', 'atomic_fa --raddr 8 --rkey 1'),
        ('the transport lacks this operation', 'read -t uc --raddr 1 --rkey 1'),
        ('NOP does not use what follows byte 16', 'nop --raw 00'),
        ('no segment frob', 'nop --segment frob'),
    )


def test_values_that_do_not_fit(bench):
    refuses(
        bench,
        ('ctrl.qpn: 0x1000000 has more than its 24 bits: 0xffffff at most', 'nop --qpn 0x1000000'),
        ('ctrl.qpn: x is neither a number', 'nop --qpn x'),
        ('ctrl.qpn: -1 is neither a number', 'nop --qpn=-1'),
        ('is not FIELD=VALUE', 'nop --set qpn'),
        ('has no field frob', 'nop --set frob=1'),
        ('ADDR:LEN:KEY', 'send --sge 0x1000:8'),
        ('ADDR:LEN:KEY', 'send --sge 0x1000:8:x'),
        ('less than 2^31 bytes', 'send --sge 0:0x80000000:1'),
        ('a key has 32 bits', 'send --sge 0:8:0x100000000'),
        ('pairs of hexadecimal digits', 'send --inline 0'),
        ('written as an IPv6 address', 'send -t ud --gid x'),
        ('longer than 63 units of 16 bytes', 'send' + ' --sge 0:8:1' * 63),
        ('longer than 63 units of 16 bytes', 'send --inline ' + '00' * 990),
        ('give --header before', 'send -t eth --sge 0:8:1 --header 0000'),
        ('--transport is one of', 'nop --transport tcp'),
        ('--size is 4 or 8', 'atomic_masked_fa --size 2'),
        ('inline data in a receive WQE', 'recv --raw 80000004' + '00' * 12),
    )


def test_force(bench):
    uc_read = build(bench, 'read', '-t', 'uc', '--force')
    check(uc_read[3] == 0x10 and len(uc_read) == 32, uc_read.hex())


def test_usage(bench):
    refuses(bench, ('--frob: unknown option', 'nop --frob'), ('name one operation', 'nop nop'))


sys.exit(main(globals()))
