#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf layout --instructions, under callgrind: that its figures keep their limits.

usage: layout_instructions.py PROGRAM PROGRAM_V2 [COMPILER]
       layout_instructions.py PROGRAM PROGRAM_V2 gcc --write    what uncommitted layouts cost today becomes the limit
  PROGRAM_V2  the same, with the library compiled for x86-64-v2
  COMPILER    gcc or clang, where the limits hold: on x86-64, at -O2
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

from harness import check, main_of_limits

PROGRAMS = sys.argv[1:3]  # for any x86-64, for x86-64-v2
COMPILER = sys.argv[3] if len(sys.argv) > 3 else None
README = pathlib.Path(__file__).resolve().parents[2] / 'README.md'
SLACK = {'gcc': 1.0, 'clang': 1.2}

# What configuring by a committed layout may take of what libmlx5 takes, in the same run: %, for any x86-64 and for x86-64-v2.
SHARES = {
    'list_1': (50, 50), 'list_4': (48, 48), 'list_5': (48, 48),
    'list_31': (38, 38), 'list_32': (35, 35), 'list_33': (36, 36),
    'list_32_shuffled': (36, 36), 'list_32_two_keys': (36, 36),
    'interleaved_1': (43, 42), 'interleaved_4': (43, 43),
    'interleaved_31': (31, 31), 'interleaved_32': (31, 31),
    'pages_4': (49, 49), 'pages_32': (37, 37),
}

# The same of a layout that was not committed.
LOOKED_AT = {
    'list_1': (47, 45), 'list_4': (45, 45), 'list_5': (53, 53),
    'list_31': (50, 50), 'list_32': (40, 40), 'list_33': (49, 49),
    'list_32_shuffled': (72, 71), 'list_32_two_keys': (44, 44),
    'interleaved_1': (46, 45), 'interleaved_4': (47, 47),
    'interleaved_31': (42, 42), 'interleaved_32': (38, 38),
    'pages_4': (45, 45), 'pages_32': (44, 44),
}

# Instructions of a look-up, of what was not committed: of the last layout 30, strided 45, lists 3 more an entry.
LOOKUPS = {
    'map_last': (30, 30), 'map_strided': (45, 45),
    'map_list_4': (54, 54), 'map_list_16': (90, 90), 'map_list_48': (186, 186),
}

# The same of what was committed, and of a handle.
KNOWN = {**{op: (20, 20) for op in LOOKUPS}, 'map_handle': (30, 30)}

# No map for the first time takes more than libmlx5 does: %.
ALL = 100
SLOWER = {'list_32_shuffled'}  # as a map for the first time: how its parts lie is looked at, too

# Instructions of bsn_layout_commit(): of a list in the order of memory, in another one, and of two keys.
COMMITS = {'list_32': (532, 532), 'list_32_shuffled': (1135, 1135), 'list_32_two_keys': (545, 545)}

GOALS = {**SHARES, **KNOWN}

# What the same takes of a layout that was not committed: no more than today.
TODAY = {
    'list_1': (217, 208),
    'list_4': (237, 236),
    'list_5': (292, 292),
    'list_31': (444, 444),
    'list_32': (370, 370),
    'list_33': (452, 452),
    'list_32_shuffled': (669, 659),
    'list_32_two_keys': (412, 412),
    'interleaved_1': (255, 247),
    'interleaved_4': (300, 299),
    'interleaved_31': (463, 463),
    'interleaved_32': (428, 428),
    'pages_4': (236, 235),
    'pages_32': (404, 402),
}


KINDS = ('', ', uncommitted', ', commit', ', mapped for the first time', ', uncommitted, of libmlx5')
LIMITS = (GOALS, {**TODAY, **LOOKUPS}, COMMITS,
          {op: (ALL, ALL) for op in SHARES if op not in SLOWER}, LOOKED_AT)


def test_readme_says_these_limits(_bench):
    """What the README promises is what is kept here."""
    text = README.read_text(encoding='utf-8')
    for pattern, limit in [
            (r'at most (\d+) % of libmlx5', max(max(pair) for pair in SHARES.values())),
            (r'looked at each time takes at most (\d+) %',
             max(max(pair) for op, pair in LOOKED_AT.items() if op not in SLOWER)),
            (r'of 32 parts (\d+) %', max(LOOKED_AT['list_32'])),
            (r'found in at most (\d+) instructions', LOOKUPS['map_strided'][0]),
            (r'a list in (\d+) and 3 more', LOOKUPS['map_list_48'][0] - 3 * 48),
            (r'committed in at most (\d+)', KNOWN['map_list_48'][0]),
            (r'32 parts takes at most ([\d,]+)\.', max(max(pair) for pair in COMMITS.values()))]:
        said = re.search(pattern, text)
        check(said and int(said[1].replace(',', '')) == limit, f'{pattern}: {limit}')


def costs_of(row):
    """Of what LIMITS speaks of, in its order."""
    def cost(side, unit=1.0):
        return row[side]['instructions'] / unit if row.get(side) else None

    percent = cost('libmlx5') / 100 if row['op'] in SHARES else 1.0
    return (cost('bunsen', percent), cost('uncommitted'), cost('commit'),
            cost('bunsen_map', percent), cost('uncommitted', percent))


def measure(run, program):
    out = run(program, 'layout', '--rounds', '2', '--instructions', '--json', '--op',
              ','.join(GOALS))
    return {row['op']: costs_of(row) for row in json.loads(out)['rows']}


def check_limits(bench, which):
    costs = measure(lambda *args: bench.run(*args, SOFTCX_TRACE='', BSN_STORE='8x8')[0],
                    PROGRAMS[which])
    check(set(costs) == set(GOALS), costs)
    over = [f'{op}{kind}: {cost:.1f}, limit {limits[op][which]}'
            for op, each in costs.items()
            for kind, cost, limits in zip(KINDS, each, LIMITS)
            if cost is not None and op in limits and cost > limits[op][which] * SLACK[COMPILER]]
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
    return ''.join(f"    '{op}': {tuple(math.ceil(cost[op][1] * 1.02) for cost in (plain, v2))},\n"
                   for op in SHARES if plain[op][1])


sys.exit(main_of_limits(globals(), today))
