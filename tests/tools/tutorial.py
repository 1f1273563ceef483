#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial shows code that is compiled, and figures that are counted. Speaks TAP.

usage: tutorial.py COMPILER TUTORIAL SOFTCX PROGRAM SOURCE...
       tutorial.py --write TUTORIAL SOFTCX PROGRAM     writes the table
  COMPILER  gcc, where the figures hold: on x86-64, at -O2; else -
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

COMPILER, TUTORIAL, SOFTCX, PROGRAM, *SOURCES = sys.argv[1:]
PATH = pathlib.Path(TUTORIAL)
TEXT = PATH.read_text(encoding='utf-8')
BEGIN, END = '<!-- tutorial -->\n', '<!-- end of tutorial -->\n'
MESSAGES = 64
STEPS = {
    'verbs': 'verbs',
    'attached': 'the same queue pair, attached',
    'own': 'a queue pair of one\'s own',
    'batch': 'one completion and doorbell for 16',
    'inline': 'inline',
    'prepared': 'prepared',
    'many': 'polled for many',
}
# Of another libmlx5, or another valgrind's C library.
SLACK = 0.05


def instructions(step):
    """What it costs to post a message, and to poll its completion, with symbols looked up."""
    with tempfile.NamedTemporaryFile() as out:
        tap.said('env', 'LD_BIND_NOW=1', SOFTCX, 'run', '--passive', '--fabric',
                 f'tutorial-{os.getpid()}', '--', 'valgrind', '--tool=callgrind',
                 f'--callgrind-out-file={out.name}', '--toggle-collect=step_*', PROGRAM, step)
        listing = tap.said('callgrind_annotate', '--auto=no', '--inclusive=yes',
                           '--threshold=100', out.name)
    return [int(re.search(rf'^ *([\d,]+) .*tutorial\.c:step_{what}_', listing,
                          re.MULTILINE)[1].replace(',', ''))
            / MESSAGES for what in ('post', 'poll')]


def table():
    lines = ['| instructions a message | to post | to poll | together |', '|---|--:|--:|--:|']
    for number, (step, title) in enumerate(STEPS.items(), 1):
        post, poll = instructions(step)
        lines.append(f'| {number}. {title} | {post:.1f} | {poll:.1f} | {post + poll:.0f} |')
    return '\n'.join(lines) + '\n'


def check_what_is_shown_is_compiled():
    code = '\n'.join(pathlib.Path(source).read_text(encoding='utf-8') for source in SOURCES)
    shown = re.findall(r'^```c\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)
    return [f'not in the sources: {block}' for block in shown if block not in code] + (
        [] if shown else ['shows no code'])


def check_figures():
    if COMPILER != 'gcc' or not shutil.which('valgrind'):
        print('# not counted here')
        return []
    old, new = ([re.findall(r'[\d.]+(?= \|)', line) for line in text.split('\n')]
                for text in (TEXT.partition(BEGIN)[2].partition(END)[0], table()))
    return [f'{was} is {now}' for was, now in zip(old, new)
            if len(was) != len(now)
            or any(abs(float(a) - float(b)) > SLACK * float(b) for a, b in zip(was, now))
            ] + ([] if len(old) == len(new) else ['rows are missing'])


if COMPILER == '--write':
    counted = table()
    PATH.write_text(re.sub(f'(?s)(?<={BEGIN}).*(?={END})', lambda _: counted, TEXT),
                    encoding='utf-8')
else:
    sys.exit(tap.report_checks(globals()))
