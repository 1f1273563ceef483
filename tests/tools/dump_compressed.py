#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wqe-dump and compressed CQEs: expands titles and their arrays, in rings made here byte by
byte from the layout that the kernel's en_rx.c reads. usage: dump_compressed.py PROGRAM"""

import struct
import sys

import dump_rig
from harness import check, has, main

REQ, SEND = 0, 2                # opcodes of CQEs
COMPRESSED, INVALID = 3, 15     # format of a CQE, opcode of one that was not written yet
QPN, WRITE = 0xc7, 8


def tail(opcode, counter, form=0, owner=0, validity=0):
    return struct.pack('>HBB', counter, validity, opcode << 4 | form << 2 | owner)


def cqe(opcode, counter, byte_count, **more):
    return struct.pack('>44xI8xI', byte_count, WRITE << 24 | QPN) + tail(opcode, counter, **more)


def array_of_requests(minis):
    """(index of the WQE, bytes) each; a whole slot, without anything else."""
    packed = (struct.pack('>HBxI', index, WRITE, size) for index, size in minis)
    return b''.join(packed).ljust(64, b'\0')


def array_of_hashes(minis, size=64):
    return b''.join(struct.pack('>II', *mini) for mini in minis).ljust(size, b'\0')


def block(opcode, make_array, minis, counter=0, stale=None):
    """The slots of a block in the basic layout. Slots that it skips are of an older round."""
    slots = [stale or cqe(SEND, 0xdead, 999)] * max(len(minis), 2)
    slots[0] = cqe(opcode, counter, len(minis), form=COMPRESSED)
    slots[1] = make_array(minis[:8])
    for first in range(8, len(minis), 8):
        slots[first:first + 1] = [make_array(minis[first:first + 8])]
    return slots


def dump(slots, *args, status=0):
    return dump_rig.dump(b''.join(slots), *args, status=status)


def why(report):
    """Of what could not be read."""
    return report['unread'][0]['why']


def told(report, *names):
    return [tuple(record['fields'].get(name) for name in names) for record in report['records']]


REQUESTS = [(0x100 + 3 * i, 64 * i) for i in range(11)]
HASHES = [(0xabc0 + i, 1500 + i) for i in range(10)]


def ring(slots, count, turn=0):
    """`count` slots, of which some were not written yet; moved on by `turn`."""
    slots = slots + [b'\0' * 63 + bytes([INVALID << 4])] * (count - len(slots))
    return slots[-turn:] + slots[:-turn] if turn else slots


def test_requests(_bench):
    """Mini CQEs of requests have one format, so no option is needed."""
    slots = ring([cqe(REQ, 0xf0, 7)] + block(REQ, array_of_requests, REQUESTS) +
                 [cqe(REQ, 0x200, 8)], 16)
    report = dump(slots)
    check(not report['unread'], report['unread'])
    want = [(0xf0, 7)] + REQUESTS + [(0x200, 8)]
    check(told(report, 'wqe_counter', 'byte_count') == want, report)
    first = report['records'][1]
    check((first['qpn'], first['opcode_name'], first['fields']['format']) == (QPN, 'RDMA_WRITE', 0),
          first)
    check(first['fields']['compressed'] == '1 of 11, mini CQE at byte 128', first)
    check(report['records'][9]['fields']['compressed'] == '9 of 11, mini CQE at byte 576', report)


def test_ring_goes_round(_bench):
    """A block may begin at the end of its ring: the first slots are its own, and nothing else."""
    slots = [cqe(REQ, 0xf0, 7)] + block(REQ, array_of_requests, REQUESTS) + [cqe(REQ, 0x200, 8)]
    want = REQUESTS + [(0x200, 8), (0xf0, 7)]
    for turn in range(4, 15):
        counters = told(dump(ring(slots, 16, turn)), 'wqe_counter', 'byte_count')
        check(sorted(counters) == sorted(want), f'{turn}: {counters}')


def test_receives(_bench):
    """The format of receives is the CQ's, which only its owner knows."""
    slots = ring([cqe(SEND, 5, 40)] + block(SEND, array_of_hashes, HASHES, 6), 16)
    report = dump(slots)
    check(told(report, 'wqe_counter', 'byte_count') == [(5, 40)], report)
    check(len(report['unread']) == 1 and '--compressed' in why(report), report)
    report = dump(slots, '--compressed=hash')
    check(not report['unread'], report)
    check(told(report, 'wqe_counter', 'byte_count', 'rss_hash')[1:] ==
          [(6 + i, size, rss) for i, (rss, size) in enumerate(HASHES)], report)
    report = dump(slots, '--compressed', 'CSUM_STRIDX')
    check(told(report, 'wqe_counter', 'checksum')[1:3] == [(0xabc0, 0), (0xabc1, 0)], report)


def test_striding(_bench):
    """A counter of a striding receive queue goes on by the strides that each packet took."""
    minis = [(1, 2 << 16 | 100), (2, 3 << 16 | 150), (3, 1 << 16 | 9)]
    slots = block(SEND, array_of_hashes, minis, 8)
    report = dump(slots, '--format=cqe', '--compressed=striding,hash')
    check(told(report, 'wqe_counter') == [(8,), (10,), (13,)], report)


def array_of_enhanced(minis, validity=0):
    return array_of_hashes(minis, 60) + tail(len(minis) - 1, 0, COMPRESSED, validity=validity)


def test_enhanced(_bench):
    """An array follows a CQE that is whole, and is one slot, whatever number of CQEs it has."""
    slots = ring([cqe(SEND, 5, 40), array_of_enhanced(HASHES[:7]), array_of_enhanced(HASHES[7:]),
                  cqe(SEND, 16, 41)], 8)
    report = dump(slots, '--compressed=enhanced,hash')
    check(not report['unread'], report)
    check(told(report, 'wqe_counter', 'byte_count') ==
          [(5, 40)] + [(6 + i, size) for i, (_, size) in enumerate(HASHES)] + [(16, 41)], report)
    report = dump(slots[1:2] + slots[:1], '--format=cqe', '--compressed=enhanced,hash')
    check('that is their title' in why(report) and len(report['records']) == 1, report)
    report = dump(slots, '--format=cqe')
    check('enhanced' in why(report) and len(report['records']) == 2, report)


def test_cqes_of_128_bytes(_bench):
    slots = [bytes(64) + slot for slot in block(REQ, array_of_requests, REQUESTS)]
    for args in ([], ['--format=cqe128']):
        report = dump(slots, *args)
        check(told(report, 'wqe_counter', 'byte_count') == REQUESTS, report)


def test_in_hex(_bench):
    lines = [slot[at:at + 16].hex().encode() + b'\n'
             for slot in block(REQ, array_of_requests, REQUESTS[:3])[:2] for at in range(0, 64, 16)]
    report = dump(lines)
    check(told(report, 'wqe_counter', 'byte_count') == REQUESTS[:3], report)
    check([record['line'] for record in report['records']] == [5] * 3, report)


def test_cut(_bench):
    """Of a part of a block, the CQEs that are there are reported, and how many are missing."""
    slots = block(REQ, array_of_requests, REQUESTS)[:4]
    report = dump(slots, '--format=cqe')
    check(told(report, 'wqe_counter', 'byte_count') == REQUESTS[:8], report)
    has(why(report), '3 of 11')
    has(why(dump(slots[:1], '--format=cqe', status=1)), '11 of 11')


def test_usage(_bench):
    done = dump_rig.run(cqe(REQ, 1, 2), '--compressed', 'hash,rubbish')
    check(done.returncode == 2, done)
    has(done.stderr.decode(), 'rubbish is none of: enhanced', 'L34H_STRIDX')


sys.exit(main(globals()))
