#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf layout --instructions, under callgrind: that its figures keep their limits.

usage: layout_instructions.py PROGRAM [COMPILER]
  COMPILER  gcc or clang, where the limits hold: on x86-64, at -O2
"""

import json
import pathlib
import re
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]
COMPILER = sys.argv[2] if len(sys.argv) > 2 else None
README = pathlib.Path(__file__).resolve().parents[2] / 'README.md'
SLACK = {'gcc': 1.10, 'clang': 1.15}

IN_ORDER = ['list_1', 'list_4', 'list_5', 'list_8', 'list_31', 'list_32', 'list_33', 'list_48',
            'list_32_two_keys', 'interleaved_1', 'interleaved_4', 'interleaved_31',
            'interleaved_32']
IN_DISORDER = ['list_4_shuffled', 'list_32_shuffled', 'interleaved_32_shuffled']
LAYOUTS = IN_ORDER + IN_DISORDER + ['list_16', 'pages_4', 'pages_32']

# Parts of what libmlx5 takes to configure an mkey by the same list, in the same run.
CONFIGURED, MAPPED_FIRST, CHECKED, CHECKED_IN_DISORDER = 0.75, 0.9, 2.0, 4.0
OF_LIBMLX5 = {
    'bunsen': dict.fromkeys(LAYOUTS, CONFIGURED),
    'bunsen_map': dict.fromkeys(IN_ORDER + IN_DISORDER, MAPPED_FIRST),
    # Of two keys there is twice the memory to look for; a list that fits one request is made as
    # SGEs, too.
    'create': {**dict.fromkeys(IN_ORDER, CHECKED),
               **dict.fromkeys(IN_DISORDER, CHECKED_IN_DISORDER),
               'list_32_two_keys': 2.2, 'list_16': 2.3},
}

# Instructions, with the 8 x 8 B store: a layout is mapped that has its mkey, and sent.
KNOWN = {'map': 55, 'unmap': 30, 'send_known': 160}
SENT_NEW = 1.0  # configured first: part of libmlx5's


def measure(bench, ops, few=5):
    """A few rows a run, so that none takes long."""
    rows = {}
    for i in range(0, len(ops), few):
        out, _ = bench.run(PERF, 'layout', '--rounds', '2', '--instructions', '--json', '--op',
                           ','.join(ops[i:i + few]), SOFTCX_TRACE='', BSN_STORE='8x8')
        rows.update({row['op']: row for row in json.loads(out)['rows']})
    return rows


def check_shares(shares):
    """The worst first, whether or not they are too many."""
    shares = sorted(shares, reverse=True)
    for share, what in shares[:5]:
        print(f'# {what}: {share:.2f} of its limit')
    check(shares[0][0] <= SLACK[COMPILER], shares[0])


def test_parts_of_libmlx5(bench):
    if not COMPILER:
        return
    rows = measure(bench, LAYOUTS)
    check(set(rows) == set(LAYOUTS), rows)
    check_shares([(rows[op][column]['instructions'] / rows[op]['libmlx5']['instructions'] / limit,
                   f'{op}, {column}')
                  for column, limits in OF_LIBMLX5.items() for op, limit in limits.items()])


def test_known_layouts(bench):
    if not COMPILER:
        return
    rows = measure(bench, [*KNOWN, 'send_new'])
    new = rows['send_new']
    check_shares([(rows[op]['bunsen']['instructions'] / limit, op) for op, limit in KNOWN.items()] +
                 [(new['bunsen']['instructions'] / new['libmlx5']['instructions'] / SENT_NEW,
                   'send_new')])


def test_libmlx5_is_what_it_was(bench):
    """libmlx5, by which all is measured, as its authors compiled it: a figure, a wide margin."""
    check(300 < measure(bench, ['list_32'])['list_32']['libmlx5']['instructions'] < 1500, 'list_32')


def test_readme_says_these_limits(_bench):
    """What the README promises is what is kept here."""
    text = README.read_text(encoding='utf-8')
    for pattern, limit in [(r'at most (\d+) % of libmlx5', round(100 * CONFIGURED)),
                           (r'checked once, in at most (\d) times', round(CHECKED)),
                           (r'in another order than that of memory (\d) times',
                            round(CHECKED_IN_DISORDER))]:
        said = re.search(pattern, text)
        check(said and int(said[1]) == limit, f'{pattern}: {limit}')


sys.exit(main_of_limits(globals()))
