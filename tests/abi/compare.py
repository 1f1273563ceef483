#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The libraries export what is described, by functions and types as described. Speaks TAP.

usage: compare.py [--write] HEADER... -- LIBRARY...

A description is written by abidw and compared by abidiff (libabigail), out of the debugging
information of a build by gcc on x86-64. `ninja -C build abi` writes those of this build: do that
for what was added, and for nothing else while the SONAME is the same (CONTRIBUTING.md, Versions).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

HERE = pathlib.Path(__file__).parent
SEEN = ['--exported-interfaces-only', '--suppressions', str(HERE / 'foreign.suppr')]
# Only what our headers show of types, and nothing of the machine that built. (abidiff 2.2 sees no
# field move if it is given the headers, too.)
SHORT = ['--drop-private-types', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs',
         '--no-parameter-names', '--no-elf-needed', '--no-write-default-sizes',
         '--type-id-style', 'hash']


def described(library):
    """libbunsen.so.1.0.0: libbunsen.xml"""
    return HERE / (os.path.basename(library).partition('.so')[0] + '.xml')


def write(library, headers):
    told = subprocess.run(['abidw', '--headers-dir', headers, *SEEN, *SHORT, library],
                          check=True, capture_output=True, text=True)
    described(library).write_text(told.stdout, encoding='utf-8')


def differences(library):
    run = subprocess.run(['abidiff', *SEEN, described(library), library],
                         check=False, capture_output=True, text=True)
    if not run.returncode:
        return []
    return [*(run.stdout + run.stderr).splitlines(),
            'Was something added? `ninja -C build abi` describes it. Was something changed? It may '
            'not be, while the SONAME is the same: see CONTRIBUTING.md, Versions.']


def main():
    arguments = sys.argv[1:]
    writes = arguments[0] == '--write'
    split = arguments.index('--')
    headers, libraries = arguments[writes:split], arguments[split + 1:]
    if not shutil.which('abidiff'):
        print('1..0 # SKIP no abidiff: tools/setup --all installs abigail-tools')
        return 0
    if not writes:
        return tap.report((f'{described(library).stem} is as described', differences(library))
                          for library in libraries)
    with tempfile.TemporaryDirectory() as folder: # a folder of public headers alone
        for header in headers:
            shutil.copy(header, folder)
        for library in libraries:
            write(library, folder)
    return 0


sys.exit(main())
