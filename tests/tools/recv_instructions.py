#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf recv: what the receive side costs keeps its limits.

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
DIFFERENCES = {'expand': 33, 'expand_one': 33, 'wait': 55, 'wait_hidden': 34}
POSTS_IN_TURN = 26
# On one QP beside a send and its receive: more by the sums, and less by half of the bus. On a few
# QPs there are empty rings to look at, too.
MESSAGE_MORE, MESSAGE_MORE_OF_MANY = 150, 185


def over_limits(size):
    check(set(size['differences']) == set(DIFFERENCES), size)
    over = [f'{name}: {count}, limit {DIFFERENCES[name]}'
            for name, count in size['differences'].items()
            if count > DIFFERENCES[name]]
    trips = {by: trip['instructions'] for by, trip in size['trips'].items()}
    limit = MESSAGE_MORE if size['qps'] == 1 else MESSAGE_MORE_OF_MANY
    if trips['message'] > trips['send'] + limit or trips['message'] >= trips['ibv']:
        over.append(f'trips: {trips}, limit {limit} more than by send, and less than by libibverbs')
    return over


def test_limits(bench):
    """On one QP, and on many."""
    out, _ = bench.run(PERF, 'recv', '--rounds', '2', '--instructions', '--json', '--qps',
                       f'1,{MANY}', SOFTCX_TRACE='')
    lone, many = json.loads(out)['sizes']
    rows = {row['op']: row for row in many['rows']}
    over = [f'{size["qps"]} QPs: {what}' for size in (lone, many) for what in over_limits(size)]
    if (count := rows['post_recv_16_qps']['bunsen']['instructions']) > POSTS_IN_TURN:
        over.append(f'a receive of many: {count}, limit {POSTS_IN_TURN}')
    # Sessions are there on many QPs, too: whole CQEs that are polled one by one cost less.
    if many['differences']['expand_one'] <= 1:
        over.append(f'{MANY} QPs: expand_one is no more than nothing')
    check(not HAS_LIMITS or not over, '\n'.join(over))


def test_a_message_asks_less_of_the_bus_than_a_send(bench):
    """What the device asks of the bus, on one QP and on many; times differ less than the noise."""
    out, _ = bench.run(PERF, 'recv', '--rounds', '2', '--json', '--qps', f'1,{MANY}',
                       SOFTCX_TRACE='')
    for size in json.loads(out)['sizes']:
        bus = {by: trip['bus_requests'] for by, trip in size['trips'].items()}
        check(bus['message'] < min(bus['ibv'], bus['send']), f'{size["qps"]} QPs: {bus}')


sys.exit(main_of_limits(globals()))
