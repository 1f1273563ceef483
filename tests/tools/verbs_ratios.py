#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the verbs path costs beside libibverbs called directly, in one run on one device.

usage: verbs_ratios.py BSN_PERF [--write]
  --write  what it costs today becomes the limit, here in this file, where more is wanted
"""

import json
import math
import os
import subprocess
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]

# Instructions of Bunsen's calls for one of ibv_post_send(), ibv_post_recv() or ibv_poll_cq().
POST, POLL = 1.3, 1.5
ROWS = ['write_sge', 'write_sge2', 'write_sge4', 'write_inline', 'write_inline64', 'write_imm',
        'write_batch16_sge', 'write_batch16_sge2', 'write_batch16_inline64',
        'read', 'read_sge2', 'fetch_add', 'send', 'send_inline64',
        'ud_send_sge', 'ud_send_sge2', 'ud_send_inline32',
        'post_recv', 'post_recv_sge2', 'post_recv_srq',
        'poll_1', 'poll_16', 'poll_empty', 'poll_512_qps', 'poll_ud_send',
        'poll_recv', 'poll_recv_16', 'poll_ud_recv']

# Where that is not reached yet: today's, and no more.
TODAY = {
    'post_recv': 1.35,
    'post_recv_sge2': 1.52,
    'post_recv_srq': 1.63,
    'poll_16': 1.54,
}


def wanted(row):
    return POLL if row.startswith('poll') else POST


def ratios(environment):
    out = subprocess.run([PERF, 'cost', '--rounds', '1', '--instructions', '--json',
                          '--columns', 'bunsen,ibv', '--op', ','.join(ROWS)],
                         env=dict(environment, BSN_PATH='verbs'), check=True,
                         capture_output=True, text=True, timeout=120).stdout
    return {row['op']: row['bunsen']['instructions'] / row['ibv']['instructions']
            for row in json.loads(out)['rows']}


def test_ratios(bench):
    found = ratios(dict(os.environ, SOFTCX_FABRIC=f'verbs-{os.getpid()}'))
    check(set(found) == set(ROWS), found)
    over = [f'{row}: {ratio:.2f}, limit {TODAY.get(row, wanted(row))}'
            for row, ratio in found.items() if ratio > TODAY.get(row, wanted(row))]
    check(not over, '\n'.join(over))


def today():
    found = ratios(dict(os.environ, SOFTCX_FABRIC=f'verbs-{os.getpid()}'))
    return ''.join(f"    '{row}': {math.ceil(found[row] * 102) / 100:.2f},\n"
                   for row in ROWS if found[row] > wanted(row))


sys.exit(main_of_limits(globals(), today))
