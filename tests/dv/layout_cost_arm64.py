#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What configuring an mkey costs on arm64 by layouts of 32 parts that are looked at each time, in the order of memory.
libmlx5 takes 942 for the list and 1131 for the interleaved ones, on x86-64. Speaks TAP.

usage: layout_cost_arm64.py PROGRAM COMPILER
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import qemu
import tap

PROGRAM, COMPILER = sys.argv[1:]
TIMES = (20, 100)


def check(what, limit):
    each = qemu.count_each(PROGRAM, what, TIMES) - qemu.count_each(PROGRAM, 'nothing', TIMES)
    print(f'# {each:.1f} instructions, limit {limit}')
    return [f'{each:.1f} instructions, limit {limit}'] if COMPILER == 'gcc' and each > limit else []


def check_list_of_32():
    return check('list', 375)


def check_interleaved_of_32():
    return check('entries', 438)


if not qemu.IS_THERE:
    print('1..0 # SKIP QEMU does not run this')
else:
    sys.exit(tap.report_checks(globals()))
