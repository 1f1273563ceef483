#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What 1 GB takes of the device's translations, on pages of each size.

usage: translations.py PROGRAM

tests/hugepages has reserved pages of 2 MB for it; one of 1 GB is reserved here and given back.
"""

import contextlib
import json
import os
import pathlib
import sys

from harness import check, main

PROGRAM = os.path.abspath(sys.argv[1])
POOL = pathlib.Path('/sys/kernel/mm/hugepages/hugepages-1048576kB')
TRANSLATIONS = {'plain': 1 << 18, 'hugetlb_2m': 1 << 9, 'hugetlb_1g': 1}


@contextlib.contextmanager
def one_page_of_1g():
    """True if there is one."""
    try:
        before = (POOL / 'nr_hugepages').read_text(encoding='ascii')
        (POOL / 'nr_hugepages').write_text(str(int(before) + 1), encoding='ascii')
    except OSError:
        yield False
        return
    try:
        yield int((POOL / 'free_hugepages').read_text(encoding='ascii')) > 0
    finally:
        (POOL / 'nr_hugepages').write_text(before, encoding='ascii')


def test_translations_of_1_gb(bench):
    with one_page_of_1g() as has_1g:
        sources = json.loads(bench.run(PROGRAM)[0])
    for name, count in TRANSLATIONS.items():
        source = sources[name]
        if name == 'hugetlb_1g' and not has_1g:
            why = '1048576 kB' if POOL.exists() else 'has no hugepages of 1073741824 bytes'
            check(why in source['why_not'], source)
        else:
            check(source.get('translations') == count, source)
    if not has_1g:
        print('# but for 1 GB: no such page is to be had')


sys.exit(main(globals()))
