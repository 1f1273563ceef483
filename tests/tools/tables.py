#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes one of the documents' tables: what is counted on softcx.

usage: tables.py costs|column|tutorial DOCUMENT SOFTCX PROGRAM [--check]
  costs     instructions of posts, polls and receives, by bsn-perf
  column    how a column of a matrix is written, by bsn-perf
  tutorial  instructions of a message in each step of the tutorial
  --check   writes nothing, and says as TAP which of Bunsen's figures have changed
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

COLUMNS = {'bunsen': 'Bunsen', 'bsn_post': '`bsn_post()`', 'ibv_wr': '`ibv_wr_*`',
           'ibv': '`ibv_post_send` …'}

# Of each kind the cheapest and the dearest shapes, and some between them.
COSTS = {
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

# The name of each row, and the number of its requests.
COLUMN = {
    'matrix_known': ('a layout that an mkey knows already', 1),
    'matrix_new': ('an mkey configured for it', 2),
    'matrix_packed': ('copied by hand, then written', 1),
    'matrix_sges': ('lists of 30 SGEs', 35),
    'matrix_rows': ('a request a row', 1024),
}


# Each step of the tutorial, of so many messages.
MESSAGES = 64
STEPS = {
    'verbs': 'verbs',
    'attached': 'the same queue pair, attached',
    'own': 'a queue pair of one\'s own',
    'batch': 'one completion and doorbell for 16',
    'inline': 'inline',
    'prepared': 'prepared',
    'many': 'polled for many',
}


class Meter:
    def __init__(self, softcx, program):
        self.softcx, self.program = softcx, program

    def run(self, *command, softcx_args=()):
        return tap.said(self.softcx, 'run', *softcx_args, '--fabric', f'tables-{os.getpid()}', '--',
                        *command)

    def rows(self, ops, *args, **more):
        out = self.run(self.program, 'cost', '--json', '--op', ','.join(ops), *args, **more)
        return {row['op']: row for row in json.loads(out)['rows']}

    def counts(self, ops, *args):
        return self.rows(ops, '--rounds', '2', '--instructions', *args, softcx_args=['--passive'])


# -- the tables: a head, and the cells of each row

def costs(meter):
    rows = meter.counts(COSTS, '--store', '8x8')

    def cell(op, column):
        if column not in rows[op]:
            return ''
        count = rows[op][column]['instructions']
        return f'{count:.0f}' if count >= 100 else f'{count:.1f}'.removesuffix('.0')

    return (['instructions per operation', *COLUMNS.values()],
            [[title, *(cell(op, column) for column in COLUMNS)] for op, title in COSTS.items()])


def column(meter):
    counts = meter.counts(COLUMN, '--columns', 'bunsen')
    asked = meter.rows(COLUMN, '--bus', '--columns', 'bunsen')

    def cells(op, title, requests):
        bus = asked[op]['bunsen']
        reads = bus['payload_read']
        each = bus['payload_read_bytes'] / reads
        return [title, f'{counts[op]["bunsen"]["instructions"]:,.0f}',
                f'{bus["wqe_fetch_bytes"] + bus["blueflame_bytes"]:,.0f}', str(requests),
                f'{reads:.0f} x {each:.0f} B' if reads > 1 else f'{each / 1024:.0f} KB at once']

    return (['', 'instructions', 'bytes of WQEs', 'requests', 'what the NIC reads'],
            [cells(op, *row) for op, row in COLUMN.items()])


def tutorial(meter):
    def instructions(step):
        """What it costs to post a message, and to poll its completion, with symbols looked up."""
        with tempfile.NamedTemporaryFile() as out:
            meter.run('env', 'LD_BIND_NOW=1', 'valgrind', '--tool=callgrind',
                      f'--callgrind-out-file={out.name}', '--toggle-collect=step_*',
                      meter.program, step, softcx_args=['--passive'])
            listing = tap.said('callgrind_annotate', '--auto=no', '--inclusive=yes',
                               '--threshold=100', out.name)
        return [int(re.search(rf'(?m)^ *([\d,]+) .*tutorial\.c:step_{what}_',
                              listing)[1].replace(',', '')) / MESSAGES for what in ('post', 'poll')]

    def cells(number, step, title):
        post, poll = instructions(step)
        return [f'{number}. {title}', f'{post:.1f}', f'{poll:.1f}', f'{post + poll:.0f}']

    return (['instructions a message', 'to post', 'to poll', 'together'],
            [cells(number, *step) for number, step in enumerate(STEPS.items(), 1)])


# Of each table: who makes it; which cells are Bunsen's instructions, and which must be the same;
# how much the former may differ, by another valgrind, compiler, C library, or softcx.
TABLES = {'costs': (costs, slice(1, 3), slice(0), 0.03),
          'column': (column, slice(1, 2), slice(2, None), 0.03),
          'tutorial': (tutorial, slice(1, None), slice(0), 0.05)}


def line_of(cells):
    return '|' + ''.join(f' {cell} |' for cell in cells).replace('  |', ' |') + '\n'


def written(head, rows):
    ruler = '|---' + '|--:' * (len(head) - 1) + '|\n'
    return line_of(head) + ruler + ''.join(map(line_of, rows))


def read(table):
    lines = [line.split('|')[1:-1] for line in table.split('\n')[2:] if line]
    return {cells[0].strip(): [cell.strip() for cell in cells] for cells in lines}


def stale(name, before, rows):
    """Rows whose figures have changed."""
    _, counted, exact, slack = TABLES[name]
    was = read(before)

    def is_close(a, b):
        a, b = (float(cell.replace(',', '') or 0) for cell in (a, b))
        return abs(a - b) <= slack * b

    wrong = [f'{cells[0]}: {was.get(cells[0])} is {cells}' for cells in rows
             if cells[0] not in was or was[cells[0]][exact] != cells[exact]
             or not all(map(is_close, was[cells[0]][counted], cells[counted]))]
    wrong += [f'{title}: is no row' for title in was if title not in {cells[0] for cells in rows}]
    return [f'{line}: ninja {name.removesuffix("s")}-table' for line in wrong]


def main(name, document, softcx, program, check=None):
    path = pathlib.Path(document)
    text = path.read_text(encoding='utf-8')
    begin, end = f'<!-- {name} -->\n', f'<!-- end of {name} -->\n'
    if check and not shutil.which('valgrind'):
        print('1..0 # SKIP valgrind is not installed')
        return 0
    head, rows = TABLES[name][0](Meter(softcx, program))
    if check:
        where = path.stem if path.stem == name else f'{name} of the {path.stem}'
        return tap.report([(f'the {where}: what is counted',
                            stale(name, text.partition(begin)[2].partition(end)[0], rows))])
    path.write_text(re.sub(f'(?s)(?<={begin}).*(?={end})', lambda _: written(head, rows), text),
                    encoding='utf-8')
    return 0


sys.exit(main(*sys.argv[1:]))
