#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Errors that softcx injects, as the installed libmlx5 dumps them, through wqe-dump.

usage: dump_softcx.py PROGRAM BSN_PERF
"""

import sys

import dump_rig
from harness import check, main

DUMP, PERF = sys.argv[1:3]

# Syndrome, vendor syndrome, and a word of the cause that is to come out.
FAILURES = [
    (0x01, 0x68, 'WQE'), (0x01, 0xd4, 'long'), (0x02, 0x6d, 'transport'), (0x02, 0x71, 'opcode'),
    (0x04, 0x52, 'protection domain'), (0x04, 0x53, 'region'), (0x04, 0x51, ''),
    (0x06, 0x5a, ''), (0x10, 0x8b, ''), (0x11, 0x33, ''), (0x12, 0x8a, 'responder'),
    (0x13, 0x88, 'rkey'), (0x13, 0x3b, ''), (0x14, 0x89, 'responder'), (0x16, 0x87, 'receive'),
    (0x22, 0xf2, ''),
]
# All but those that libmlx5 never dumps: flushes (0x05) and used-up retries (0x15).
SYNDROMES = (0x01, 0x02, 0x03, 0x04, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x20, 0x21, 0x22,
             0x23, 0x24)
INDEX = 2  # of the WQE that fails: "nth=3"


def look(text):
    return dump_rig.look(text)['records']


def meaning(bench, syndrome, vendor):
    """What explain says of the two numbers at a requester."""
    return bench.json(DUMP, 'explain', '--side', 'requester', 'syndrome', hex(syndrome), 'vendor',
                      hex(vendor))['records'][0]


def fail_by(bench, plan):
    """What libmlx5 and the program print when this goes wrong; debug files are off by default."""
    _, err = bench.run(PERF, 'bw', '--path', 'verbs', '--iters', '20', status=1, SOFTCX_FAULT=plan,
                       MLX5_DEBUG_FILE='/dev/stderr')
    return err


def inject(bench, failures):
    """The records of what libmlx5 dumps, in order: each is the failure that was injected."""
    text = ''.join(fail_by(bench, f'nth={INDEX + 1} fail {syndrome:#x} {vendor:#x}')
                   for syndrome, vendor in failures)
    records = [record for record in look(text) if record['source'] == 'libmlx5']
    check(len(records) == len(failures), f'{len(records)} records of {len(failures)}\n{text}')
    for record, (syndrome, vendor) in zip(records, failures):
        check((record['kind'], record['side']) == ('error_cqe', 'requester'), record)
        check((record['syndrome'], record['vendor_syndrome']) == (syndrome, vendor), record)
        check((record['opcode_name'], record['wqe_index']) == ('RDMA_WRITE', INDEX), record)
        wanted = meaning(bench, syndrome, vendor)
        for key in 'cause', 'confidence':
            check(record.get(key) == wanted.get(key), f'{record}\nnot {wanted}')
    return records


def test_the_cause(bench):
    records = inject(bench, [failure[:2] for failure in FAILURES])
    for record, (_, _, word) in zip(records, FAILURES):
        check(word in record['cause'], f'{word} is not in {record["cause"]}')


def test_every_syndrome(bench):
    inject(bench, [(syndrome, 0) for syndrome in SYNDROMES])


def test_every_vendor_syndrome(bench):
    inject(bench, [(0x02, vendor) for vendor in range(256)])


def test_what_libmlx5_keeps_to_itself(bench):
    """libmlx5 dumps no retries used up and no flushes: the program's own line tells."""
    for plan, syndrome, vendor in (('nth=3 fail 0x15 0x81', 0x15, 0x81), ('drop', 0x15, 0x81),
                                   ('nth=3 port-down', 0x15, 0x81),
                                   ('nth=3 fail 0x05 0xf9', 0x05, 0xf9)):
        record, = look(fail_by(bench, plan))
        check(record['source'] != 'libmlx5', record)
        check((record['syndrome'], record['vendor_syndrome']) == (syndrome, vendor), record)
        check(record['cause'] == meaning(bench, syndrome, vendor)['cause'], record)


def test_what_is_no_completion(bench):
    """Failures that are events: libmlx5 prints nothing. "CQ error" is too common to be read."""
    for plan, name in ('nth=3 cq-overrun', None), ('nth=3 remove-device', 'IBV_EVENT_DEVICE_FATAL'):
        err = fail_by(bench, plan)
        events = [record['fields']['event'] for record in look(err)]
        check('the device reports' in err and events == ([name] if name else []), err)


sys.exit(main(globals()))
