# SPDX-License-Identifier: BSD-2-Clause
"""Counts the instructions of a program in a cross build: QEMU, which runs it, writes a line for each."""

import os
import shlex
import subprocess
import tempfile

WRAPPER = shlex.split(os.environ.get('MESON_EXE_WRAPPER', ''))
IS_THERE = bool(WRAPPER) and 'qemu' in WRAPPER[0]


def _count_by(option, program, args):
    """All instructions of a run; None: QEMU has another name for the option."""
    with tempfile.NamedTemporaryFile() as log:
        run = subprocess.run([WRAPPER[0], option, '-d', 'exec,nochain', '-D', log.name, *WRAPPER[1:], program, *args],
                             env=dict(os.environ, LD_BIND_NOW='1'), capture_output=True, timeout=60, check=False)
        if run.returncode:
            return None
        with open(log.name, encoding='utf-8', errors='replace') as lines:
            return sum(line.startswith('Trace') for line in lines)


def count_each(program, what, times, of_each=1):
    """Of one of what the program does, of_each of them a time; QEMU 8.1 gave the option its longer name."""
    for option in ('-one-insn-per-tb', '-singlestep'):
        few, many = (_count_by(option, program, (what, str(n))) for n in times)
        if few and many:
            return (many - few) / (times[1] - times[0]) / of_each
    raise RuntimeError(f'{program} does not run under {WRAPPER[0]}')
