#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial shows code that is compiled. Speaks TAP. usage: tutorial.py TUTORIAL SOURCE..."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

TEXT, *SOURCES = (pathlib.Path(path).read_text(encoding='utf-8') for path in sys.argv[1:])


def check_what_is_shown_is_compiled():
    shown = re.findall(r'^```c\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)
    return [f'not in the sources: {block}' for block in shown
            if block not in '\n'.join(SOURCES)] + ([] if shown else ['shows no code'])


sys.exit(tap.report_checks(globals()))
