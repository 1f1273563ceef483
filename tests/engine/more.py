#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What one function of a program costs more than another, in instructions, by valgrind. Speaks TAP.

usage: more.py COMPILER PROGRAM TIMES PLAIN:MORE:LIMIT...
  COMPILER  gcc, where the limits hold: on x86-64, at -O2; else -
  TIMES     how often the program does in each of the functions what is counted
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


def instructions(function):
    """Of one time, all that it calls included."""
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}',
                              '--collect-atstart=no', f'--toggle-collect={function}', PROGRAM],
                             capture_output=True, text=True, timeout=100, check=False)
        total = re.search(r'^(?:summary|totals): (\d+)', pathlib.Path(out.name).read_text(encoding='utf-8'),
                          re.MULTILINE)
    if run.returncode or not total or not int(total[1]):
        raise RuntimeError(f'{function}: {run.stdout}{run.stderr}')
    return int(total[1]) / int(TIMES)


def check_what_it_costs_more():
    wrong = []
    for pair in PAIRS:
        plain, more, limit = pair.split(':')
        known, through = instructions(plain), instructions(more)
        print(f'# {plain} {known:.1f}, {more} {through:.1f}: {through - known:.1f} more')
        if COMPILER == 'gcc' and through - known > int(limit) + 0.05:
            wrong.append(f'{more} is {through - known:.1f} more than {plain}, limit {limit}')
    return wrong


if not shutil.which('valgrind'):
    print('1..0 # SKIP needs valgrind')
else:
    sys.exit(tap.report_checks(globals()))
