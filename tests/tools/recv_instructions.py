#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf recv: what the receive side costs keeps its limits.

usage: recv_instructions.py PROGRAM [COMPILER]
  COMPILER  gcc, where the limits hold: on x86-64, at -O2
"""

import json
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]
HAS_LIMITS = sys.argv[2:] == ['gcc']

# By Bunsen's columns: a session's receives cost less than whole CQEs; the last of the waits is for a number that the compiler does not know.
DIFFERENCES = {'expand': 0, 'expand_plain': 0, 'expand_one': 12, 'expand_one_plain': 20, 'wait': 1, 'wait_hidden': 10}
# A receive of many QPs in turn, compiled for any x86-64 and for x86-64-v2: whole laps of rings of 64, in batches of 16.
POSTS_IN_TURN = (16, 12)
# Beside a send and its receive: more by the sums, and less by half of the bus.
MESSAGE_MORE = 150


def test_limits(bench):
    out, _ = bench.run(PERF, 'recv', '--rounds', '2', '--instructions', '--json', '--qps', '1', SOFTCX_TRACE='')
    size = json.loads(out)['sizes'][0]
    check(set(size['differences']) == set(DIFFERENCES), size)
    over = [f'{name} by {column}: {count}, limit {DIFFERENCES[name]}'
            for name, columns in size['differences'].items() for column, count in columns.items()
            if count > DIFFERENCES[name]]
    trips = {by: trip['instructions'] for by, trip in size['trips'].items()}
    if trips['message'] > trips['send'] + MESSAGE_MORE or trips['message'] >= trips['ibv']:
        over.append(f'trips: {trips}, limit {MESSAGE_MORE} more than by send, and less than by libibverbs')
    check(not HAS_LIMITS or not over, '\n'.join(over))


def test_posts_in_turn(bench):
    """Each column counts whole laps, wherever the one before it left the rings."""
    out, _ = bench.run(PERF, 'recv', '--rounds', '2', '--instructions', '--json', '--qps', '4', SOFTCX_TRACE='')
    rows = {row['op']: row for row in json.loads(out)['sizes'][0]['rows']}
    counts = [rows['post_recv_16_qps'][column]['instructions'] for column in ('bunsen', 'bunsen_v2')]
    check(not HAS_LIMITS or all(count <= limit for count, limit in zip(counts, POSTS_IN_TURN)), counts)


def test_a_message_is_there_before_a_send_is(bench):
    """Medians of rounds in turn, each way's work and the device's."""
    out, _ = bench.run(PERF, 'recv', '--rounds', '60', '--json', '--qps', '1', SOFTCX_TRACE='')
    trips = json.loads(out)['sizes'][0]['trips']
    check(trips['message']['ns'] < trips['send']['ns'] < trips['ibv']['ns'], trips)


sys.exit(main_of_limits(globals(), None))
