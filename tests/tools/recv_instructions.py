#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf cost: what the receive side costs keeps its limits, on one QP and on many in turn.

usage: recv_instructions.py PROGRAM COMPILER [QPS]
  COMPILER  gcc, where the limits hold: on x86-64, at -O2; else -
  QPS       the many that take turns (default: 4)
"""

import json
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]
HAS_LIMITS = sys.argv[2] == 'gcc'
MANY = (sys.argv[3:] or ['4'])[0]

# Those of tests/engine/limits.py, and a tenth: what a CQE of a session costs more than a whole one,
# and a receive of many QPs in turn, in batches of 16. A wait is a call; the last of them is beside a
# poll for a number that the compiler does not know, too.
DIFFERENCES = {
    'expand': ('poll_16_sessions', 'poll_recv_16', 33),
    'expand_one': ('poll_1_sessions', 'poll_recv', 33),
    'wait': ('wait_1', 'poll_1', 55),
    'wait_hidden': ('wait_1_hidden', 'poll_1_hidden', 34),
}
POSTS_IN_TURN = 26


def count(bench, qps):
    """Instructions by row."""
    out, _ = bench.run(PERF, 'cost', '--json', '--columns', 'bunsen', '--rounds', '2',
                       '--instructions', '--depth', '64', '--qps', qps, '--op', 'receives',
                       SOFTCX_TRACE='')
    size, = json.loads(out)['sizes']
    return {row['op']: row['bunsen']['instructions'] for row in size['rows']}


def differences(rows):
    return {name: rows[more] - rows[less] for name, (more, less, _) in DIFFERENCES.items()}


def over_limits(rows):
    return [f'{name}: {more}, limit {DIFFERENCES[name][2]}'
            for name, more in differences(rows).items() if more > DIFFERENCES[name][2]]


def test_limits_of_one_qp(bench):
    over = over_limits(count(bench, '1'))
    check(not HAS_LIMITS or not over, '\n'.join(over))


def test_limits_of_many_qps(bench):
    rows = count(bench, MANY)
    over = over_limits(rows)
    if (posts := rows['post_recv_16_qps']) > POSTS_IN_TURN:
        over.append(f'a receive of many: {posts}, limit {POSTS_IN_TURN}')
    # Sessions are there on many QPs, too: whole CQEs that are polled one by one cost less.
    if differences(rows)['expand_one'] <= 1:
        over.append(f'{MANY} QPs: expand_one is no more than nothing')
    check(not HAS_LIMITS or not over, '\n'.join(over))


sys.exit(main_of_limits(globals()))
