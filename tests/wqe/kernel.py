#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the kernel's definitions of segments and CQEs with ours: compiles and runs test_kernel.c
with the structures of the installed kernel headers. Speaks TAP.

usage: kernel.py TEST_KERNEL_C LIBRARY FLAG...
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE, LIBRARY, *FLAGS = sys.argv[1:]
HEADERS = 'linux-headers-*/include/linux/mlx5'
TYPES = ''.join(f'typedef uint{bits}_t u{bits}; typedef uint{bits}_t __be{bits};\n'
                for bits in (8, 16, 32, 64))
USED = ('wqe_fmr_seg', 'wqe_xrc_seg', 'wqe_masked_atomic_seg', 'seg_set_psv', 'seg_get_psv',
        'seg_check_psv', 'rwqe_sig', 'bsf_inl', 'bsf', 'wqe_eth_seg', 'cqe64', 'sig_err_cqe')


def find(folder, name):
    """The text of a structure in one of the headers."""
    for header in 'qp.h', 'device.h':
        found = re.search(rf'^struct mlx5_{name} {{\n.*?^}}.*?;\n', (folder / header).read_text(),
                          re.MULTILINE | re.DOTALL)
        if found:
            return found[0].replace('DECLARE_FLEX_ARRAY(u8, data);', '')
    raise SystemExit(f'{folder} has no struct mlx5_{name}')


def main():
    folders = sorted(pathlib.Path('/usr/src').glob(HEADERS))
    if not folders:
        print('1..0 # SKIP no headers of the kernel: install linux-headers-amd64, or -arm64')
        return 0
    print(f'# {folders[-1]}', flush=True)
    text = '#define __packed __attribute__((packed))\n' + TYPES
    text += ''.join(find(folders[-1], name) for name in USED)
    with tempfile.TemporaryDirectory() as work:
        pathlib.Path(work, 'kernel_structs.h').write_text(text, encoding='utf-8')
        program = f'{work}/test_kernel'
        subprocess.run(['cc', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', f'-I{work}', *FLAGS,
                        SOURCE, '-o', program, LIBRARY, '-lcmocka'], check=True)
        return subprocess.run([program], check=False, timeout=60).returncode


sys.exit(main())
