#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Meson's summary names each part that is not built, and what the build lacks for it. Speaks TAP.

usage: summary.py MESON SOURCE_ROOT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

MESON, ROOT = sys.argv[1:]
# What the build can do without: as pkg-config names it, and as the summary does.
LIBRARIES = {'popt': 'popt', 'json-c': 'json-c', 'libelf': 'libelf', 'libmnl': 'libmnl',
             'librdmacm': 'librdmacm', 'libdpdk': 'libdpdk', 'cmocka': 'cmocka',
             'pmix': 'libpmix', 'ompi-c': 'libopenmpi'}
WANTED = {
    'libbunsen': 'yes',
    'libbunsen-eal': 'no, for want of libdpdk',
    'libbunsen-ucm': 'no, as asked',
    'softcx': 'no, for want of popt',
    'bsn-info, bsn-perf, wqe-dump': 'no, for want of popt, json-c, libelf, libmnl, librdmacm',
    'the example attach_cm': 'no, for want of librdmacm',
    'the example allreduce beside Open MPI': 'no, for want of libpmix, libopenmpi',
    'the example owned': 'no, for want of a C++ compiler',
    'reference of the headers': 'no, as asked',
    'tests': 'no, for want of cmocka',
}


def set_up_without_any(folder):
    """The summary, as {NAME: ANSWER}, of a build that finds none of what it can do without."""
    found = tap.said('pkg-config', '--variable', 'pc_path', 'pkg-config').strip().split(':')
    kept = folder / 'pkgconfig'
    kept.mkdir()
    for path in (path for directory in found for path in pathlib.Path(directory).glob('*.pc')):
        if path.stem not in LIBRARIES and not (kept / path.name).exists():
            (kept / path.name).symlink_to(path)
    native = folder / 'native.ini'
    native.write_text("[binaries]\ncmake = '/nonexistent'\ncpp = '/nonexistent'\n")
    env = {**os.environ, 'PKG_CONFIG_LIBDIR': str(kept)}
    env.pop('PKG_CONFIG_PATH', None)
    env.pop('CXX', None)
    run = subprocess.run([MESON, 'setup', '--native-file', native, '-Ducm=disabled',
                          '-Dreference=disabled', folder / 'build', ROOT],
                         env=env, capture_output=True, text=True, check=False)
    if run.returncode:
        return {'meson setup': run.stdout[-2000:] + run.stderr}
    summary = run.stdout[run.stdout.index('What is built'):].partition('User defined options')[0]
    rows = re.findall(r'^ +(.+?) *: (.*)$', summary, re.MULTILINE)
    return {name.strip(): answer.strip() for name, answer in rows}


def main():
    with tempfile.TemporaryDirectory() as folder:
        got = set_up_without_any(pathlib.Path(folder))
    return tap.report([
        ('what is not built is named, and for want of what',
         [f'{name}: {got.get(name)}, not {WANTED.get(name)}'
          for name in sorted(WANTED.keys() | got.keys())
          if got.get(name) != WANTED.get(name)])])


sys.exit(main())
