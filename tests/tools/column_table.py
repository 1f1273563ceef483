#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the README's table of a column of a matrix: what bsn-perf cost counts on softcx.

usage: column_table.py README SOFTCX BSN_PERF [--check]
  --check  writes nothing: whether the README says what is counted today
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tap  # noqa: E402

BEGIN, END = '<!-- column -->\n', '<!-- end of column -->\n'

HEAD = """| | instructions | bytes of WQEs | requests | what the NIC reads |
|---|--:|--:|--:|--:|
"""

SLACK = 0.03  # of instructions, whose compilers differ

# The name of each row, and the number of its requests.
ROWS = {
    'matrix_known': ('a layout that an mkey knows already', 1),
    'matrix_new': ('an mkey configured for it', 2),
    'matrix_packed': ('copied by hand, then written', 1),
    'matrix_sges': ('lists of 30 SGEs', 35),
    'matrix_rows': ('a request a row', 1024),
}


def run(softcx, perf, softcx_args, *args):
    out = subprocess.run([softcx, 'run', *softcx_args, '--fabric', f'column-{os.getpid()}', '--',
                          perf, 'cost', *args, '--columns', 'bunsen', '--json', '--op',
                          ','.join(ROWS)],
                         check=True, capture_output=True, text=True, timeout=240).stdout
    return json.loads(out)


def measure(softcx, perf):
    """Of each row its instructions, and under `bus` what it asks for."""
    counts = run(softcx, perf, ['--passive'], '--rounds', '2', '--instructions')['rows']
    bus = {row['op']: row['bunsen'] for row in run(softcx, perf, [], '--bus')['rows']}
    return {row['op']: dict(row['bunsen'], bus=bus[row['op']]) for row in counts}


def line_of(figures, title, requests):
    bus = figures['bus']
    reads, read_bytes = bus['payload_read'], bus['payload_read_bytes']
    each = read_bytes / reads
    read = f'{reads:.0f} x {each:.0f} B' if reads > 1 else f'{each / 1024:.0f} KB at once'
    wqes = bus['wqe_fetch_bytes'] + bus['blueflame_bytes']
    return (f'| {title} | {figures["instructions"]:,.0f} | {wqes:,.0f} | {requests} '
            f'| {read} |\n')


def figures(table):
    """By row: instructions, and the figures that must be exactly the same."""
    rows = [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in table.split('\n')[2:] if line]
    return {cells[0]: (float(cells[1].replace(',', '')), cells[2:]) for cells in rows}


def stale(written, counted):
    """Rows whose figures have changed."""
    was = figures(written)
    return [f'{row}: {was.get(row)} is {now}: ninja column-table'
            for row, now in figures(counted).items()
            if row not in was or was[row][1] != now[1]
            or abs(was[row][0] - now[0]) > SLACK * now[0]]


def main(readme, softcx, perf, check=None):
    path = pathlib.Path(readme)
    text = path.read_text(encoding='utf-8')
    if check and not shutil.which('valgrind'):
        print('1..0 # SKIP valgrind is not installed')
        return 0
    rows = measure(softcx, perf)
    table = HEAD + ''.join(line_of(rows[op], *ROWS[op]) for op in ROWS)
    if check:
        return tap.report([("the README's column costs what is counted",
                            stale(text.partition(BEGIN)[2].partition(END)[0], table))])
    path.write_text(re.sub(f'(?s)(?<={BEGIN}).*(?={END})', lambda _: table, text), encoding='utf-8')
    return 0


sys.exit(main(*sys.argv[1:]))
