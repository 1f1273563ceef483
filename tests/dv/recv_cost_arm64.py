#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a receive costs on arm64 that is posted with fifteen others, the ring's end included: QEMU, which runs the
program in a cross build, writes a line for each instruction. Speaks TAP.

usage: recv_cost_arm64.py PROGRAM COMPILER
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

PROGRAM, COMPILER = sys.argv[1:]
WRAPPER = shlex.split(os.environ.get('MESON_EXE_WRAPPER', ''))
LAPS = (2, 10)
RECEIVES = (LAPS[1] - LAPS[0]) * 64
LIMIT = 12


def count_all(option, *args):
    """All instructions of a run; None: QEMU has another name for the option."""
    with tempfile.NamedTemporaryFile() as log:
        run = subprocess.run([WRAPPER[0], option, '-d', 'exec,nochain', '-D', log.name, *WRAPPER[1:], PROGRAM, *args],
                             env=dict(os.environ, LD_BIND_NOW='1'), capture_output=True, timeout=60, check=False)
        if run.returncode:
            return None
        with open(log.name, encoding='utf-8', errors='replace') as lines:
            return sum(line.startswith('Trace') for line in lines)


def count_each(what):
    """Of a receive; QEMU 8.1 gave the option its longer name."""
    for option in ('-one-insn-per-tb', '-singlestep'):
        few, many = (count_all(option, what, str(laps)) for laps in LAPS)
        if few and many:
            return (many - few) / RECEIVES
    raise RuntimeError(f'{PROGRAM} does not run under {WRAPPER[0]}')


def check_receives_by_sixteen():
    each = count_each('post') - count_each('nothing')
    print(f'# {each:.1f} instructions, limit {LIMIT}')
    return [f'{each:.1f} instructions, limit {LIMIT}'] if COMPILER == 'gcc' and each > LIMIT else []


if not WRAPPER or 'qemu' not in WRAPPER[0]:
    print('1..0 # SKIP QEMU does not run this')
else:
    sys.exit(tap.report_checks(globals()))
