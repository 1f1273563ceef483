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
# On one QP beside a send and its receive: more by the sums, and less by half of the bus. On a few
# QPs there are empty rings to look at, too.
MESSAGE_MORE, MESSAGE_MORE_OF_MANY = 150, 185


# What the device asks memory for.
REQUESTS = ['wqe_fetch', 'send_record_read', 'recv_wqe_fetch', 'recv_record_read', 'payload_read',
            'payload_write', 'cqe_write']


def cost(bench, *args):
    return json.loads(bench.run(PERF, 'cost', '--json', '--columns', 'bunsen,ibv', *args,
                                SOFTCX_TRACE='')[0])


def count(bench, qps):
    """Instructions by row and column."""
    size, = cost(bench, '--rounds', '2', '--instructions', '--depth', '64', '--qps', qps, '--op',
                 'receives,messages')['sizes']
    return {row.pop('op'): {column: figures['instructions'] for column, figures in row.items()}
            for row in size['rows']}


def differences(rows):
    return {name: rows[more]['bunsen'] - rows[less]['bunsen']
            for name, (more, less, _) in DIFFERENCES.items()}


def over_limits(rows, message_more):
    over = [f'{name}: {more}, limit {DIFFERENCES[name][2]}'
            for name, more in differences(rows).items() if more > DIFFERENCES[name][2]]
    message, send = rows['trip_message']['bunsen'], rows['trip_send']
    if message > send['bunsen'] + message_more or message >= send['ibv']:
        over.append(f'trips: {message} {send}, limit {message_more} more than by send, and less '
                    'than by libibverbs')
    return over


def test_limits_of_one_qp(bench):
    over = over_limits(count(bench, '1'), MESSAGE_MORE)
    check(not HAS_LIMITS or not over, '\n'.join(over))


def test_limits_of_many_qps(bench):
    rows = count(bench, MANY)
    over = over_limits(rows, MESSAGE_MORE_OF_MANY)
    if (posts := rows['post_recv_16_qps']['bunsen']) > POSTS_IN_TURN:
        over.append(f'a receive of many: {posts}, limit {POSTS_IN_TURN}')
    # Sessions are there on many QPs, too: whole CQEs that are polled one by one cost less.
    if differences(rows)['expand_one'] <= 1:
        over.append(f'{MANY} QPs: expand_one is no more than nothing')
    check(not HAS_LIMITS or not over, '\n'.join(over))


def test_a_message_asks_less_of_the_bus_than_a_send(bench):
    """On one QP and on many; times differ less than the noise."""
    for qps in '1', MANY:
        size, = cost(bench, '--bus', '--qps', qps, '--op', 'messages')['sizes']
        rows = {row['op']: row for row in size['rows']}
        bus = {(op, column): sum(rows[op][column][name] for name in REQUESTS)
               for op, column in [('trip_message', 'bunsen'), ('trip_send', 'bunsen'),
                                  ('trip_send', 'ibv')]}
        check(min(bus, key=bus.get) == ('trip_message', 'bunsen'), f'{qps} QPs: {bus}')


sys.exit(main_of_limits(globals()))
