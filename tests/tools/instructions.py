#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf cost --instructions, under callgrind. usage: instructions.py PROGRAM [BUDGETS]

The limits are those of tests/dv/budgets; without that file the numbers must be there, and plausible.
"""

import json
import re
import shutil
import sys

from harness import check, main

PERF = sys.argv[1]
LIMITS = {}
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding='utf-8') as budgets:
        LIMITS = {op: int(limit) for op, limit in
                  re.findall(r"^(?:limits=')?([a-z]\w+) \d+ (\d+)'?$", budgets.read(), re.M)}


def counted(bench, *args, **more):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--instructions', '--json', *args,
                       SOFTCX_TRACE='', **more)  # it would be traced under valgrind, too
    return json.loads(out)


def test_every_figure(bench):
    report = counted(bench)
    check(report['instructions_store'] not in ('', 'none'), report)
    check(len(report['rows']) == 11, report)
    for row in report['rows']:
        for column, figures in row.items():
            if column != 'op':
                check(figures['instructions'] > 0, row)
        check(row['floor']['instructions'] < row['bunsen']['instructions'], row)


def test_every_limit_is_kept(bench):
    rows = counted(bench, BSN_STORE='8x8')['rows'] if LIMITS else []
    check(not LIMITS or sorted(LIMITS) == sorted(row['op'] for row in rows), LIMITS)
    for row in rows:
        check(row['bunsen']['instructions'] <= LIMITS[row['op']], row)


def test_the_store_asked_for(bench):
    report = counted(bench, '--op', 'write_sge', BSN_STORE='doorbell')
    check(report['store'] == report['instructions_store'] == 'doorbell', report)


def test_without_valgrind(bench):
    bench.complains('needs valgrind', PERF, 'cost', '--rounds', '1', '--op', 'read',
                    '--instructions', PATH='/nonexistent')


if not shutil.which('valgrind'):
    print('1..0 # SKIP valgrind is not installed')
    sys.exit(0)
sys.exit(main(globals()))
