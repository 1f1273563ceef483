#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf cost --instructions, under callgrind. usage: instructions.py PROGRAM

The numbers themselves are tests/dv's to judge: here they must be there, and plausible.
"""

import json
import shutil
import sys

from harness import check, main

PERF = sys.argv[1]


def counted(bench, *args, **more):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--instructions', '--json', *args, **more)
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
