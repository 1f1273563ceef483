#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A thread that waits awake uses what each CPU offers: looks at the disassembly. Speaks TAP.

usage: idle.py OBJDUMP LIBBUNSEN
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

# The instruction that watches the line has to come before the one that rests.
PAIRS = {'x86-64': [('umonitor', 'umwait'), ('monitorx', 'mwaitx')], 'aarch64': [('ldaxrb', 'wfe')]}


def disassembly():
    run = subprocess.run([sys.argv[1], '-d', '--no-show-raw-insn', sys.argv[2]],
                         capture_output=True, text=True, timeout=100, check=True)
    head, *functions = run.stdout.split('\n\n')
    return head + '\n'.join(f for f in functions
                            if '<bsn_cq_idle>:' in f or '<rest' in f.split('\n')[0])


def check_each_way_to_rest():
    text = disassembly()
    arch = next(name for name in PAIRS if name in text)
    return [f'no {watch} with a {rest} after it' for watch, rest in PAIRS[arch]
            if not -1 < text.find(f'\t{watch}') < text.find(f'\t{rest}')]


sys.exit(tap.report_checks(globals()))
