#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes C strings of files, without their comments. usage: embed.py FILE.css FILE.js"""

import json
import pathlib
import re
import sys

for path in map(pathlib.Path, sys.argv[1:]):
    is_css = path.suffix == '.css'  # which needs no ends of lines
    text = re.sub(r'/\*[^*]*\*/|^//.*\n', '', path.read_text(), flags=re.MULTILINE)
    lines = [line.strip() if is_css else line + '\n' for line in text.splitlines()]
    print(f'static const char page_{path.suffix[1:]}[] =')
    print('\n'.join('\t' + json.dumps(line) for line in lines) + ';')
