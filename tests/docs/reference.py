#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The reference of the headers is written without a warning, and nothing is lost. Speaks TAP.

usage: reference.py HEADER... -- COMMAND...

COMMAND: writes the reference of the headers, into the folder that is its next argument.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap
from declared import functions, layouts


def described(folder):
    """The text of each function, structure and enumeration, by its name."""
    found = {}
    for page in folder.glob('*.html'):
        text = page.read_text(encoding='utf-8')
        for part in text.split('<h2 class="memtitle">')[1:]:
            title = re.match(r'.*?</a></span>(\w+)', part)
            found[title[1]] = found.get(title[1], '') + part
        if page.name.startswith('struct'):
            found[re.search(r'<div class="title">(\w+)', text)[1]] = text
    return found


def lost(members, text):
    """Members that the text does not mention, by their last names; without those of a macro."""
    names = [re.search(r'\(\*(\w+)\)', member) or re.search(r'(\w+)(?:\[.*\]| : \d+)?$', member)
             for member in members if '(*' in member or '(' not in member]
    return [name[1] for name in names if name and not re.search(rf'\b{name[1]}\b', text)]


def main():
    headers, command = ' '.join(sys.argv[1:]).split(' -- ')
    headers, command = headers.split(), command.split()
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work, 'reference')
        ran = subprocess.run([*command, folder, *headers], capture_output=True, text=True,
                             check=False)
        text = described(folder) if folder.exists() else {}
    declared = '\n'.join(pathlib.Path(header).read_text(encoding='utf-8') for header in headers)
    bodies = layouts(declared)
    return tap.report([
        ('written without a warning',
         [ran.stdout + ran.stderr] if ran.returncode or ran.stderr else []),
        ('has each function', sorted(functions(declared) - set(text))),
        ('has each structure and enumeration, with its members',
         [f'{name}: {member}' for name in bodies
          for member in lost(bodies[name], text.get(name.split()[1], ''))]),
    ])


sys.exit(main())
