#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the README's table of a column of a matrix: what bsn-perf layout counts and times on softcx.

usage: column_table.py README SOFTCX BSN_PERF
"""

import json
import pathlib
import re
import subprocess
import sys

BEGIN, END = '<!-- column -->\n', '<!-- end of column -->\n'

HEAD = """| | instructions | CPU, ns | bytes of WQEs | requests | what the NIC reads |
|---|--:|--:|--:|--:|--:|
"""

# What it is called, and how many requests it is.
ROWS = {
    'send_known': ('a layout that an mkey knows already', 1),
    'send_new': ('an mkey configured for it', 2),
    'send_packed': ('copied by hand, then written', 1),
    'send_sges': ('lists of 30 SGEs', 35),
    'send_rows': ('a request a row', 1024),
}


def measure(softcx, perf):
    out = subprocess.run([softcx, 'run', '--passive', '--', perf, 'layout', '--instructions',
                          '--json', '--op', ','.join(ROWS)],
                         check=True, capture_output=True, text=True, timeout=240).stdout
    return {row['op']: row['bunsen'] for row in json.loads(out)['rows']}


def line_of(figures, title, requests):
    bus = figures['bus']
    reads, read_bytes = bus['payload_read'], bus['payload_read_bytes']
    each = read_bytes / reads
    read = f'{reads:.0f} x {each:.0f} B' if reads > 1 else f'{each / 1024:.0f} KB at once'
    wqes = bus['wqe_fetch_bytes'] + bus['blueflame_bytes']
    return (f'| {title} | {figures["instructions"]:,.0f} | {figures["ns_p10"]:,.0f} | {wqes:,.0f} '
            f'| {requests} | {read} |\n')


def main(readme, softcx, perf):
    path = pathlib.Path(readme)
    rows = measure(softcx, perf)
    table = HEAD + ''.join(line_of(rows[op], *ROWS[op]) for op in ROWS)
    path.write_text(re.sub(f'(?s)(?<={BEGIN}).*(?={END})', lambda _: table,
                           path.read_text(encoding='utf-8')), encoding='utf-8')


main(*sys.argv[1:])
