#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints, for ninja, the targets that are installed and that the tests of all or some suites run.

usage: targets.py BUILD_DIR [SUITE...]
"""

import json
import os
import subprocess
import sys


def introspect(build, what):
    told = subprocess.run(['meson', 'introspect', f'--{what}', build], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(told.stdout)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        sys.exit(__doc__.strip())
    build, suites = os.path.abspath(sys.argv[1]), set(sys.argv[2:])
    wanted = {target for test in introspect(build, 'tests')
              if not suites or suites & {suite.split(':')[-1] for suite in test['suite']}
              for target in test['depends']}
    for target in introspect(build, 'targets'):
        if target['installed'] or target['id'] in wanted:
            print(*(os.path.relpath(name, build) for name in target['filename']))


if __name__ == '__main__':
    main()
