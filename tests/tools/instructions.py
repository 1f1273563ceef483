#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf cost --instructions, under callgrind: its figures, and that they keep their limits.

usage: instructions.py PROGRAM [COMPILER]
       instructions.py PROGRAM gcc --write    what it costs today becomes the limit, here in this file
  COMPILER  gcc or clang, where the limits hold: on x86-64, at -O2
"""

import json
import math
import os
import subprocess
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]
COMPILER = sys.argv[2] if len(sys.argv) > 2 else None
SLACK = {'gcc': 1.0, 'clang': 1.1}

# What an operation may cost, compiled for any x86-64 and for x86-64-v2, by gcc, with the 8 x 8 B store.
GOALS = {
    'write_sge': (54, 43), 'write_inline': (60, 50), 'write_prepared': (44, 36),
    'write_sge2': (85, 66), 'read_sge2': (85, 66), 'write_sge4': (125, 86),
    'write_inline32': (88, 88), 'write_inline64': (93, 93), 'write_inline128': (114, 114),
    'send_inline64': (88, 88),
    'write_batch16_sge': (42, 35), 'write_batch16_inline64': (68, 68),
    'write_batch16_sge2': (64, 52),
    'ud_send_sge': (101, 90), 'ud_send_inline32': (106, 100), 'ud_send_sge2': (116, 96),
    'post_recv_16': (18, 12), 'post_recv_srq_16': (12, 12), 'poll_recv_inline': (75, 75),
    'post_recv': (24, 20), 'post_recv_sge2': (40, 36), 'post_recv_srq': (45, 40),
    'poll_1': (42, 40), 'poll_16': (33, 30), 'poll_empty': (8, 6),
    'poll_recv': (60, 56), 'poll_ud_send': (60, 56),
    'poll_512_qps': (50, 48), 'poll_256_qps_apart': (50, 48),
    'attached_poll_recv': (85, 80),
}

# Rows that do not reach this yet: today's cost is the limit.
TODAY = {
}

# The share of each count that happens once a round.
SHARE = 0.05

# What any shape may cost, compiled by gcc for any x86-64: one SGE; each one more; inline data, and each 16 B
# of them; what stands before it for one of many peers, and each DS of that; each further block that is copied
# to the device, by store; what the compiler does not know flags and counts of; a call of the library's symbol.
BASE, SGE, INLINE, UNIT, PREFIX, PREFIX_DS = 56, 14, 10, 3, 20, 3
BLOCK = {'8x8': 16, '4x16': 8, 'doorbell': 0}
HIDDEN, SYMBOL = 20, 20
BLUEFLAME_BLOCKS = 4

SHAPES = {  # SGEs; bytes of inline data
    'sge': (1, 0), 'sge2': (2, 0), 'sge3': (3, 0), 'sge4': (4, 0),
    **{f'inline{n}': (0, n) for n in (8, 12, 16, 28, 32, 44, 48, 64, 96, 128, 192, 224, 256, 320, 512)},
}
RULED = ['write_sge', 'write_sge2', 'write_sge3', 'write_sge4', 'read_sge2', 'read_sge3', 'read_sge4',
         'send_sge2', 'send_sge3', 'send_sge4', 'write_inline12', 'write_inline16', 'write_inline28',
         'write_inline32', 'write_inline48', 'write_inline64', 'write_inline96', 'write_inline128',
         'write_inline192', 'write_inline224', 'write_inline256', 'write_inline320', 'write_inline512', 'send_inline12', 'send_inline28', 'send_inline44',
         'send_inline64', 'send_inline96', 'send_inline128', 'send_inline192', 'send_inline224', 'send_inline256',
         'send_inline320', 'send_inline512',
         'ud_send_sge', 'ud_send_sge2', 'ud_send_inline32', 'ud_send_inline64',
         'write_sge_hidden', 'write_sge2_hidden', 'write_inline64_hidden',
         'write_sge_symbol', 'write_sge2_symbol', 'write_inline64_symbol']

# Shapes that do not reach this yet, by store: today's cost.
RULED_TODAY = {
    ('doorbell', 'read_sge3'): 84.3,
    ('8x8', 'write_sge2_hidden'): 90.2,
    ('4x16', 'write_sge2_hidden'): 90.2,
    ('doorbell', 'write_sge2_hidden'): 92.2,
    ('4x16', 'write_inline32'): 81.1,
    ('4x16', 'write_inline48'): 83.3,
}

# What the credits of a ring and its end cost, once a lap; and what a short ring may cost of a long one.
REFILL = 120
SHORT_RING = 1.25
DEEP = ['write_sge', 'write_sge2', 'write_sge4', 'write_prepared', 'write_inline12', 'write_inline64', 'write_inline128',
        'send_inline64', 'ud_send_sge', 'ud_send_inline32']

# A call of the library's symbol to poll one.
POLL_SYMBOL = 62

GROUPS = 3  # runs, so that none takes long


def counted(bench, *args, **more):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--instructions', '--json', *args,
                       SOFTCX_TRACE='', **more)  # it would be traced under valgrind, too
    return json.loads(out)


def test_every_figure(bench):
    report = counted(bench, '--op', 'write_sge,write_inline64,ud_send_sge,poll_1,poll_recv_srq')
    check(report['instructions_store'] not in ('', 'none'), report)
    check(len(report['rows']) == 5, report)
    for row in report['rows']:
        for column, figures in row.items():
            if column != 'op':
                check(figures['instructions'] > 0, row)
        if COMPILER == 'gcc':  # the floor of another compiler is no measure
            check(row['floor']['instructions'] < row['bunsen']['instructions'], row)


def limits_of(op):
    return [limit * SLACK[COMPILER] for limit in TODAY.get(op, GOALS[op])]


def check_limits(bench, rows):
    report = counted(bench, '--store', '8x8', '--columns', 'bunsen,bunsen_v2', '--op', ','.join(rows))
    check({row['op'] for row in report['rows']} == set(rows), report)
    over = []
    for row in report['rows']:
        for column, limit in zip(('bunsen', 'bunsen_v2'), limits_of(row['op'])):
            count = row[column]['instructions']
            if count > limit + SHARE:
                over.append(f'{row["op"]} by {column}: {count}, limit {limit}')
    check(not over, '\n'.join(over))


def test_limits_first(bench):
    if COMPILER:
        check_limits(bench, list(GOALS)[0::GROUPS])


def test_limits_second(bench):
    if COMPILER:
        check_limits(bench, list(GOALS)[1::GROUPS])


def test_limits_third(bench):
    if COMPILER:
        check_limits(bench, list(GOALS)[2::GROUPS])


def price_of(row, store):
    """What a row may cost, by the rule of the shapes."""
    words = row.split('_')
    transport = words.pop(0) if words[0] == 'ud' else 'rc'
    sges, data = SHAPES[words[1]]
    prefix = 3 if transport == 'ud' else 0
    units = 1 + prefix + (words[0] != 'send') + (sges or math.ceil((4 + data) / 16))
    blocks = math.ceil(units / 4)
    price = BASE + (SGE * (sges - 1) if sges else INLINE + UNIT * math.ceil(data / 16))
    price += PREFIX + PREFIX_DS * prefix if prefix else 0
    price += BLOCK[store] * (blocks - 1) if blocks <= BLUEFLAME_BLOCKS else 0
    return price + {'hidden': HIDDEN, 'symbol': HIDDEN + SYMBOL}.get(words[-1], 0)


def check_rule(bench, store):
    report = counted(bench, '--store', store, '--columns', 'bunsen', '--op', ','.join(RULED))
    check(report['instructions_store'] == store, report)
    costs = {row['op']: row['bunsen']['instructions'] for row in report['rows']}
    check(set(costs) == set(RULED), report)
    limits = {row: RULED_TODAY.get((store, row), price_of(row, store)) for row in costs}
    over = [f'{row}: {cost}, limit {limits[row]}' for row, cost in costs.items() if cost > limits[row] + SHARE]
    check(not over, '\n'.join(over))


def test_rule_of_shapes_8x8(bench):
    if COMPILER == 'gcc':
        check_rule(bench, '8x8')


def test_rule_of_shapes_4x16(bench):
    if COMPILER == 'gcc':
        check_rule(bench, '4x16')


def test_rule_of_shapes_doorbell(bench):
    if COMPILER == 'gcc':
        check_rule(bench, 'doorbell')


def test_poll_by_the_symbol(bench):
    report = counted(bench, '--op', 'poll_1_symbol', '--columns', 'bunsen')
    cost = report['rows'][0]['bunsen']['instructions']
    check(COMPILER != 'gcc' or cost <= POLL_SYMBOL, cost)


def test_every_depth(bench):
    """What happens once a ring is counted for its share: less of it in a longer one."""
    costs = {}
    for depth in '16', '64', '1024':
        report = counted(bench, '--op', ','.join(DEEP), '--columns', 'bunsen', '--depth', depth)
        for row in report['rows']:
            costs.setdefault(row['op'], []).append(row['bunsen']['instructions'])
    check(set(costs) == set(DEEP), costs)
    over = [f'{op}: {each}' for op, each in costs.items()
            if each != sorted(each, reverse=True) or each[0] > SHORT_RING * each[-1]]
    first, *_, last = costs['write_sge']
    refill = 16 * 1024 / (1024 - 16) * (first - last)
    print(f'# WRITEs of one SGE: {refill:.0f} more a lap; {costs}')
    check(COMPILER != 'gcc' or (not over and refill <= REFILL), over or refill)


def test_the_store_asked_for(bench):
    report = counted(bench, '--op', 'write_sge', BSN_STORE='doorbell')
    check(report['store'] == report['instructions_store'] == 'doorbell', report)


def test_without_valgrind(bench):
    bench.complains('needs valgrind', PERF, 'cost', '--rounds', '1', '--op', 'read',
                    '--instructions', PATH='/nonexistent')


def today_of(row):
    """A row's limits as they are to be written, with 2 % to spare; None: it is as it should be."""
    limits = []
    for column, goal in zip(('bunsen', 'bunsen_v2'), GOALS[row['op']]):
        count = row[column]['instructions']
        limits.append(goal if count <= goal + SHARE else math.ceil(count * 1.02))
    return None if tuple(limits) == GOALS[row['op']] else f"    '{row['op']}': {tuple(limits)},\n"


def today():
    out = subprocess.run([PERF, 'cost', '--rounds', '2', '--instructions', '--json', '--store',
                          '8x8', '--columns', 'bunsen,bunsen_v2', '--op', ','.join(GOALS)],
                         env=dict(os.environ, SOFTCX_FABRIC=f'limits-{os.getpid()}'), check=True,
                         capture_output=True, text=True, timeout=240).stdout
    return ''.join(filter(None, map(today_of, json.loads(out)['rows'])))


sys.exit(main_of_limits(globals(), today))
