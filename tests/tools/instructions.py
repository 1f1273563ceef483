#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf cost --instructions, under callgrind: its figures, and the one table of what posts, polls and receives may cost.

usage: instructions.py PROGRAM [COMPILER]
  COMPILER  gcc or clang, where the limits hold: on x86-64, at -O2
"""

import json
import sys

from harness import check, main_of_limits

PERF = sys.argv[1]
COMPILER = sys.argv[2] if len(sys.argv) > 2 else None
SLACK = {'gcc': 1.10, 'clang': 1.15}

# Instructions, with the 8 x 8 B store. Limits are not targets: below them the shorter code wins.
LIMITS = {
    'write_sge': 56, 'read': 58, 'send': 50, 'write_sge_hidden': 72,
    'write_sge2': 75, 'write_sge3': 94, 'write_sge4': 112, 'read_sge2': 77, 'read_sge4': 114,
    'send_sge2': 75, 'send_sge4': 112,
    'write_inline_length': 58, 'write_inline': 64, 'write_inline12': 64, 'write_inline64_length': 90,
    'send_inline': 64, 'write_imm': 62, 'write_imm_inline': 70, 'send_imm': 56,
    'write_prepared': 42, 'write_batch16_sge': 43, 'write_batch16_sge2': 60, 'attached_write_sge': 56,
    'poll_1': 46, 'poll_16': 38, 'poll_empty': 12, 'poll_recv': 70, 'poll_recv_srq': 95,
    'poll_ud_recv': 120, 'poll_recv_inline': 105,
    'post_recv': 32, 'post_recv_sge2': 52, 'post_recv_srq': 64, 'post_recv_16': 24, 'post_recv_srq_16': 24,
}

# Parts of what libmlx5's ibv_wr_*() take: every other post, alone and in a batch, and inline data above 192 bytes.
ALONE, BATCH, LONG = 0.85, 1.0, 1.5
RATIOS = {
    **dict.fromkeys([
        'write_inline16', 'write_inline28', 'write_inline32', 'write_inline48', 'write_inline64', 'write_inline96',
        'write_inline128', 'write_inline192', 'send_inline28', 'send_inline44', 'send_inline64', 'send_inline96',
        'send_inline128', 'send_inline192', 'fetch_add', 'cmp_swap', 'ud_send_sge', 'ud_send_sge2',
        'ud_send_inline', 'ud_send_inline32', 'ud_send_inline64', 'xrc_send', 'write_sge2_hidden',
        'write_inline64_hidden', 'write_sge_symbol', 'write_sge2_symbol', 'write_inline64_symbol',
    ], ALONE),
    **dict.fromkeys(['write_batch16_inline', 'write_batch16_inline64', 'ud_send_batch16_sge'], BATCH),
    **dict.fromkeys([
        'write_inline224', 'write_inline256', 'write_inline320', 'write_inline512', 'send_inline224',
        'send_inline256', 'send_inline320', 'send_inline512',
    ], LONG),
}

DEEP = ['write_sge', 'write_sge2', 'write_sge4', 'write_prepared', 'write_inline64', 'ud_send_sge']


def counted(bench, *args, **more):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--instructions', '--json', *args,
                       SOFTCX_TRACE='', **more)  # it would be traced under valgrind, too
    return json.loads(out)


def test_every_figure(bench):
    report = counted(bench, '--op', 'write_sge,write_inline64,ud_send_sge,poll_1,poll_recv_srq')
    check(report['instructions_store'] not in ('', 'none'), report)
    check(len(report['rows']) == 5, report)
    for row in report['rows']:
        for column, figures in row.items():
            if column != 'op':
                check(figures['instructions'] > 0, row)
        if COMPILER == 'gcc':  # the floor of another compiler is no measure
            check(row['floor']['instructions'] < row['bunsen']['instructions'], row)


def check_table(bench, limits, columns, share_of):
    """The worst first, whether or not they are too many."""
    if not COMPILER:
        return
    report = counted(bench, '--store', '8x8', '--columns', columns, '--op', ','.join(limits))
    check({row['op'] for row in report['rows']} == set(limits), report)
    shares = sorted(((share_of(row) / limits[row['op']], row['op']) for row in report['rows']), reverse=True)
    for share, op in shares[:5]:
        print(f'# {op}: {share:.2f} of its limit')
    check(shares[0][0] <= SLACK[COMPILER], shares[0])


def test_limits(bench):
    check_table(bench, LIMITS, 'bunsen', lambda row: row['bunsen']['instructions'])


def test_parts_of_libmlx5(bench):
    check_table(bench, RATIOS, 'bunsen,ibv_wr',
                lambda row: row['bunsen']['instructions'] / row['ibv_wr']['instructions'])


def test_every_depth(bench):
    """What happens once a ring is counted for its share: less of it in a longer one."""
    costs = {}
    for depth in '16', '64', '1024':
        report = counted(bench, '--op', ','.join(DEEP), '--columns', 'bunsen', '--depth', depth)
        for row in report['rows']:
            costs.setdefault(row['op'], []).append(row['bunsen']['instructions'])
    check(set(costs) == set(DEEP), costs)
    over = [f'{op}: {each}' for op, each in costs.items() if each != sorted(each, reverse=True)]
    check(not over, over)


def test_the_store_asked_for(bench):
    report = counted(bench, '--op', 'write_sge', BSN_STORE='doorbell')
    check(report['store'] == report['instructions_store'] == 'doorbell', report)


def test_without_valgrind(bench):
    bench.complains('needs valgrind', PERF, 'cost', '--rounds', '1', '--op', 'read',
                    '--instructions', PATH='/nonexistent')


sys.exit(main_of_limits(globals()))
