#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of wqe-dump(1) do what the page shows, and have each form of input.

usage: dump_manual.py PROGRAM PAGE

Lines that begin with "$ " are typed; what follows is printed. "..." stands for anything, alone in a
line for all that comes.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import check, main

DUMP, PAGE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])


def unescape(text):
    return text.replace('\\&', '').replace('\\-', '-').replace('\\e', '\\').replace('\\(aq', "'")


def sections():
    """Those of EXAMPLES: name, and the text of its example."""
    text = PAGE.read_text(encoding='utf-8').split('\n.SH EXAMPLES\n')[1].split('\n.SH ')[0]
    for part in ('\n' + text).split('\n.SS ')[1:]:
        name, _, body = part.partition('\n')
        for block in re.findall(r'^\.EX\n(.*?)^\.EE$', body, re.MULTILINE | re.DOTALL):
            yield unescape(name), unescape(block)


def cases():
    """Of all examples: the section, what is typed, what is to be printed."""
    for name, block in sections():
        for part in re.split(r'^\$ ', block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(True)
            end = lines.index('END\n') if '<<END' in lines[0] else 0
            yield name, ''.join(lines[:end + 1]), ''.join(lines[end + 1:])


def matches(wanted, printed):
    rest = wanted.endswith('\n...\n') or wanted == '...\n'
    wanted = wanted[:-4] if rest else wanted
    pattern = '.*'.join(re.escape(part) for part in wanted.split('...'))
    pattern = pattern.replace('\\ .*\\\n', '.*\\\n')  # " ..." may be nothing
    return re.fullmatch(pattern + ('(?s:.*)' if rest else ''), printed)


def shell(typed, folder):
    env = {**os.environ, 'PATH': f'{DUMP.parent}:{os.environ["PATH"]}', 'LC_ALL': 'C.UTF-8'}
    return subprocess.run(['bash', '-c', typed], env=env, cwd=folder, timeout=60,
                          capture_output=True, text=True, check=False)


def test_every_example(_bench):
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, typed, wanted in cases():
            done = shell(typed, folder)
            check(matches(wanted, done.stdout) and not done.stderr,
                  f'{name}: {typed}printed\n{done.stdout}{done.stderr}not\n{wanted}')
            count += 1
    check(count > 8, f'only {count} examples')


def test_every_form_is_shown(_bench):
    """Each form that --format knows is named, and some example is read as it."""
    page = ''.join(block for _, block in sections())
    with tempfile.TemporaryDirectory() as folder:
        said = shell('wqe-dump --format ?', folder).stderr.split('is none of: ')[1].split()
        read = ''.join(shell(typed.replace('--brief', '--json'), folder).stdout
                       for _, typed, _ in cases())
    forms = set(said) - {'cqe', 'cqe128', 'wqe', 'recv', 'recv-srq', 'recv-signed'}
    check(forms == set(re.findall(r'"source": "([^"]*)"', read)), read)
    unnamed = [form for form in forms - {'binary'} if not re.search(f'^{form}  ', page, re.M)]
    check(not unnamed, unnamed)


sys.exit(main(globals()))
