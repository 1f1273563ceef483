#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the verbs path costs beside libibverbs called directly, both ways, in one run on one device.

usage: verbs_ratios.py BSN_PERF
"""

import json
import os
import subprocess
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]

# Instructions of Bunsen's calls, for one of ibv_post_send(), ibv_post_recv() or ibv_poll_cq(), and for one of
# the newer calls of libibverbs: ibv_wr_*, ibv_start_poll().
COLUMNS = 'ibv', 'ibv_wr'
POST, POLL = 1.3, 1.5
MORE = {'write_batch16_inline64': 1.31}

ROWS = ['write_sge', 'write_sge2', 'write_sge4', 'write_inline', 'write_inline64', 'write_imm',
        'write_batch16_sge', 'write_batch16_sge2', 'write_batch16_inline64',
        'read', 'read_sge2', 'fetch_add', 'send', 'send_inline64',
        'ud_send_sge', 'ud_send_sge2', 'ud_send_inline32',
        'post_recv', 'post_recv_sge2', 'post_recv_srq',
        'poll_1', 'poll_16', 'poll_empty', 'poll_512_qps', 'poll_ud_send',
        'poll_recv', 'poll_recv_16', 'poll_ud_recv']


def limit_of(row):
    return MORE.get(row, POLL if row.startswith('poll') else POST)


def ratios(environment):
    """The ratios of each column, by row; receives are posted in only one way."""
    out = subprocess.run([PERF, 'cost', '--rounds', '1', '--instructions', '--json',
                          '--columns', ','.join(('bunsen', *COLUMNS)), '--op', ','.join(ROWS)],
                         env=dict(environment, BSN_PATH='verbs'), check=True,
                         capture_output=True, text=True, timeout=120).stdout
    return {(column, row['op']): row['bunsen']['instructions'] / row[column]['instructions']
            for column in COLUMNS for row in json.loads(out)['rows'] if row.get(column)}


def test_ratios(bench):
    found = ratios(dict(os.environ, SOFTCX_FABRIC=f'verbs-{os.getpid()}'))
    check({row for column, row in found if column == 'ibv'} == set(ROWS), found)
    check({row for column, row in found if column == 'ibv_wr'} ==
          {row for row in ROWS if not row.startswith('post_recv')}, found)
    over = [f'{row} for {column}: {ratio:.3f}, limit {limit_of(row)}'
            for (column, row), ratio in found.items() if ratio > limit_of(row)]
    check(not over, '\n'.join(over))


sys.exit(main_of_limits(globals(), None))
