#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the README's table of costs: what bsn-perf cost --instructions counts on softcx.

usage: cost_table.py README SOFTCX BSN_PERF [--check]
  --check  writes nothing, and says as TAP which of Bunsen's figures have changed
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

BEGIN, END = '<!-- costs -->\n', '<!-- end of costs -->\n'

# Of another valgrind, or softcx of another day.
SLACK = 0.03

COLUMNS = {'bunsen': 'Bunsen', 'bsn_post': '`bsn_post()`', 'ibv_wr': '`ibv_wr_*`',
           'ibv': '`ibv_post_send` …'}

# Of each kind the cheapest and the dearest shapes, and some between them.
ROWS = {
    'write_sge': 'signaled WRITE, 8 B',
    'write_sge2': '2 SGEs',
    'write_sge4': '4 SGEs',
    'write_inline': 'inline, 8 B',
    'write_inline28': 'inline, 28 B',
    'write_inline64': 'inline, 64 B',
    'write_inline256': 'inline, 256 B',
    'write_prepared': 'prepared',
    'write_sge_hidden': 'flags not known to the compiler',
    'write_batch16_sge': 'one of a batch of 16',
    'write_batch16_sge2': 'one of a batch of 16, 2 SGEs',
    'write_batch16_inline64': 'one of a batch of 16, inline, 64 B',
    'read_sge2': 'READ, 2 SGEs',
    'send_inline64': 'SEND, inline, 64 B',
    'fetch_add': 'fetch and add',
    'ud_send_sge': 'UD SEND',
    'ud_send_sge2': 'UD SEND, 2 SGEs',
    'ud_send_inline32': 'UD SEND, inline, 32 B',
    'dc_write_sge': 'DC WRITE, to a peer that has its initiator',
    'dc_miss_write_sge': 'DC WRITE, to a peer that takes one',
    'post_recv': 'receive',
    'post_recv_sge2': 'receive, 2 SGEs',
    'post_recv_srq': 'receive, of an SRQ',
    'post_recv_16': 'one of 16 receives',
    'post_recv_srq_16': 'one of 16 receives, of an SRQ',
    'poll_1': 'poll that finds a WRITE done',
    'poll_16': 'poll that finds 16, each',
    'poll_512_qps': 'the same, 512 QPs in turn',
    'poll_256_qps_apart': 'the same, 256 QPs whose numbers are 16 apart',
    'poll_ud_send': 'poll that finds a UD SEND done',
    'poll_recv': 'poll that finds a message',
    'poll_recv_inline': 'poll that finds a message of 32 B in the CQE, and reads it',
    'poll_recv_srq': 'poll that finds a message, SRQ',
    'poll_ud_recv': 'poll that finds a message, UD',
    'poll_1_sessions': 'poll that finds a message whose CQE came compressed',
    'attached_poll_recv': 'poll that finds a message of 8 B in the CQE (attached)',
    'poll_empty': 'poll that finds none',
}


def measure(softcx, perf):
    out = subprocess.run([softcx, 'run', '--passive', '--fabric', f'costs-{os.getpid()}', '--',
                          perf, 'cost', '--rounds', '2',
                          '--instructions', '--store', '8x8', '--json', '--op', ','.join(ROWS)],
                         check=True, capture_output=True, text=True, timeout=240).stdout
    return {row['op']: row for row in json.loads(out)['rows']}


def cell(row, column):
    if column not in row:
        return ''
    count = row[column]['instructions']
    return f'{count:.0f}' if count >= 100 else f'{count:.1f}'.removesuffix('.0')


def table_of(rows):
    lines = ['| instructions per operation | ' + ' | '.join(COLUMNS.values()) + ' |',
             '|---' + '|--:' * len(COLUMNS) + '|']
    for op, title in ROWS.items():
        cells = [cell(rows[op], column) for column in COLUMNS]
        lines.append(f'| {title} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines) + '\n'


def figures(table):
    """Bunsen's figures, by row; those of libibverbs differ between machines."""
    rows = [[cell.strip() for cell in line.split('|')] for line in table.split('\n')[2:] if line]
    return {cells[1]: [float(cell or 0) for cell in cells[2:4]] for cells in rows}


def stale(written, counted):
    """Rows whose figures have changed."""
    was = figures(written)
    return [f'{row}: {was.get(row)} is {now}: ninja cost-table'
            for row, now in figures(counted).items()
            if row not in was or any(abs(a - b) > SLACK * b for a, b in zip(was[row], now))]


def main(readme, softcx, perf, check=None):
    path = pathlib.Path(readme)
    text = path.read_text(encoding='utf-8')
    if check and not shutil.which('valgrind'):
        print('1..0 # SKIP valgrind is not installed')
        return 0
    table = table_of(measure(softcx, perf))
    if check:
        return tap.report([("the README's costs are those that are counted",
                            stale(text.partition(BEGIN)[2].partition(END)[0], table))])
    path.write_text(re.sub(f'(?s)(?<={BEGIN}).*(?={END})', lambda _: table, text),
                    encoding='utf-8')
    return 0


sys.exit(main(*sys.argv[1:]))
