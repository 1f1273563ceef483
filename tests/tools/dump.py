#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What wqe-dump finds, and what it says if it finds nothing.

usage: dump.py PROGRAM
"""

import hashlib
import itertools
import pathlib
import re
import shutil
import subprocess
import sys

from dump_rig import (DUMP, REMOTE_ACCESS, SHAPES, dump, error_of, golden, goldens, libmlx5, look,
                      only, ring_of, rows, run, send_ring, words)
from harness import check, has, main, parse_json


def is_remote_access(record, line):
    want = {'line': line, 'source': 'libmlx5', 'kind': 'error_cqe', 'side': 'requester',
            'syndrome': 0x13, 'vendor_syndrome': 0x88, 'hw_syndrome': 0, 'opcode': 8,
            'opcode_name': 'RDMA_WRITE', 'qpn': 199, 'wqe_index': 0x124, 'signature': 0}
    for key, value in want.items():
        check(record.get(key) == value, f'{key}: {record.get(key)}, not {value}')


def test_libmlx5(bench):
    is_remote_access(only('\n'.join(['hello', *libmlx5(), 'bye'])), 2)


def test_merged_logs(bench):
    """Two processes fail at once, and their lines alternate."""
    pairs = zip(libmlx5('Nov 21 18:58:01 node7 app[12]: '),
                libmlx5('Nov 21 18:58:01 node8 app[34]: '))
    records = dump('\n'.join(line for pair in pairs for line in pair))['records']
    check(len(records) == 2, records)
    is_remote_access(records[0], 1)
    is_remote_access(records[1], 2)


def test_cut_dump_is_told_of(bench):
    report = dump('\n'.join(libmlx5()[:3]), status=1)
    check(not report['records'] and len(report['unread']) == 1, report)
    check('only 32 are there' in report['unread'][0]['why'], report)


def kernel_rows(name, prefix=''):
    return [f'[  408.{at:06}] {prefix}{at:08x}: {row.hex(" ")}'
            for at, row in zip(itertools.count(0, 16), rows(golden(name)))]


def test_kernel_cqes(bench):
    """A CQE as three versions of the driver print it, and as mailers send it."""
    said = '[  408.380181] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe'
    dwords = [said, *('[  408.4] ' + line for line in REMOTE_ACCESS)]
    plain = [said, *kernel_rows('cqe_err_remote_access')]
    named = kernel_rows('cqe_err_remote_access', 'infiniband mlx5_0: cqe_dump: ')
    mailed = [line + '=0A=' for line in plain]
    for lines in dwords, plain, named, mailed:
        record = only('before\n' + '\n'.join([*lines, 'after']))
        check(record['line'] == 2 and record['source'] == 'mlx5_ib', record)
        check(record['raw'] == golden('cqe_err_remote_access').hex(), record)


def test_wqes_behind_a_line(bench):
    write, send = golden('rdma_write'), golden('eth_send')
    lines = SHAPES['dwords'](write).split('\n')
    for said, source in ('dump WQE index 3:\nWQBB at 00000000f00d:', 'mlx5_ib-wqe'), \
            ('dump wqe at 0x7f0012340000', 'libmlx5-wqe'):
        record = only('\n'.join([said, *lines, '00000000 00000000 00000000 00000000']))
        check(record['source'] == source and record['raw'] == write.hex(), record)
    padded = send + bytes(-len(send) % 64)
    said = f'WQE DUMP: WQ size 1024 WQ cur size 0, WQE index 0x6, len: {len(padded)}'
    record = only('\n'.join([said, SHAPES['print_hex_dump, ASCII'](padded)]))
    check(record['transport'] == 'ETH' and record['raw'] == send.hex(), record)


def test_dumps_do_not_mix(bench):
    """A dump that was cut does not take the bytes of the next one."""
    cut = libmlx5()[:2]
    report = dump('\n'.join([*cut, *libmlx5(), *cut, *kernel_rows('cqe_req')]))
    check([record['line'] for record in report['records']] == [3, 10], report)
    check([unread['line'] for unread in report['unread']] == [1, 8], report)


# -- bytes in every shape ----------------------------------------------------------------------

# CQEs, WQEs of each transport that can be guessed, one with inline data, one longer than a block.
SAMPLES = ['cqe_err_remote_access', 'cqe_req', 'cqe_resp_send_imm', 'rdma_write', 'rdma_read',
           'rdma_write_inline', 'ud_send_roce', 'dc_write', 'umr_list', 'atomic_cs']


def test_what_bytes_are(bench):
    """CQEs and send WQEs of every kind and transport are told apart without help."""
    for name, _ in goldens('cqe'):
        check(only(SHAPES['dwords'](golden(name)))['kind'] in ('cqe', 'error_cqe'), name)
    for name, (_, transport) in goldens('send'):
        text = SHAPES['dwords'](golden(name))
        record = only(text)
        check(record['kind'] == 'wqe' and record['raw'] == golden(name).hex(), record)
        record = only(text, '--transport', transport.lower())
        check(record['transport'] == transport and record['raw'] == golden(name).hex(), record)


def test_cqes_of_128_bytes(bench):
    """The empty first half of a CQE of 128 bytes is not taken for an unwritten CQE of 64 bytes."""
    records = dump((bytes(64) + golden('cqe_req')) * 4)['records']
    check([len(record['raw']) for record in records] == [256] * 4, records)


def test_base_guessed(bench):
    """The base of a vendor error is guessed: the one in which it goes with the status, if any."""
    for vendor, want, confidence in [('0x81', 0x81, 'high'), ('81', 0x81, 'low'),
                                     ('129', 0x81, 'high'), ('45', None, 'medium')]:
        record = only(f'my_app: IBV_WC_RETRY_EXC_ERR, vendor_err {vendor} on QP 7')
        check((record.get('vendor_syndrome'), record['confidence']) == (want, confidence), record)
        check(('vendor_err_base' in record['fields']) == (vendor == '81'), record)


def test_transport_guessed(bench):
    for name, transport in ('rdma_write', 'RC'), ('ud_send_roce', 'UD'), ('dc_write', 'DC'):
        check(only(SHAPES['bytes'](golden(name)))['transport'] == transport, name)
    sge = '--sge 0x7f0000009000:64:0x6000'
    raddr = '--raddr 0x7f0000001000 --rkey 0x77'
    for words in (f'send -t dc --dqpn 3 --dc-key 100 --gid fe80::1 {sge}', f'send -t eth {sge}',
                  f'send -t dc --dqpn 3 --dc-key 100 --lid 7 {sge}', f'write -t rc {raddr} {sge}',
                  f'send -t ud --dqpn 3 --qkey 17 --lid 7 {sge}', f'send -t rc {sge}',
                  f'send -t xrc --srqn 5 {sge}', f'write -t xrc --srqn 5 {raddr} {sge}'):
        args = f'build {words} --qpn 0x45 --pad'.split()
        text = subprocess.run([DUMP, *args], capture_output=True, check=True, timeout=60).stdout
        check(only(text.decode())['transport'] == args[3].upper(), words)


def test_receive_wqes(bench):
    for form in 'recv', 'recv-srq', 'recv-signed':
        for name, _ in goldens(form):
            data = golden(name)
            record = only(data, '--format', form, '--stride', str(len(data)))
            check(record['kind'] == 'wqe' and record['raw'] == data.hex(), record)
            check('data.addr' in record['fields'], record)
            record = only(SHAPES['bytes'](data), '--format', form, '--stride', str(len(data)))
            check(record['raw'] == data.hex(), record)
    report = dump(golden('recv'), '--format', 'recv')
    check(len(report['records']) > 1, 'pointers of 16 bytes each')


def test_ring_that_wraps(bench):
    for first in 0, 5, 13, 65530:
        records = sorted((record['wqe_index'] - first) % 65536
                         for record in dump(send_ring(16, first))['records'])
        expected, at = [], 0
        while at < 12:
            expected.append(at)
            at += 3 if (first + at) % 4 == 0 else 1
        check(records == expected, f'{first}: {records}, not {expected}')


def test_every_shape(bench):
    written = {str(bench.file(write(golden(name)) + '\n', f'{name} as {shape}')): golden(name).hex()
               for name, (shape, write) in itertools.product(SAMPLES, SHAPES.items())}
    found = {}
    for record in look('', *written)['records']:
        found.setdefault(record['file'], []).append(record['raw'])
    wrong = [f'{path}: {found.get(path)}\n{pathlib.Path(path).read_text()}'
             for path, raw in written.items() if found.get(path) != [raw]]
    check(not wrong, '\n'.join([*wrong, f'{len(wrong)} wrong']))


def test_row_with_a_byte_too_many(bench):
    """Rows as people post them to the kernel's mailing lists."""
    text = '\n'.join(line + (' 00' if at < 3 else '')
                     for at, line in enumerate(kernel_rows('cqe_err_remote_access')))
    check(only(text)['raw'] == golden('cqe_err_remote_access').hex(), text)


def test_squeezed_rows(bench):
    ring = golden('rdma_write').ljust(64 * 8, b'\0')
    for command in 'hexdump -C', 'hexdump', 'od -tx1', 'od -Ax -tx4', 'xxd -a':
        tool = command.split()
        if not shutil.which(tool[0]):
            continue
        text = subprocess.run(tool, input=ring, capture_output=True, check=True).stdout
        report = dump(text + b'after\n')
        check([record['raw'] for record in report['records']] == [golden('rdma_write').hex()],
              f'{tool}: {text.decode()}{report}')


def test_shapes_in_a_log(bench):
    for shape in 'dwords', 'xxd', 'hexdump -C', 'print_hex_dump', 'gdb':
        data = golden('cqe_err_remote_access')
        text = SHAPES[shape](data)
        report = dump(f'before\n\n{text}\nafter 12 cafe\n{text}\n')
        check([record['line'] for record in report['records']] == [3, 8], f'{shape}: {report}')
        check(not report['unread'], report)


def test_binary(bench):
    for name in SAMPLES:
        data = golden(name)
        record = only(data)
        check(record['raw'] == data.hex() and record['source'] == 'binary', record)
        check(record['line'] == 0, record)


def test_ring_of_two_queues(bench):
    """The memory belonged to another queue before: that queue's WQEs are reported, too."""
    ring = bytearray(send_ring(16, 37))
    ring[6 * 64 + 4:6 * 64 + 7] = b'\0\0\x99'
    found = [record['qpn'] for record in dump(bytes(ring))['records']]
    check(found.count(0x99) == 1 and found.count(0xc7) == len(found) - 1 > 3, found)


def test_ring_with_leftovers(bench):
    """Inline data across the ring's end, an unknown operation, and rests of older WQEs."""
    ring = bytearray(64 * 8)
    put = {6: golden('rdma_write')[:12] + bytes(4) + golden('rdma_write')[16:32] +
              bytes.fromhex('80000060') + b'\xa5' * 96, 1: golden('rdma_write'),
           2: golden('rdma_write'), 4: b'\x11' * 64, 5: golden('rdma_read')}
    for slot, wqe in put.items():
        wqe = bytearray(wqe)
        wqe[7] = (len(wqe) + 15) // 16
        if slot != 4:
            wqe[1:3] = (slot + (8 if slot < 4 else 0)).to_bytes(2, 'big')
            wqe[4:7] = golden('rdma_write')[4:7]
        for at, byte in enumerate(wqe):
            ring[(slot * 64 + at) % len(ring)] = byte
    ring[64 * 2 + 3] = 0x3c
    report = dump(bytes(ring))
    found = {record['slot']: record.get('opcode_name') for record in report['records']}
    check(found == {1: 'RDMA_WRITE', 2: None, 5: 'RDMA_READ', 6: 'RDMA_WRITE'}, report)
    check(not report['unread'], report['unread'])


# -- errors and their WQEs -----------------------------------------------------------------------

def tied(report):
    """Each error and WQE that has a partner: kind, its own line, its partner's line."""
    return [(record['kind'], record['line'], (record.get('wqe') or record['error'])['line'])
            for record in report['records'] if 'wqe' in record or 'error' in record]


def test_error_is_tied_to_its_wqe(bench):
    ring, error = ring_of(0xc7, 37), error_of(0xc7, 38)
    wqe_line = 6 * 4 + 1  # slot 38 % 16
    check(tied(dump(ring + 'then\n' + error)) == [('error_cqe', 66, wqe_line)], 'ring first')
    check(tied(dump(error + 'then\n' + ring)) == [('wqe', wqe_line + 5, 1)], 'error first')
    check(not tied(dump(ring + 'then\n' + error_of(0xc8, 38))), 'of another queue')


def test_error_is_tied_to_its_slot(bench):
    """The ring has gone on, so the error is tied to the WQE that the slot has now."""
    report = dump(ring_of(0xc7, 37) + 'then\n' + error_of(0xc7, 38 + 16 * 3))
    check(tied(report) == [('error_cqe', 66, 25)], report)
    check(report['records'][-1]['wqe']['wqe_index'] == 38, report)


# -- for people ----------------------------------------------------------------------------------

def text_of(*args):
    return run(*args).stdout.decode()


def test_text(bench):
    out = text_of('\n'.join(libmlx5() + ['between'] + libmlx5()))
    has(out, 'standard input:1: error_cqe', 'QP 0xc7', 'RDMA_WRITE', 'REMOTE_ACCESS', 'causes',
        'the same as at standard input:1')
    check('\033' not in out, 'colours, and it is no terminal')
    check(out.count('detected by') == 1, 'explained twice')


def test_same_errors_again(bench):
    """The explanation comes once, then one line for each error; at the end, how often it came."""
    nccl = 'NET/IB: Got completion from peer 10.0.0.%d<1> with status=%d len=0 vendor err %d (Send)'
    log = '\n'.join([nccl % (1, 12, 129), nccl % (2, 5, 249)] + [nccl % (3, 12, 129)] * 98)
    out = text_of(log)
    lines = [line for line in out.splitlines() if 'the same as at standard input:1' in line]
    check(out.count('detected by') == 2 and len(lines) == 98, out)
    check(all('0x81 TIMEOUT_EXCEEDED  peer 10.0.0.3<1>' in line for line in lines), lines[0])
    tally = out.splitlines()[-3:]
    check(tally[0] == '100 errors of 2 kinds:', tally)
    check(tally[1].split()[:4] == ['99', 'standard', 'input:1', 'to'], tally)
    check('input:100  syndrome 0x15 RETRY_EXCEEDED' in tally[1], tally)
    check(tally[2].split()[:3] == ['1', 'standard', 'input:2'] and ' to ' not in tally[2], tally)
    check(text_of(log, '--raw').count('read as nccl') == 100, 'raw: all fields of each')
    ring = text_of(golden('cqe_err_remote_access') * 4)
    check('slot 3: error_cqe' in ring and 'slot 0 to standard input slot 3' in ring, ring)
    check('kinds' not in text_of('\n'.join(log.splitlines()[:2])), 'nothing came again')


def test_raw(bench):
    out = text_of('\n'.join(libmlx5()), '--raw')
    line = next(line for line in out.split('\n') if ' vendor_syndrome ' in line)
    check(line.split()[:3] == ['0036', '88', 'vendor_syndrome'], line)


def test_brief(bench):
    out = text_of(send_ring(16, 0), '--brief').splitlines()
    check(len(out) == len(dump(send_ring(16, 0))['records']), out)
    check('RDMA_WRITE' in ''.join(out) and 'rkey' in ''.join(out), out)
    out = text_of('\n'.join(libmlx5()), '--brief')
    check(out.count('\n') == 1, out)
    has(out, 'QP 0xc7', '#292', 'syndrome 0x13 REMOTE_ACCESS', 'vendor 0x88', 'refused')
    for name, target in (('ud_send_roce', 'to QP 0x48'), ('dc_write', 'to DCT 0x123'),
                         ('xrc_send', 'to SRQ 0x321')):
        has(text_of(golden(name), '--format', 'wqe', '--transport', name.split('_')[0], '--brief'),
            f'  {target}  ')
    has(text_of(golden('recv'), '--format', 'recv', '--stride', '64', '--brief'),
        '  receive  2048 B at ')


def test_findings(bench):
    wqe = bytearray(golden('rdma_write'))
    wqe[11] |= 0x10
    check(only(bytes(wqe), '--format', 'wqe')['findings'], 'a bit that must be zero')
    check('wrong' in text_of(bytes(wqe), '--format', 'wqe'), 'in the text, too')
    check(not only(golden('rdma_write'))['findings'], 'nothing is wrong')


def test_any_file_name_is_in_the_json(bench):
    log = bench.file('\n'.join(libmlx5()), 'a "b\\c\n\t\x01|é.log')
    check(only('', str(log))['file'] == str(log), 'another name')


def test_no_file_name_reaches_the_terminal(bench):
    log = bench.file('\n'.join([*libmlx5(), *libmlx5()[:3]]), '\x1b]0;title\x07\x9b31m.log')
    for args in ['--brief'], [], ['--html'], ['--core'], ['--format'], ['--no-\x1b[31m']:
        done = run('', *args, str(log))
        both = (done.stdout + done.stderr).decode(errors='replace')
        check('title' in both or '[31m' in both, f'{args}: {both}')
        check(not re.search('[\x00-\x08\x0b-\x1f\x7f\x9b]', both), f'{args}: {both!r}')
    log.unlink()
    check(b'\x1b' not in run('', str(log)).stderr, 'in what cannot be opened')


def dump_pieces(pieces):
    """As of a program that writes them one after the other."""
    with subprocess.Popen([DUMP, '--json'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0) as process:
        for piece in pieces:
            process.stdin.write(piece)
        process.stdin.close()
        return parse_json(process.stdout.read())


def test_utf_16(bench):
    """As Windows' shells write it, whatever the pieces that it comes in."""
    text = '\r\n'.join(['\u00dcber', *libmlx5(), *libmlx5('Nov 21 18:58:01 node7 app[12]: '),
                        ''] * 50)
    want = dump(text)
    for encoding in 'utf-16', 'utf-16-le', 'utf-16-be':
        check(dump(text.encode(encoding)) == want, encoding)
    check(dump_pieces(rows(text.encode('utf-16'), 333)) == want, 'in odd pieces')


def test_a_field_that_comes_twice(bench):
    """The last one counts, as the object has each key once."""
    lines = ['Health issue observed, firmware internal error, severity(3) ERROR:',
             'assert_var[0] 0x11', 'assert_var[0] 0x12', 'synd 0x1: firmware internal error']
    fields = only(''.join(f'mlx5_core 0000:0d:00.0: {line}\n' for line in lines))['fields']
    check(fields['assert_var[0]'] == 0x12, fields)


def test_all_inline_data_are_in_the_json(bench):
    fields = only(golden('rdma_write_mixed'))['fields']
    check(fields['inline'] and fields['inline[1]'], fields)


def test_meaning_before_fields(bench):
    """What an error means comes before its fields."""
    text = text_of(error_of(0xc7, 38))
    check(text.index('causes ') < text.index('  cqe_err'), text)


# -- bad input -----------------------------------------------------------------------------------

def complaint(text, *args, status=1):
    """The one line that wqe-dump prints on standard error."""
    done = run(text, *args)
    err = done.stderr.decode()
    check(done.returncode == status, f'{args}: {done.returncode}: {err}')
    check(err.count('\n') == 1 and err.startswith('wqe-dump: '), f'{args}: {err!r}')
    check(not done.stdout, done.stdout)
    return err


def test_nothing_there(bench):
    for text in '', '\n' * 3, 'a log\nwithout any error\n', 'dead beef cafe\n12\n':
        check('nothing found' in complaint(text), text)


def test_bytes_that_are_no_dump(bench):
    for data in bytes(4096), bytes(range(256)) * 40, pathlib.Path(DUMP).read_bytes():
        check('neither CQEs nor WQEs' in complaint(data), data[:16])
    check('neither CQEs nor WQEs' in complaint(bytes(range(256)).hex()), 'hexadecimal')


def test_a_program_in_hex_is_no_queue(bench):
    data = pathlib.Path(DUMP).read_bytes()[:2**18]
    for shape in 'xxd', 'hexdump -C', 'hexdump', 'od -tx4', 'dwords', 'one string':
        complaint(SHAPES[shape](data))


def test_one_that_fits_is_no_queue(bench):
    cqe = bytes(64) + golden('cqe_err_remote_access')
    complaint((b'\x91' * 64 + bytes(64)) * 19 + cqe)
    only(cqe)


def test_broken_rows_of_other_things_are_no_queue(bench):
    """A ruler, a column of numbers, instructions: lines with many words of odd length."""
    ruler = '\n'.join(' '.join(str(at % 10) for at in range(16)) for _ in range(16))
    complaint(ruler)
    complaint('\n'.join(f'{at:x} 0 0 0 {at % 5} 0 0 d' for at in range(64)))
    code, lines, at = pathlib.Path(DUMP).read_bytes()[:2**18], [], 0
    for size in itertools.islice(itertools.cycle([4, 7, 3, 1, 5, 5, 2]), 60000):
        lines.append(f'  {at:x}:\t{" ".join(words(code[at:at + size], 1)):<21}\tmov    %eax,%ebx')
        at += size
    check(not look('\n'.join(lines))['records'], 'a disassembly')


def test_hashes_are_no_queue(bench):
    """Of commits, of files; alone, in words, in columns."""
    forms = '{}', 'commit {}', 'SOURCE_ID: 2026-11-21 18:58:01 {}', '{}  usr/bin/env'
    files = []
    for size, form, seed in itertools.product((16, 20, 32, 48, 64), forms, range(40)):
        lines = [hashlib.shake_256(f'{seed}.{at}'.encode()).hexdigest(size)
                 for at in range(1 + seed % 3)]
        files.append(bench.file('\n'.join(form.format(each) for each in lines),
                                f'{size} {forms.index(form)} {seed}'))
    done = run('', *files)
    check(done.returncode == 1 and not done.stdout, f'{done.returncode}: {done.stdout[:500]}')
    told = re.findall('^wqe-dump: (.*?):1: not read: .*\n', done.stderr.decode(), re.MULTILINE)
    check(len(set(told)) == len(told) == done.stderr.count(b'\n'), 'one line a file at most')


def test_cut_bytes(bench):
    complaint(golden('rdma_write')[:40])
    complaint(golden('rdma_write')[:40], '--format', 'wqe')
    complaint(golden('cqe_req')[:40], '--format', 'cqe')
    complaint(golden('recv')[:20], '--format', 'recv', '--stride', '32')
    check(len(dump(golden('cqe_req') + b'\1' * 9, '--format', 'cqe')['unread']) == 1, 'the rest')
    complaint(SHAPES['xxd'](golden('cqe_err_remote_access')[:60]))
    complaint(SHAPES['hexdump -C'](golden('rdma_write')[:40]), '--format', 'wqe')


def test_files_that_cannot_be_read(bench):
    check('No such file' in complaint('', '/no/such/file', status=2), 'a missing one')
    check('Is a directory' in complaint('', '/', status=2), 'a folder')
    done = run('\n'.join(libmlx5()), '/no/such/file', '-')
    check(done.returncode == 2 and b'REMOTE_ACCESS' in done.stdout, 'the others are read')


def test_usage(bench):
    for args in ['--frob'], ['--format', 'frob'], ['--transport', 'frob'], ['--stride', '17']:
        check(args[-1] in complaint('', *args, status=2), args)
    check(run('', '--version').stdout.startswith(b'wqe-dump '), 'no version')
    check(b'--transport' in run('', '--help').stdout, 'no help')


def test_long_lines(bench):
    error = '\n'.join(libmlx5())
    for filler in 'x' * (3 << 20), 'word ' * (1 << 20), '0' * (9 << 20), '00 ' * (3 << 20):
        report = look(f'{filler}\n{error}\nafter {filler}')
        check([record['line'] for record in report['records']] == [2], str(report)[:500])
    found = look('x' * (5 << 20) + ' ' + error)['records']
    check([record['line'] for record in found] == [1], 'at the end of a long line')


def test_a_ring_in_one_line(bench):
    ring = send_ring(1 << 15, 0)
    for text in ring.hex(), ' '.join(words(ring, 4)), ' '.join(words(ring[:1 << 20], 1)):
        check(len(text) > 1 << 20, 'more than a megabyte')
        count = len(text.replace(' ', '')) // 128
        check(len(dump(text)['records']) > count // 4, 'the whole ring')


BROKEN = ('node7:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.9.8.6<40123> with\n'
          '  error 12, opcode 0, len 0,\n  vendor err 129 (Recv)\nmlx5_0 is up\n')


def is_broken_line(record, line):
    check((record['line'], record['source'], record.get('vendor_syndrome')) == (line, 'nccl', 129),
          record)


def test_a_broken_line_wherever_it_is_read(bench):
    """However much of a file is read at once, the next lines are there when they are looked at."""
    files = [str(bench.file('x' * (at - 1) + '\n' + BROKEN, str(at)))
             for at in range(2**18 - len(BROKEN) - 8, 2**18 + 8)]
    report = dump('', *files)
    found = [record['file'] for record in report['records']]
    check(found == files and not report['unread'], report)
    for record in report['records']:
        is_broken_line(record, 2)


def test_a_broken_line_from_a_slow_program(bench):
    report = dump_pieces(rows(BROKEN.encode(), 1))
    check(len(report['records']) == 1, report)
    is_broken_line(report['records'][0], 1)


def test_closed_pipe(bench):
    """A reader that closes the pipe ends wqe-dump, without a message."""
    log = bench.file('\n'.join(libmlx5() * 20000))
    for args in [], ['--json'], ['--brief']:
        with subprocess.Popen([DUMP, *args, log], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
            check(process.wait(timeout=60) == 0 and not err, err)


def test_full_disk(bench):
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([DUMP], input='\n'.join(libmlx5()).encode(), stdout=full,
                              stderr=subprocess.PIPE, timeout=60, check=False)
    check(done.returncode == 2 and done.stderr.count(b'\n') == 1, done)


sys.exit(main(globals()))
