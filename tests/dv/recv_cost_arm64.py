#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a receive costs on arm64 that is posted with fifteen others, the ring's end included. Speaks TAP.

usage: recv_cost_arm64.py PROGRAM COMPILER
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import qemu
import tap

PROGRAM, COMPILER = sys.argv[1:]
LAPS = (2, 10)
RECEIVES = 64
LIMIT = 12


def check_receives_by_sixteen():
    each = qemu.count_each(PROGRAM, 'post', LAPS, RECEIVES) - qemu.count_each(PROGRAM, 'nothing', LAPS, RECEIVES)
    print(f'# {each:.1f} instructions, limit {LIMIT}')
    return [f'{each:.1f} instructions, limit {LIMIT}'] if COMPILER == 'gcc' and each > LIMIT else []


if not qemu.IS_THERE:
    print('1..0 # SKIP QEMU does not run this')
else:
    sys.exit(tap.report_checks(globals()))
