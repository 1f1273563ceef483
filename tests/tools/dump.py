#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What wqe-dump finds, and what it says where it finds nothing. usage: dump.py PROGRAM"""

import json
import subprocess
import sys

from harness import check, main

DUMP = sys.argv[1]

REMOTE_ACCESS = ['00000000 00000000 00000000 00000000',
                 '00000000 00000000 00000000 00000000',
                 '00000007 00000000 00000000 00000000',
                 '00000000 00008813 080000c7 012400d1']


def dump(text, *args, status=0):
    """The report on a text, or on bytes, that come by standard input."""
    data = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run([DUMP, '--json', *args], input=data, capture_output=True, timeout=60,
                          check=False)
    check(done.returncode == status, f'{done.returncode}: {done.stderr.decode()}')
    return json.loads(done.stdout)


def only(text, *args):
    report = dump(text, *args)
    check(len(report['records']) == 1 and not report['unread'], report)
    return report['records'][0]


def libmlx5(prefix=''):
    return [prefix + line for line in ['mlx5: node7: got completion with error:', *REMOTE_ACCESS]]


def is_remote_access(record, line):
    want = {'line': line, 'source': 'libmlx5', 'kind': 'error_cqe', 'side': 'requester',
            'syndrome': 0x13, 'vendor_syndrome': 0x88, 'hw_syndrome': 0, 'opcode': 8,
            'opcode_name': 'RDMA_WRITE', 'qpn': 199, 'wqe_index': 0x124, 'signature': 0}
    for key, value in want.items():
        check(record.get(key) == value, f'{key}: {record.get(key)}, not {value}')


def test_libmlx5(_bench):
    is_remote_access(only('\n'.join(['hello', *libmlx5(), 'bye'])), 2)


def test_merged_logs(_bench):
    """Two processes fail at once, and their lines alternate."""
    pairs = zip(libmlx5('Nov 21 18:58:01 node7 app[12]: '), libmlx5('Nov 21 18:58:01 node8 app[34]: '))
    records = dump('\n'.join(line for pair in pairs for line in pair))['records']
    check(len(records) == 2, records)
    is_remote_access(records[0], 1)
    is_remote_access(records[1], 2)


def test_cut_dump_is_told_of(_bench):
    report = dump('\n'.join(libmlx5()[:3]), status=1)
    check(not report['records'] and len(report['unread']) == 1, report)
    check('only 32 are there' in report['unread'][0]['why'], report)


sys.exit(main(globals()))
