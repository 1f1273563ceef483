#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What one function of a program costs more than another, in instructions, by valgrind. Speaks TAP.

usage: more.py COMPILER PROGRAM TIMES PLAIN:MORE:LIMIT...
  COMPILER  gcc, where the limits hold: on x86-64, at -O2, and of a test of any compiler; else -
  TIMES     how often each of the functions does what is counted
  LIMIT     the instructions that the function MORE may cost more than PLAIN
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

COMPILER, PROGRAM, TIMES, *PAIRS = sys.argv[1:]


def run_counted():
    """The instructions of all calls of each function, with those of functions that it calls."""
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind',
                              f'--callgrind-out-file={out.name}', PROGRAM],
                             capture_output=True, text=True, timeout=100, check=False)
        lines = pathlib.Path(out.name).read_text(encoding='utf-8').splitlines()
    if run.returncode:
        raise RuntimeError(run.stdout + run.stderr)
    names, totals, called = {}, {}, None
    for line, after in zip(lines, lines[1:] + ['']):
        if named := re.match(r'c?fn=\((\d+)\)(?: (.*))?', line):
            names.setdefault(named[1], named[2])
            called = names[named[1]]
        elif line.startswith('calls='):
            totals[called] = totals.get(called, 0) + int(after.split()[-1])
    return totals


def check_what_it_costs_more():
    wrong = []
    totals = run_counted()
    for pair in PAIRS:
        plain, more, limit = pair.split(':')
        known, through = (totals[name] / int(TIMES) for name in (plain, more))
        print(f'# {plain} {known:.1f}, {more} {through:.1f}: {through - known:.1f} more')
        if COMPILER == 'gcc' and through - known > int(limit) + 0.05:
            wrong.append(f'{more} is {through - known:.1f} more than {plain}, limit {limit}')
    return wrong


if not shutil.which('valgrind'):
    print('1..0 # SKIP needs valgrind')
else:
    sys.exit(tap.report_checks(globals()))
