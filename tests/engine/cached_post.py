#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a post through the cache of registrations costs more than one with a known key, by valgrind. Speaks TAP.

usage: cached_post.py PROGRAM [COMPILER]
  COMPILER  gcc, where the limits hold: on x86-64, at -O2
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

PROGRAM = sys.argv[1]
HAS_LIMITS = sys.argv[2:] == ['gcc']

# Instructions more, in functions that post once, and in loops, whose code the slow path shares registers with.
LIMITS = {('call_known', 'call_cached'): 10, ('post_known', 'post_cached'): 13}
POSTS = {'call_known': 16 * 64, 'call_cached': 16 * 64, 'post_known': 16 * 64, 'post_cached': 16 * 64}


def instructions(function):
    """Of one post, all that it calls included."""
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}',
                              '--collect-atstart=no', f'--toggle-collect={function}', PROGRAM],
                             capture_output=True, text=True, timeout=100, check=False)
        total = re.search(r'^(?:summary|totals): (\d+)', pathlib.Path(out.name).read_text(encoding='utf-8'),
                          re.MULTILINE)
    if run.returncode or not total or not int(total[1]):
        raise RuntimeError(f'{function}: {run.stdout}{run.stderr}')
    return int(total[1]) / POSTS[function]


def check_a_post_through_the_cache():
    wrong = []
    for (known, cached), limit in LIMITS.items():
        plain, through = instructions(known), instructions(cached)
        print(f'# {known} {plain:.1f}, {cached} {through:.1f}: {through - plain:.1f} more')
        if not plain < through or (HAS_LIMITS and through - plain > limit + 0.05):
            wrong.append(f'{cached} is {through - plain:.1f} more than {known}, limit {limit}')
    return wrong


if not shutil.which('valgrind'):
    print('1..0 # SKIP needs valgrind')
else:
    sys.exit(tap.report_checks(globals()))
