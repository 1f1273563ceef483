#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples of wqe-dump(1) do what the page shows, and there is one for each form of input.

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


def test_every_example(_bench):
    env = {**os.environ, 'PATH': f'{DUMP.parent}:{os.environ["PATH"]}', 'LC_ALL': 'C.UTF-8'}
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, typed, wanted in cases():
            done = subprocess.run(['bash', '-c', typed], env=env, cwd=folder, timeout=60,
                                  capture_output=True, text=True, check=False)
            check(matches(wanted, done.stdout) and not done.stderr,
                  f'{name}: {typed}printed\n{done.stdout}{done.stderr}not\n{wanted}')
            count += 1
    check(count > 8, f'only {count} examples')


def test_every_form_has_one(_bench):
    said = subprocess.run([DUMP, '--format', '?'], capture_output=True, text=True, timeout=60,
                          check=False).stderr
    forms = set(said.split('is none of: ')[1].split())
    forms -= {'cqe', 'cqe128', 'wqe', 'recv', 'recv-srq', 'recv-signed'}
    shown = {name for name, _ in sections()}
    check(forms <= shown, f'no example of {" ".join(sorted(forms - shown))}')


sys.exit(main(globals()))
