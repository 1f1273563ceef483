#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Errors that softcx injects, as the installed libmlx5 dumps them, through wqe-dump.

usage: dump_softcx.py PROGRAM BSN_PERF
"""

import json
import subprocess
import sys

from harness import check, main

DUMP, PERF = sys.argv[1:3]

# Syndrome, vendor syndrome, and a word of the cause that is to come out.
FAILURES = [
    (0x01, 0x68, 'WQE'), (0x01, 0xd4, 'long'), (0x02, 0x6d, 'transport'), (0x02, 0x71, 'opcode'),
    (0x04, 0x52, 'protection domain'), (0x04, 0x53, 'region'), (0x04, 0x51, ''),
    (0x06, 0x5a, ''), (0x10, 0x8b, ''), (0x11, 0x33, ''), (0x12, 0x8a, 'responder'),
    (0x13, 0x88, 'rkey'), (0x13, 0x3b, ''), (0x14, 0x89, 'responder'), (0x16, 0x87, 'receive'), (0x22, 0xf2, ''),
]


def look(text):
    done = subprocess.run([DUMP, '--json'], input=text, capture_output=True, text=True, timeout=60,
                          check=False)
    return json.loads(done.stdout)


def meaning(syndrome, vendor):
    """What explain says of the two numbers at a requester."""
    done = subprocess.run([DUMP, 'explain', '--json', 'syndrome', hex(syndrome), 'vendor',
                           hex(vendor), 'requester'], capture_output=True, text=True, timeout=60,
                          check=True)
    return json.loads(done.stdout)['records'][0]


def fail_by(bench, plan):
    """What libmlx5 and the program print when this goes wrong; debug files are off by default."""
    _, err = bench.run(PERF, 'bw', '--path', 'ibv', '--iters', '20', status=1, SOFTCX_FAULT=plan,
                       MLX5_DEBUG_FILE='/dev/stderr')
    return err


def test_every_failure(bench):
    for syndrome, vendor, word in FAILURES:
        err = fail_by(bench, f'nth=3 fail {syndrome:#x} {vendor:#x}')
        records = [record for record in look(err)['records'] if record['source'] == 'libmlx5']
        check(len(records) == 1, f'{syndrome:#x} {vendor:#x}:\n{err}{records}')
        record = records[0]
        check(record['kind'] == 'error_cqe' and record['side'] == 'requester', record)
        check((record['syndrome'], record['vendor_syndrome']) == (syndrome, vendor), record)
        check(record['opcode_name'] == 'RDMA_WRITE' and record['wqe_index'] == 2, record)
        check(record['cause'] == meaning(syndrome, vendor)['cause'], record)
        check(word in record['cause'], f'{word} is not in {record["cause"]}')


def test_what_libmlx5_keeps_to_itself(bench):
    """Retries used up, and flushes: there is the program's own line at most."""
    for plan in 'nth=3 fail 0x15 0x81', 'nth=3 fail 0x05 0xf9':
        check(not [record for record in look(fail_by(bench, plan))['records']
                   if record['source'] == 'libmlx5'], plan)


sys.exit(main(globals()))
