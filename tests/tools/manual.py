#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each option of a program is in its manual page. usage: manual.py (PROGRAM PAGE)..."""

import re
import shutil
import subprocess
import sys

sys.path.insert(0, __file__.rsplit('/', 2)[0])
import tap

COMMANDS = {'bsn-perf': ['cost', 'dc', 'lat', 'bw'], 'bsn-info': [None],
            'wqe-dump': [None, 'explain', 'build']}


def options_of(program, command):
    args = [program] + ([command] if command else []) + ['--help']
    out = tap.said(*args)
    return set(re.findall(r'--[a-z-]+', out))


def missing(program, page):
    text = open(page, encoding='utf-8').read().replace('\\-', '-')
    name = page.rsplit('/', 1)[-1].removesuffix('.1')
    wrong = [f'{name}: {option} is not in {page}' for command in COMMANDS[name]
             for option in sorted(options_of(program, command)) if option not in text]
    if shutil.which('groff'):
        out = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', page], capture_output=True,
                             text=True, timeout=30)
        wrong += out.stderr.split('\n')[:-1]
    return wrong


sys.exit(tap.report((page.rsplit('/', 1)[-1], missing(program, page))
                    for program, page in zip(sys.argv[1::2], sys.argv[2::2])))
