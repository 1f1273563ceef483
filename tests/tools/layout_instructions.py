#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf layout --instructions, under callgrind: that its figures keep their limits.

usage: layout_instructions.py PROGRAM PROGRAM_V2 [COMPILER]
       layout_instructions.py PROGRAM PROGRAM_V2 gcc --write    what it costs today becomes the limit
  PROGRAM_V2  the same, with the library compiled for x86-64-v2
  COMPILER    gcc or clang, where the limits hold: on x86-64, at -O2
"""

import json
import math
import os
import subprocess
import sys

from harness import check, main_of_limits

PROGRAMS = sys.argv[1:3]  # for any x86-64, for x86-64-v2
COMPILER = sys.argv[3] if len(sys.argv) > 3 else None
SLACK = {'gcc': 1.0, 'clang': 1.2}

# What configuring may take of what libmlx5 takes, in the same run: %, for any x86-64 and for x86-64-v2.
SHARES = {
    'list_1': (50, 50), 'list_4': (50, 50), 'list_32': (55, 40),
    'interleaved_1': (50, 50), 'interleaved_4': (50, 50), 'interleaved_32': (55, 40),
}

# Instructions of a look-up: of the last layout or a handle 30, strided 45, lists 3 more an entry.
LOOKUPS = {
    'map_last': (30, 30), 'map_handle': (30, 30), 'map_strided': (45, 45),
    'map_list_4': (54, 54), 'map_list_16': (90, 90), 'map_list_48': (186, 186),
}

# Where that is not reached yet: what it takes today, and no more.
TODAY = {
    'map_last': (38, 38),
    'map_strided': (53, 53),
}

GOALS = {**SHARES, **LOOKUPS}


def cost_of(row):
    """Of what GOALS speaks of."""
    bunsen = row['bunsen']['instructions']
    return 100 * bunsen / row['libmlx5']['instructions'] if row['op'] in SHARES else bunsen


def measure(run, program):
    out = run(program, 'layout', '--rounds', '2', '--instructions', '--json', '--op',
              ','.join(GOALS))
    return {row['op']: cost_of(row) for row in json.loads(out)['rows']}


def check_limits(bench, which):
    costs = measure(lambda *args: bench.run(*args, SOFTCX_TRACE='', BSN_STORE='8x8')[0],
                    PROGRAMS[which])
    check(set(costs) == set(GOALS), costs)
    over = [f'{op}: {cost:.1f}, limit {TODAY.get(op, GOALS[op])[which]}'
            for op, cost in costs.items()
            if cost > TODAY.get(op, GOALS[op])[which] * SLACK[COMPILER]]
    check(not over, '\n'.join(over))


def test_limits(bench):
    if COMPILER:
        check_limits(bench, 0)


def test_limits_v2(bench):
    if COMPILER:
        check_limits(bench, 1)


def test_libmlx5_is_what_it_was(bench):
    """The peer that all is measured by: as its authors compiled it, so one figure, and a wide margin."""
    out, _ = bench.run(PROGRAMS[0], 'layout', '--rounds', '2', '--instructions', '--json', '--op',
                       'list_32', SOFTCX_TRACE='')
    check(300 < json.loads(out)['rows'][0]['libmlx5']['instructions'] < 1500, out)


def run_alone(*args):
    env = dict(os.environ, SOFTCX_FABRIC=f'limits-{os.getpid()}', BSN_STORE='8x8')
    return subprocess.run(args, env=env, check=True, capture_output=True, text=True,
                          timeout=240).stdout


def today():
    plain, v2 = (measure(run_alone, program) for program in PROGRAMS)
    lines = ''
    for op, goals in GOALS.items():
        limits = tuple(goal if cost <= goal else math.ceil(cost * 1.02)
                       for goal, cost in zip(goals, (plain[op], v2[op])))
        if limits != goals:
            lines += f"    '{op}': {limits},\n"
    return lines


sys.exit(main_of_limits(globals(), today))
