#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What posts, polls and receives may cost: one table, of what bsn-perf cost measures on softcx.

usage: limits.py COMPILER SOFTCX BSN_PERF [RULE ...]
  COMPILER  gcc or clang, at -O2 for x86-64
  RULE      such as dc_hits: only rules whose names end so

The store is that of 8 x 8 B. Each case is a rule of the table and says how its rows keep it, the
worst first. Rules come in that order, too.
"""

import functools
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
from collections import namedtuple

SLACK = {'gcc': 1.1, 'clang': 1.15}[sys.argv[1]]
SHOWN, SHOWN_OVER = 3, 12  # rows of a rule that is kept, and of one that is not
# Times are medians of so many processes: where the loader put code and data makes more difference
# than a process's rounds do.
PROCESSES, ROUNDS = 25, 20
PROCESSES_OF_SIZES = 5
README = pathlib.Path(__file__).resolve().parents[2] / 'README.md'

# -- instructions of Bunsen's inline code

WRITE, READ, SEND, HIDDEN, PREPARED = 56, 58, 50, 72, 42
SGES = {1: 0, 2: 75, 3: 94, 4: 112}
KNOWN = {8: 58, 64: 90}  # inline data of a known length; between the two in proportion
TINY = 64                # of a length that it does not know, up to TINY_BYTES
TINY_BYTES = 12
TWO_BLOCKS = 2 * 64 - 36  # the data of a WRITE
BATCH, BATCH_2 = 43, 60
RECEIVES = {'post_recv': 32, 'post_recv_sge2': 52, 'post_recv_srq': 64, 'post_recv_16': 24,
            'post_recv_srq_16': 24}
POLLS = {
    'poll_1': 46, 'poll_16': 38, 'poll_empty': 12,
    'poll_512_qps': 46, 'poll_256_qps_apart': 46, 'attached_poll_1': 46,
    'poll_recv': 70, 'poll_recv_16': 70, 'poll_recv_imm': 70, 'poll_recv_data': 78,
    'poll_recv_srq': 95, 'poll_recv_srq_16': 95, 'poll_ud_recv': 120, 'poll_ud_send': 120,
    'poll_recv_inline': 105, 'poll_recv_inline_16': 105, 'attached_poll_recv': 105,
}

# -- shares of what libmlx5 takes for the same

ALONE, IN_BATCHES, LONG_DATA = 0.85, 1.0, 1.5  # instructions of every other post
LONG_BYTES = 192
HOT_INLINE, HOT, HOT_BATCH, HOT_QPS = 0.5, 0.85, 1.0, 0.75
COLD_INLINE, COLD, COLD_POLL, COLD_OTHER_POLL = 0.4, 0.8, 0.5, 1.0
VERBS = 1.6

# -- differences, and lines of code

HIT, HIT_GRH, HIT_READS, MISS, COMPRESSED = 45, 60, 130, 220, 30
LINES_INLINE, LINES, LINES_LONG = 10, 20, 26
LONG_LINES_BYTES = 128
LINES_OF_OTHERS = {
    LINES_INLINE: ['poll_1', 'poll_empty', 'poll_recv', 'post_recv'],
    LINES: ['post_recv_sge2', 'post_recv_srq', 'poll_recv_srq', 'poll_ud_recv', 'poll_ud_send',
            'poll_recv_inline'],
}
PLAIN_POLLS = ['poll_1', 'poll_16', 'poll_empty', 'poll_recv', 'poll_recv_16', 'poll_recv_imm',
               'poll_recv_data', 'poll_512_qps', 'poll_256_qps_apart', 'attached_poll_1']

# -- receives, on queue pairs that take turns: what a wait takes more than a poll, a completion of
# a session more than a whole CQE

TURNS = 'post_recv_16_qps', 24  # a receive, in batches of 16
DIFFERENCES = {
    'poll_16_sessions': ('poll_recv_16', 30),
    'poll_1_sessions': ('poll_recv', 30),
    'wait_1': ('poll_1', 50),
    'wait_1_hidden': ('poll_1_hidden', 31),
}

# -- layouts: parts of what libmlx5 takes to configure an mkey by the same list

IN_ORDER = ['list_1', 'list_4', 'list_5', 'list_8', 'list_31', 'list_32', 'list_33', 'list_48',
            'list_32_two_keys', 'rounds_1', 'rounds_4', 'rounds_31', 'rounds_32']
IN_DISORDER = ['list_4_shuffled', 'list_32_shuffled', 'rounds_32_shuffled']
LAYOUTS = IN_ORDER + IN_DISORDER + ['list_16', 'pages_4', 'pages_32']
CONFIGURED, MAPPED_FIRST, CHECKED, CHECKED_IN_DISORDER = 0.75, 0.9, 2.0, 4.0
OF_LIBMLX5 = {
    'configure': dict.fromkeys(LAYOUTS, CONFIGURED),
    'map_new': dict.fromkeys(IN_ORDER + IN_DISORDER, MAPPED_FIRST),
    # Of two keys there is twice the memory to look for; a list that fits one request is made as
    # SGEs, too.
    'check': {**dict.fromkeys(IN_ORDER, CHECKED),
              **dict.fromkeys(IN_DISORDER, CHECKED_IN_DISORDER),
              'list_32_two_keys': 2.2, 'list_16': 2.3},
}
# Instructions of Bunsen's: a layout is mapped that has its mkey, and sent.
MAPPED = {'map_known': 55, 'unmap': 30, 'matrix_known': 160}
SENT_NEW = 1.0
LIBMLX5 = 300, 1500  # what all is measured by: to configure an mkey by list_32
# What the README promises: a pattern, and the number in it.
PROMISES = {
    r'at most (\d+) % of libmlx5': round(100 * CONFIGURED),
    r'That takes at most (\d) times': round(CHECKED),
    r'and (\d) times if its parts are not in the order': round(CHECKED_IN_DISORDER),
}

# Rows that are no usual ones: more lengths of inline data.
LENGTHS = {
    'write_inline': (1, 4, 60, 92, 140, 188), 'send_inline': (1, 4, 60, 92, 140, 188),
    'write_imm_inline': (64,), 'write_batch16_inline': (28, 128), 'ud_send_inline': (12, 32, 64),
    'dc_write_inline': (12, 28, 64, 128, 192, 256), 'dc_send_inline': (12, 64),
}
MORE = [f'{base}{length}' for base, lengths in LENGTHS.items() for length in lengths]
# What goes to a peer by a vector with a GRH, on RoCE.
DC = ['write_sge', 'write_sge2', 'write_sge4', 'write_inline', 'write_inline64', 'write_imm',
      'read', 'send', 'send_inline64', 'fetch_add', 'cmp_swap', 'write_prepared']
WAYS = 'bunsen', 'symbol', 'bsn_post'
BOTH = 'bunsen', 'bsn_post'

# Else a program cannot empty its caches.
HAS_COLD = 'clflushopt' in pathlib.Path('/proc/cpuinfo').read_text(encoding='ascii')

DATA_ARE_COLD = '512_qps', '256_qps_apart'
QPS_ROWS = {'post': 'write_512_qps', 'poll': 'poll_512_qps'}

Found = namedtuple('Found', 'what value limit')


class Row:
    """What a row's name says."""

    def __init__(self, name):
        self.name = name
        self.is_post = not name.startswith(('poll', 'post_recv', 'attached_poll'))
        self.is_batch = '_batch16' in name
        self.is_once = name.endswith(('_last', '_first'))
        self.has_turns = '512_qps' in name  # and a ring's end in 16 posts; its data are cold
        data = re.search(r'inline(\d*)', name)
        self.bytes = int(data[1] or 8) if data else 0
        sges = re.search(r'sge(\d)', name)
        self.sges = int(sges[1]) if sges else 1
        self.is_known = name.endswith('_length')
        self.is_hidden = name.endswith('_hidden')

    def is_inline(self):
        """Whether the code is in the program: on a queue of one peer, all but flags is known."""
        if not self.is_post or self.name.startswith(('ud_', 'xrc_', 'dc_', 'fetch', 'cmp')):
            return False
        if self.bytes:
            most = TWO_BLOCKS if self.is_known else TINY_BYTES
            return self.bytes <= most and not self.is_hidden
        return not self.is_hidden or self.sges == 1

    def limit(self):
        """Instructions of the inline code."""
        if self.is_batch:
            return TINY if self.bytes else BATCH if self.sges == 1 else BATCH_2
        if self.is_hidden:
            return HIDDEN
        if 'prepared' in self.name:
            return PREPARED
        if self.bytes:
            return known_limit(self.bytes) if self.is_known else TINY
        if self.sges > 1:
            return SGES[self.sges]
        return READ if 'read' in self.name else SEND if 'send' in self.name else WRITE


def known_limit(length):
    (few, least), (many, most) = KNOWN.items()
    return least + (most - least) * (max(length, few) - few) / (many - few)


# -- measuring

class Meter:
    def __init__(self, softcx, perf):
        self.softcx = [softcx, 'run', '--passive', '--fabric', f'limits-{os.getpid()}', '--link']
        self.perf = [perf, 'cost', '--json', '--store', '8x8']

    def run(self, *args, link='ib'):
        out = subprocess.run([*self.softcx, link, '--', *self.perf, *args], check=True,
                             stdout=subprocess.PIPE, text=True, timeout=280).stdout
        return json.loads(out)

    def rows(self, *args, link='ib'):
        return {row['op']: row for row in self.run(*args, link=link)['rows']}

    def counts(self):
        columns = ','.join((*WAYS, 'verbs', 'ibv_wr', 'ibv'))
        args = '--rounds', '1', '--instructions', '--lines', '--columns', columns
        return self.rows(*args) | self.rows(*args, '--op', ','.join(MORE))

    def counts_with_grh(self):
        ops = DC + [f'dc_{name}' for name in DC]
        return self.rows('--rounds', '1', '--instructions', '--columns', ','.join(BOTH),
                         '--op', ','.join(ops), link='roce')

    def receives(self, qps):
        return self.run('--rounds', '1', '--instructions', '--columns', 'bunsen', '--depth', '64',
                        '--op', 'receives', '--qps', qps)['sizes']

    def layouts(self):
        return self.rows('--rounds', '1', '--instructions', '--columns', 'bunsen,ibv_wr',
                         '--op', 'layouts')

    def times(self, ops):
        cold = ['--cold'] if HAS_COLD else []
        columns = ','.join((*WAYS, 'ibv_wr', 'ibv'))
        return self.rows('--rounds', str(ROUNDS), *cold, '--columns', columns,
                         '--op', ','.join(ops))

    def sizes(self):
        columns = 'bunsen,ibv_wr,ibv'
        return self.run('--rounds', '60', '--columns', columns, '--qps', '1024,4096')['sizes']


def medians(runs):
    """Of each row, column and figure the median of several processes: addresses differ."""
    return {op: {column: {name: statistics.median(run[op][column][name] for run in runs)
                          for name in figures}
                 for column, figures in row.items() if column != 'op'}
            for op, row in runs[0].items()}


# -- the rules; each gives what it found

def posts(rows):
    return [row for row in map(Row, rows) if row.is_post and not row.is_once]


def share(rows, name, way, other, figure, limit):
    mine, theirs = rows[name].get(way, {}).get(figure), rows[name].get(other, {}).get(figure)
    if mine is None or not theirs:
        return []
    return [Found(f'{name} by {way}: {mine:g}, {other} {theirs:g}', mine / theirs, limit)]


def share_of_time(runs, name, way, other, figure, limit):
    """The median of each process's share."""
    shares = [found.value for run in runs for found in share(run, name, way, other, figure, limit)]
    return [Found(f'{name} by {way}, of {other}', statistics.median(shares), limit)] if shares \
        else []


def rule_instructions_of_inline_posts(counts):
    return [Found(row.name, counts[row.name]['bunsen']['instructions'], row.limit())
            for row in posts(counts) if row.is_inline() and not row.has_turns]


def rule_instructions_of_receives_and_polls(counts):
    return [Found(name, counts[name]['bunsen']['instructions'], limit)
            for name, limit in (RECEIVES | POLLS).items()]


def rule_instructions_of_other_posts(counts):
    """And of those by bsn_post() and by the library's symbols."""
    found = []
    for row in posts(counts):
        limit = LONG_DATA if row.bytes > LONG_BYTES else IN_BATCHES if row.is_batch else ALONE
        for way in WAYS:
            if not (way == 'bunsen' and row.is_inline()):
                found += share(counts, row.name, way, 'ibv_wr', 'instructions', limit)
    return found


def rule_instructions_of_other_polls(counts):
    found = []
    for name in counts:
        if name.startswith(('poll', 'attached_poll')):
            for way in 'bunsen', 'symbol':
                found += share(counts, name, way, 'ibv', 'instructions', 1)
    return found


def more_than(counts, name, plain, way, limit):
    a, b = counts[name].get(way), counts[plain].get(way)
    if not a or not b:
        return []
    more = a['instructions'] - b['instructions']
    return [Found(f'{name} by {way}, more than {plain}', more, limit)]


def hits(counts, limit):
    """By bsn_post(), and where RC is out of line, too, by Bunsen's functions."""
    found = []
    for name in filter(re.compile('dc_(?!miss|limited)').match, counts):
        plain = name.removeprefix('dc_')
        if plain in counts:
            found += more_than(counts, name, plain, 'bsn_post', limit)
            if not Row(plain).is_inline():
                found += more_than(counts, name, plain, 'bunsen', limit)
    return found


def rule_instructions_of_dc_hits(counts):
    return hits(counts, HIT)


def rule_instructions_of_dc_hits_with_a_limit_of_reads(counts):
    """By bsn_post(), which is out of line in both."""
    found = []
    for name in counts:
        if name.startswith('dc_limited_'):
            plain = name.removeprefix('dc_limited_')
            found += more_than(counts, name, plain, 'bsn_post', HIT_READS)
    return found


def rule_instructions_of_dc_misses(counts):
    found = []
    for name in filter(re.compile('dc_miss_').match, counts):
        hit = re.sub('_(hashed|streams)$', '', name.replace('dc_miss_', 'dc_'))
        for way in BOTH:
            found += more_than(counts, name, hit, way, MISS)
    return found


def rule_instructions_of_compressed_cqes(counts):
    found = []
    for name in counts:
        if '_sessions' in name:
            plain = 'poll_recv_16' if '16' in name else 'poll_recv'
            found += more_than(counts, name, plain, 'bunsen', COMPRESSED)
    return found


def rule_instructions_of_plain_verbs(counts):
    """Beside ibv_post_send() and ibv_poll_cq(), which most programs call; else extended ones."""
    found = []
    for name, row in counts.items():
        if not Row(name).is_once:
            other = 'ibv' if 'ibv' in row else 'ibv_wr'
            found += share(counts, name, 'verbs', other, 'instructions', VERBS)
    return found


def rule_lines_of_code(counts):
    found = []
    for row in posts(counts):
        for way in WAYS:
            if row.is_batch or row.name.startswith('dc_miss') or way not in counts[row.name]:
                continue
            limit = LINES_LONG if row.bytes > LONG_LINES_BYTES else LINES
            if way == 'bunsen' and row.is_inline():
                limit = LINES_INLINE
            found.append(Found(f'{row.name} by {way}', counts[row.name][way]['lines'], limit))
    for limit, names in LINES_OF_OTHERS.items():
        found += [Found(name, counts[name]['bunsen']['lines'], limit) for name in names]
    return found


def rule_instructions_of_dc_hits_with_a_grh(grh):
    return hits(grh, HIT_GRH)


def receives_of(sizes):
    found = []
    for size in sizes:
        qps = size['qps']
        rows = {row['op']: row['bunsen']['instructions'] for row in size['rows']}
        for name, (plain, limit) in DIFFERENCES.items():
            more = rows[name] - rows[plain]
            what = f'{name} of {qps} QPs, more than {plain}'
            # Whole CQEs that are polled one by one cost no more: then there are no sessions.
            is_none = name == 'poll_1_sessions' and more <= 1
            found.append(Found(what, math.inf if is_none else more, limit))
        if qps > 1:
            found.append(Found(f'{TURNS[0]} of {qps} QPs', rows[TURNS[0]], TURNS[1]))
    return found


def rule_instructions_of_receives_in_turn(receives):
    return receives_of(receives)


def rule_instructions_of_receives_of_1024_qps(many_receives):
    return receives_of(many_receives)


def rule_instructions_of_layouts(layouts):
    return [Found(f'{verb}_{layout}', layouts[f'{verb}_{layout}']['bunsen']['instructions'] /
                  layouts[f'configure_{layout}']['ibv_wr']['instructions'], limit)
            for verb, limits in OF_LIBMLX5.items() for layout, limit in limits.items()]


def rule_instructions_of_known_layouts(layouts):
    return [*share(layouts, 'matrix_new', 'bunsen', 'ibv_wr', 'instructions', SENT_NEW),
            *(Found(name, layouts[name]['bunsen']['instructions'], limit)
              for name, limit in MAPPED.items())]


def rule_instructions_of_libmlx5_for_layouts(layouts):
    """As its authors compiled it, in a wide margin."""
    least, most = LIBMLX5
    count = layouts['configure_list_32']['ibv_wr']['instructions']
    return [Found('configure_list_32', count if count > least else math.inf, most)]


def rule_readme_promises_of_layouts(readme):
    found = []
    for pattern, promised in PROMISES.items():
        said = re.search(pattern, readme)
        found.append(Found(pattern, 0 if said and int(said[1]) == promised else math.inf, 1))
    return found


def rule_time_hot(times):
    found = []
    for row in posts(times[0]):
        for way in WAYS:
            inline = way == 'bunsen' and row.is_inline()
            limit = HOT_BATCH if row.is_batch else HOT_INLINE if inline else HOT
            found += share_of_time(times, row.name, way, 'ibv_wr', 'ns', limit)
    for name in times[0]:
        if not Row(name).is_post:
            found += share_of_time(times, name, 'bunsen', 'ibv', 'ns', HOT)
    return found


def rule_time_cold(times):
    found = []
    for row in posts(times[0]):
        for way in WAYS:
            limit = COLD_INLINE if way == 'bunsen' and row.is_inline() else COLD
            if not row.is_batch and not row.has_turns:
                found += share_of_time(times, row.name, way, 'ibv_wr', 'cold_ns', limit)
    for name in times[0]:
        if not Row(name).is_post and not name.endswith(DATA_ARE_COLD):
            limit = COLD_POLL if name in PLAIN_POLLS else COLD_OTHER_POLL
            if name.startswith('post_recv'):
                limit = COLD
            found += share_of_time(times, name, 'bunsen', 'ibv', 'cold_ns', limit)
    return found


def rule_time_of_many_qps(sizes):
    """Tenth percentiles, beside the faster one of libmlx5's two ways."""
    found = []
    for qps, size in sizes.items():
        for way, row in QPS_ROWS.items():
            mine, *theirs = (size[row][side] for side in ('bunsen', 'ibv', 'ibv_wr'))
            what = f'{way} of {qps} QPs: {mine:g}, libmlx5 {min(theirs):g}'
            found.append(Found(what, mine / min(theirs), HOT_QPS))
    return found


# -- all of it

def is_over(found):
    return found.value > found.limit * SLACK


def share_of_limit(found):
    return found.value / found.limit


def time_sizes(meter):
    """The tenth percentiles of each number of QPs, by row and side."""
    runs = [{size['qps']: {row.pop('op'): {side: figures['ns_p10'] for side, figures in row.items()}
                           for row in size['rows']}
             for size in meter.sizes()} for _ in range(PROCESSES_OF_SIZES)]
    return medians(runs)


def judge(softcx, perf, *only):
    """The rules and what they found, the worst first."""
    meter = Meter(softcx, perf)
    measures = {'counts': meter.counts, 'grh': meter.counts_with_grh,
                'times': lambda: [meter.times(measured('counts')) for _ in range(PROCESSES)],
                'sizes': lambda: time_sizes(meter),
                'receives': lambda: meter.receives('1,4'),
                'many_receives': lambda: meter.receives('1024'), 'layouts': meter.layouts,
                'readme': lambda: README.read_text(encoding='utf-8')}

    @functools.cache
    def measured(kind):
        return measures[kind]()

    results = []
    for name, rule in list(globals().items()):
        if name.startswith('rule_') and name.endswith(only or ('',)):
            kind, = rule.__code__.co_varnames[:rule.__code__.co_argcount]
            found = sorted(rule(measured(kind)), key=share_of_limit, reverse=True)
            results.append((name.removeprefix('rule_'), found))
    return sorted(results, key=lambda result: -max(map(share_of_limit, result[1]), default=0))


def main(*args):
    if not shutil.which('valgrind'):
        print('1..0 # SKIP valgrind is not installed')
        return 0
    results = judge(*args[1:])
    print(f'1..{len(results)}')
    for number, (name, found) in enumerate(results, 1):
        over = [one for one in found if is_over(one)]
        skip = [] if found else ['# SKIP not measured']
        print('not ok' if over else 'ok', number, '-', name, *skip)
        for one in found[:SHOWN_OVER if over else SHOWN]:
            value = f'{one.value:.3g}, {share_of_limit(one):.2f} of the limit {one.limit:g}'
            print(f'# {one.what}: {value}')
        if over:
            print(f'# {len(over)} of {len(found)} are over the limit and {SLACK - 1:.0%}')
    return 1 if any(is_over(one) for _, found in results for one in found) else 0


sys.exit(main(*sys.argv[1:]))
