#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf: what it refuses, what it prints, between two processes and alone. No time is asserted.

usage: perf.py PROGRAM [--sanitized] [--pmix]
"""

import html.parser
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import sys
import tempfile
from itertools import product

from harness import check, free_port, main

PERF = sys.argv[1]
HAS_PMIX = '--pmix' in sys.argv
HAS_VALGRIND = '--sanitized' not in sys.argv and shutil.which('valgrind')  # they do not mix
OPS = ['write', 'read', 'send', 'atomic']
PATHS = ['direct', 'verbs', 'ibv']
# Some of the rows of cost, and all of what is posted to each kind of queue.
ROWS = ['write_sge', 'write_sge4', 'write_inline', 'write_inline256', 'write_prepared',
        'write_batch16_inline64', 'write_imm_inline', 'read_sge2', 'send', 'send_imm', 'fetch_add',
        'cmp_swap', 'write_512_qps', 'ud_send_sge', 'ud_send_inline', 'attached_write_sge', 'post_recv',
        'post_recv_srq', 'poll_1', 'poll_16', 'poll_empty', 'poll_recv', 'poll_recv_imm',
        'poll_recv_srq', 'poll_ud_send', 'poll_ud_recv', 'poll_512_qps', 'poll_256_qps_apart',
        'post_recv_16', 'post_recv_srq_16', 'poll_recv_data', 'poll_recv_inline',
        'xrc_send', 'poll_xrc_recv', 'poll_stamped', 'poll_stamped_recv',
        'attached_poll_recv', 'write_sge_hidden', 'write_inline64_length', 'write_inline64',
        'dc_write_sge', 'dc_limited_read', 'dc_miss_write_sge', 'poll_dc', 'poll_16_sessions']
COLUMNS = {'bunsen', 'symbol', 'bsn_post', 'verbs', 'ibv_wr', 'ibv', 'floor'}
LATENCIES = ['min', 'p50', 'p90', 'p99', 'p99_9', 'p99_99', 'max']


def pair(bench, test, *args, server=(), **more):
    port = free_port()
    fabric = {key: value for key, value in more.items() if key.isupper()}
    serving = bench.start(PERF, test, '--port', port, *server, 'server', **fabric)
    out, _ = bench.run(PERF, test, '--port', port, *args, 'client', 'localhost', **more)
    return out, bench.finish(serving)[0]


# -- what is refused

def test_wrong_usage(bench):
    for text, *args in [
            ('no command frob', 'frob'),
            ('--frob: unknown option', 'lat', '--frob'),
            ('--op frob: use one of write, read, send, atomic', 'lat', '--op', 'frob'),
            ('--path frob: use one of direct, verbs, ibv', 'bw', '--path', 'frob'),
            ('--size 0: must be 1 to', 'lat', '--size', '0'),
            ('--size 2g: must be 1 to', 'lat', '--size', '2g'),
            ('--size 99999999999999999999: must be 1 to', 'lat', '--size', '9' * 20),
            ('--size -1: not a number', 'lat', '--size=-1'),
            ('--size 8x: not a number', 'lat', '--size', '8x'),
            ('--size 4: atomics have 8 bytes', 'bw', '--op', 'atomic', '--size', '4'),
            ('--all: atomics have 8 bytes', 'bw', '--op', 'atomic', '--all'),
            ('--all begins at 2 bytes', 'lat', '--all', '--size', '1'),
            ('--iters 0: must be', 'bw', '--iters', '0'),
            ('--depth 65536: must be', 'bw', '--depth', '65536'),
            ('--timeout 0: must be', 'lat', '--timeout', '0'),
            ('--duration 0: must be', 'lat', '-D', '0'),
            ('--iters and --duration: use one', 'bw', '-n', '5', '-D', '5'),
            ('--qp 0: must be', 'bw', '-q', '0'),
            ('--qp: latency is that of one', 'lat', '-q', '2'),
            ('--bidirectional is for bw', 'lat', '-b'),
            ('--plot: the bandwidth of one size', 'bw', '--plot', 'x.svg'),
            ('--cm connects one queue pair', 'bw', '-R', '-q', '2', 'server'),
            ('client needs the HOST', 'lat', 'client'),
            ('frob: use server, or client HOST', 'lat', 'frob'),
            ('one argument too many: more', 'lat', 'server', 'more'),
            ('one argument too many: more', 'lat', 'client', 'localhost', 'more'),
            ('--cm needs two processes', 'lat', '--cm'),
            ('--cm is for paths', 'lat', '--cm', '--path', 'ibv', 'server'),
            ('--connection RAW: use one of RC, UC, UD', 'lat', '-c', 'RAW'),
            ('see bsn-perf dc', 'bw', '-c', 'DC'),
            ('--connection UC has no --op read', 'lat', '-c', 'UC', '--op', 'read'),
            ('--connection UD has no --op write', 'lat', '-c', 'ud'),
            ('--ib-port 0: must be', 'lat', '-i', '0'),
            ('--gid-index x: not a number', 'lat', '-x', 'x'),
            ('--gid-index 256: must be', 'lat', '-x', '256'),
            ('--mtu 1500: use 256, 512', 'lat', '-m', '1500'),
            ('--mtu 9000: must be', 'lat', '-m', '9000'),
            ('--inline-size: a read sends no data', 'lat', '-I', '8', '--op', 'read'),
            ('--sl 16: must be', 'lat', '-S', '16'),
            ('--tclass 256: must be', 'lat', '--tclass', '256'),
            ('--hop-limit 0: must be', 'lat', '-L', '0'),
            ('--qp-timeout 32: must be', 'lat', '-u', '32'),
            ('--output 4: the report', 'lat', '-o', '4'),
            ('--cm and --mtu: rdma_cm decides', 'lat', '--cm', '-m', '1024', 'server'),
            ('-Q, --cq-mod is perftest\'s: every request completes', 'bw', '-Q', '4'),
            ('--tos is perftest\'s: use --tclass', 'lat', '-T', '96', 'server'),
            ('--run_infinitely is perftest\'s: use --duration', 'bw', '--run_infinitely'),
            ('--cm and --device', 'lat', '--cm', '--device', 'x', 'client', 'localhost'),
            ('--op frob: there is none', 'cost', '--op', 'read,frob'),
            ('--columns frob: there is none', 'cost', '--columns', 'ibv,frob'),
            ('--rounds 0: must be', 'cost', '--rounds', '0'),
            ('--depth 8: must be', 'cost', '--depth', '8'),
            ('--qps 0: must be 1 to 4096', 'cost', '--qps', '16,0'),
            ('--qps: no number', 'cost', '--qps', ''),
            ('cost takes no argument more', 'cost', 'more'),
            ('--op frob: there is none', 'layout', '--op', 'list_1,frob'),
            ('--rounds 0: must be', 'layout', '--rounds', '0'),
            ('recv takes no argument more', 'recv', 'more'),
            ('--qps 0: must be 1 to 4096', 'recv', '--qps', '0'),
            ('layout takes no argument more', 'layout', 'more'),
            ('--regions 0: must be', 'memory', '--regions', '0'),
            ('memory takes no argument more', 'memory', 'more'),
            ('--peers 0: must be', 'dc', '--peers', '0'),
            ('--dcis x: not a number', 'dc', '--dcis', 'x'),
            ('--window 5000: must be', 'dc', '--window', '5000'),
            ('--policy frob: there is none', 'dc', '--policy', 'lru,frob'),
            ('dc takes no argument more', 'dc', 'more'),
            ('--streams 0: must be', 'dc', '--streams', '0'),
            ('slots', 'dc', '--simulate', '--dcis', '4096', '--streams', '1024'),
            ('use --simulate', 'dc', '--connect-ns', '140'),
            ('--simulate has no device', 'dc', '--simulate', '--device', 'mlx5_0'),
            ('--simulate has --connect-ns', 'dc', '--simulate', '--full-handshake'),
            ('there is nothing to draw', 'dc', '--plot', 'x.svg'),
            ('--local 0: must be', 'dc', '--local', '0'),
            ('use one', 'dc', '--local', '2', '--pmix'),
            ('are the other ones', 'dc', '--local', '2', '--peers', '5')]:
        bench.complains(text, PERF, *args, status=2)


def test_no_command(bench):
    out, err = bench.run(PERF, status=2)
    check(not out and err.startswith('usage: bsn-perf'), err)


def test_help_and_version(bench):
    check(bench.run(PERF, '--help')[0].startswith('usage: bsn-perf'), 'no help')
    check(bench.run(PERF, '--version')[0].startswith('bsn-perf '), 'no version')
    for command in 'cost', 'layout', 'memory', 'dc', 'lat', 'bw':
        out = bench.run(PERF, command, '--help')[0]
        check('--json' in out, command)
        for line in re.findall(r'^ +(?:-\w, )?--.*', out, re.MULTILINE):
            check(re.match(r' +(-., )?--[a-z-]+(=\S+)?(  +\S|$)', line), line)


def test_no_device(bench):
    for command in 'cost', 'layout', 'memory', 'dc', 'lat', 'bw':
        bench.complains('no RDMA device no_such_device', PERF, command, device=False)
        bench.complains('no RDMA device nix_0', PERF, command, '--device', 'nix_0')


def test_report_that_cannot_be_written(bench):
    few = ('--iters', '10')
    bench.complains('--output /nonexistent/report: No such file', PERF, 'lat', *few, '--json',
                    '--output', '/nonexistent/report')
    bench.complains('/dev/full: No space left', PERF, 'lat', *few, '--json', '--output',
                    '/dev/full')


# -- cost

def cost(bench, *args, **more):
    if '--rounds' not in args:  # popt leaks the first of two values
        args = ('--rounds', '2', *args)
    return json.loads(bench.run(PERF, 'cost', '--json', *args, **more)[0])


def columns_of(op):
    """The columns that a row has on the direct path."""
    columns = COLUMNS.copy()
    if 'prepared' in op:
        columns -= {'ibv_wr', 'ibv', 'bsn_post'}
    if op.endswith(('_length', '_hidden')):
        columns -= {'symbol', 'bsn_post'}
    if op.startswith(('post_recv', 'poll', 'attached_poll')):
        columns.discard('bsn_post')
    if 'sessions' in op or 'poll_recv_inline' in op:
        columns.discard('verbs')
    if 'sessions' in op:
        columns -= {'ibv_wr', 'ibv', 'floor'}
    if 'dc' in op:
        columns -= {'ibv_wr', 'ibv', 'floor', 'verbs'}
    if op.startswith('post_recv'):
        columns.discard('ibv_wr')
    if op == 'write_512_qps':
        columns.discard('floor')
    if 'stamped' in op:  # ibv_poll_cq() gives no times
        columns.discard('ibv')
    return columns - {'floor'} if 'xrc' in op or 'stamped' in op else columns


def test_cost_json(bench):
    report = cost(bench)
    check(list(report) == ['device', 'path', 'cpu', 'store', 'depth', 'rounds', 'thread_domain',
                           'rows'], report)
    check(report['device'] == 'mlx5_0' and report['path'] == 'direct' and report['cpu'], report)
    check((report['depth'], report['rounds'], report['thread_domain']) == (256, 2, True), report)
    ops = [row['op'] for row in report['rows']]
    check(set(ROWS) <= set(ops) and len(set(ops)) == len(ops), ops)
    for row in report['rows']:
        columns = columns_of(row['op'])
        if re.search(r'inline\d+$', row['op']):  # the floor's code knows the length, where it has it
            columns = columns - {'floor'} | {'floor'} & set(row)
        check(set(row) == columns | {'op'}, row)
        for column in columns:
            check(set(row[column]) == {'ns', 'ns_p10', 'ns_min'}, row)
            check(0 <= row[column]['ns_min'] <= row[column]['ns_p10'] <= row[column]['ns'], row)


def counted(bench, *args, **more):
    if HAS_VALGRIND:
        return cost(bench, *args, SOFTCX_TRACE='', **more)  # it would be traced under valgrind, too
    return None


def test_cost_of_a_single_operation(bench):
    """What libmlx5 executes takes longer when its code is cold."""
    if 'clflushopt' not in pathlib.Path('/proc/cpuinfo').read_text(encoding='ascii'):
        return 'SKIP no CLFLUSHOPT here'
    for _ in range(5):  # another program may disturb a run
        report = cost(bench, '--cold', '--rounds', '9', '--op', 'write_sge,send,write_sge_last')
        rows = {row['op']: row for row in report['rows']}
        found = [rows[op][column] for op in ('write_sge', 'send') for column in ('ibv_wr', 'ibv')]
        if all(row['cold_ns'] > row['ns'] for row in found):
            break
    else:
        check(False, rows)
    check('cold_ns' in rows['write_sge_last']['bunsen'] and 'ns' not in rows['write_sge_last']['bunsen'], rows)
    return None


def test_cost_in_instructions_and_lines(bench):
    report = counted(bench, '--instructions', '--lines', '--op',
                     'write_sge,write_inline64,ud_send_sge,poll_1,poll_recv_srq,write_sge_last,write_sge_first')
    if not report:
        return 'SKIP wants valgrind'
    check(report['instructions_store'] not in ('', 'none'), report)
    rows = {row['op']: row for row in report['rows']}
    for op, row in rows.items():
        for column in set(row) - {'op'}:
            figures = row[column]
            check(figures['instructions'] > figures['lines'] >= (column != 'floor'), row)
        check(row['bunsen']['instructions'] < row['ibv']['instructions'], row)
    first, last = (rows[op]['bunsen']['instructions'] for op in ('write_sge_first', 'write_sge_last'))
    check(first != last, 'one of them goes on at the ring\'s begin')
    return None


def test_cost_counts_by_the_store_asked_for(bench):
    report = counted(bench, '--instructions', '--op', 'write_sge', BSN_STORE='doorbell')
    check(not report or report['store'] == report['instructions_store'] == 'doorbell', report)


def test_cost_at_each_depth_in_instructions(bench):
    """What happens once a ring is counted for its share: less of it in a longer one."""
    costs = {}
    for depth in ('16', '64', '1024') if HAS_VALGRIND else ():
        report = counted(bench, '--instructions', '--columns', 'bunsen', '--depth', depth, '--op',
                         'write_sge,write_sge4,write_prepared,write_inline64,send_inline64,ud_send_sge')
        for row in report['rows']:
            costs.setdefault(row['op'], []).append(row['bunsen']['instructions'])
    check(all(each == sorted(each, reverse=True) for each in costs.values()), costs)


def test_cost_without_valgrind(bench):
    bench.complains('needs valgrind', PERF, 'cost', '--rounds', '1', '--op', 'read', '--lines', PATH='/nonexistent')


def test_cost_names_the_store(bench):
    for store in '8x8', '4x16', 'doorbell':
        check(cost(bench, '--op', 'write_sge', BSN_STORE=store)['store'] == store, store)
        check(cost(bench, '--op', 'write_sge', '--store', store)['store'] == store, store)


def test_cost_of_some_rows(bench):
    rows = cost(bench, '--op', 'poll_1,send')['rows']
    check([row['op'] for row in rows] == ['poll_1', 'send'], rows)


def test_cost_of_some_columns(bench):
    rows = cost(bench, '--op', 'poll_1', '--columns', 'floor,bsn_post,symbol')['rows']
    check(set(rows[0]) == {'op', 'floor', 'symbol'}, rows)


def test_cost_of_each_length(bench):
    usual = [row['op'] for row in cost(bench, '--rounds', '1')['rows']]
    swept = [row['op'] for row in cost(bench, '--rounds', '1', '--sweep')['rows']]
    check(set(usual) < set(swept), swept)
    check(cost(bench, '--op', 'send_inline61')['rows'][0]['bunsen'], 'a length by name')
    for op in 'write', 'send':
        units = {(int(re.search(r'\d+$', row)[0]) + 4 + 15) // 16 for row in swept
                 if re.fullmatch(op + r'_inline\d+', row)}
        check(units >= set(range(1, 17)), f'{op}: {units}')


def test_cost_at_each_depth(bench):
    for depth in '16', '17', '1024':
        report = cost(bench, '--depth', depth, '--op',
                      'write_sge,write_sge4,write_batch16_inline64,poll_16,post_recv_srq')
        check(report['depth'] == int(depth) and len(report['rows']) == 5, report)


def test_cost_of_many_qps(bench):
    for more in {}, {'BSN_PATH': 'verbs'}:
        report = cost(bench, '--qps', '1,3,256', **more)
        check([size['qps'] for size in report['sizes']] == [1, 3, 256], report)
        for size in report['sizes']:
            for direction in 'post', 'poll':
                check(set(size[direction]) == {'bunsen', 'ibv_wr', 'ibv'}, size)
                for figures in size[direction].values():
                    check(0 < figures['ns_p10'] <= figures['ns'], size)
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--qps', '16', '--columns', 'bunsen')
    check('\n   16 post ' in out and '\n   16 poll ' in out, out)


def recv(bench, *args, **more):
    return json.loads(bench.run(PERF, 'recv', '--rounds', '2', '--json', *args, **more)[0])


def test_recv_json(bench):
    report = recv(bench, '--qps', '1,3')
    check([size['qps'] for size in report['sizes']] == [1, 3], report)
    for size, posts in zip(report['sizes'], ('post_recv_16', 'post_recv_16_qps')):
        rows = {row.pop('op'): row for row in size['rows']}
        check([row for row in rows if row.startswith('post_recv_16')] == [posts], rows)
        for row in posts, 'post_recv_srq_16', 'poll_recv_inline', 'poll_recv_16':
            check({'bunsen', 'ibv'} <= set(rows[row]), rows)
        for row in 'poll_16_sessions', 'poll_1_sessions', 'wait_1', 'wait_1_hidden':
            check(set(rows[row]) == {'bunsen'}, rows)
        check(set(size['trips']) == {'message', 'send', 'ibv'}, size)
        asked = {by: trip['bus_requests'] for by, trip in size['trips'].items()}
        # No receive, and no completion of it.
        check(asked['message'] < asked['send'] - 2 and asked['message'] < asked['ibv'] - 1, asked)


def test_recv_on_plain_verbs(bench):
    report = recv(bench, '--qps', '2', BSN_PATH='verbs')
    rows = {row['op']: row for row in report['sizes'][0]['rows']}
    check('poll_16_sessions' not in rows and 'bunsen' in rows['post_recv_16_qps'], rows)
    check(all(trip['ns'] > 0 for trip in report['sizes'][0]['trips'].values()), report)


def test_recv_for_people(bench):
    out, _ = bench.run(PERF, 'recv', '--rounds', '1')
    check('\n1 QP\n' in out and '\n1024 QPs, which take turns\n' in out, out)
    check(out.count('\nA message of 32 bytes there and back') == 2 and '\nmessage  ' in out, out)
    check("libmlx5's polls cannot read sessions" in out, out)


def layout(bench, *args, **more):
    report = json.loads(bench.run(PERF, 'layout', '--rounds', '2', '--json', *args, **more)[0])
    return report, {row.pop('op'): row for row in report['rows']}


def test_layout_json(bench):
    report, rows = layout(bench)
    check(list(report) == ['device', 'path', 'cpu', 'store', 'rounds', 'rows'], report)
    for kind, counts in ('list', (1, 4, 8, 16, 32, 48)), ('interleaved', (1, 4, 32)):
        for count in counts:
            row = rows.pop(f'{kind}_{count}')
            check(set(row) == {'bunsen', 'create', 'bunsen_map', 'libmlx5'}, row)
            # The same bytes: a control segment, the head, and translations by fours, or a doorbell.
            asked = [row[side]['bus'] for side in ('bunsen', 'libmlx5')]
            check(asked[0]['mmio_bytes'] == asked[1]['mmio_bytes'], row)
            check(asked[0]['wqe_fetch_bytes'] == asked[1]['wqe_fetch_bytes'], row)
    for op, row in rows.items():
        for figures in row.values():
            check(0 <= figures['ns_p10'] <= figures['ns'], (op, row))
    for count in 4, 32:
        check(set(rows[f'pages_{count}']) == {'bunsen', 'libmlx5'}, rows)
    known = rows['send_known']['bunsen']['bus']
    check((known['payload_read'], known['cqe_write']) == (1024, 1), known)
    check(rows['send_packed']['bunsen']['bus']['payload_read'] == 1, rows)


def test_layout_of_some_rows(bench):
    check(list(layout(bench, '--op', 'map,list_4')[1]) == ['list_4', 'map'], 'rows')


def test_layout_needs_mkeys(bench):
    bench.complains('no mkeys', PERF, 'layout', BSN_PATH='verbs')


def test_memory_json(bench):
    report = json.loads(bench.run(PERF, 'memory', '--json', '--regions', '200', '--bytes', '4m')[0])
    why_no_ucx = report.pop('no_ucx_rcache', None)
    check(list(report) == ['device', 'path', 'cpu', 'store', 'regions', 'look_ups', 'registrations_per_s',
                           'buffer', 'bytes', 'sources'], report)
    check(list(report['look_ups']) == ['same', 'sequence', 'random'], report)
    for figures in report['look_ups'].values():
        check(all(value > 0 for value in figures.values()), report)
        check(('ucx_rcache_ns' in figures) != bool(why_no_ucx), report)
    rates, buffer = report['registrations_per_s'], report['buffer']
    check(rates['cached'] > 3 * rates['registered'], rates)
    check(buffer['slab_ns'] < buffer['malloc_register_ns'] / 3, buffer)
    sources = report['sources']
    check(sources['plain']['translations'] == 1024, sources)
    for name in 'thp', 'hugetlb_2m', 'hugetlb_1g':
        check(sources[name].get('why_not') or sources[name]['translations'] <= 1024, sources)


def test_memory_for_people(bench):
    out = bench.run(PERF, 'memory', '--regions', '50', '--bytes', '1m')[0]
    for text in 'binary search', 'rcache', 'malloc + register', 'translations of 1048576 bytes':
        check(text in out, out)


POLICIES = ['lru', 'sieve', 'dcs', 'dcs_quota', 'hashed', 'streams', 'adaptive']
PATTERNS = ['uniform', 'zipf', 'bursts', 'moving', 'all_to_all', 'incast']


def dc(bench, *args):
    report = json.loads(bench.run(PERF, 'dc', '--json', *args)[0])
    for policy in report['policies']:
        check(policy['connects_are_the_devices'], policy)
        # Requests that wait for one peer together need one connection.
        check(policy['waits_per_operation'] or
              policy['connects_per_operation'] >= report['optimum_per_operation'], report)
        check(0 < policy['fairness'] <= 1.0000001, policy)
        check(policy['wait_p99_us'] <= policy['wait_max_us'] * 1.01, policy)
    return report, {policy['policy']: policy for policy in report['policies']}


def test_dc_json(bench):
    report, policies = dc(bench, '--operations', '4000')
    check(list(report) == ['device', 'path', 'cpu', 'store', 'pattern', 'peers', 'dcis', 'streams', 'window',
                           'operations', 'bytes', 'optimum_per_operation', 'policies'], report)
    check(list(policies) == POLICIES, report)
    connects = {name: policy['connects_per_operation'] for name, policy in policies.items()}
    check(connects['lru'] < connects['dcs_quota'] and connects['sieve'] < connects['dcs_quota'], connects)
    check(policies['streams']['waits_per_operation'] > policies['lru']['waits_per_operation'], report)


def test_dc_patterns(bench):
    few = ('--operations', '3000', '--policy', 'lru', '--window', '4')
    moving = dc(bench, *few, '--pattern', 'moving')[1]['lru']
    check(moving['connects_per_operation'] <= 0.05, moving)
    incast = dc(bench, *few, '--pattern', 'incast')[1]['lru']
    check(incast['connects_per_operation'] == 1 / 3000, incast)
    around = dc(bench, *few, '--pattern', 'all_to_all')[1]['lru']
    check(around['connects_per_operation'] == 1, around)
    bursts = dc(bench, *few, '--pattern', 'bursts')[0]
    check(bursts['optimum_per_operation'] < 0.13, bursts)
    uniform = dc(bench, *few, '--pattern', 'uniform', '--peers', '16', '--dcis', '8')[1]['lru']
    check(0.4 < uniform['connects_per_operation'] < 0.6, uniform)


def connects(bench, *args):
    return {name: policy['connects_per_operation'] for name, policy in dc(bench, *args)[1].items()}


def test_dc_is_as_simulated(bench):
    """
    Where one request is outstanding at a time, softcx and the model connect alike, to the last one. With more,
    softcx executes them at once, where the model has them end one after the other: those that keep what they have
    differ little; dcs, which gives it up when it is done, does.
    """
    for pattern, streams in ('zipf', '1'), ('moving', '1'), ('zipf', '8'), ('bursts', '4'):
        few = ('--operations', '3000', '--pattern', pattern, '--streams', streams, '--dcis', '8')
        alone = few + ('--window', '1')
        check(connects(bench, *alone) == connects(bench, *alone, '--simulate'), pattern)
        some = few + ('--window', '4', '--policy', 'lru,sieve,hashed,adaptive')
        real, simulated = connects(bench, *some), connects(bench, *some, '--simulate')
        check(all(abs(real[name] - simulated[name]) < 0.02 for name in real), f'{real} {simulated}')


def test_dc_streams_are_worth_initiators(bench):
    few = ('--operations', '10000', '--dcis', '8', '--streams', '8', '--window', '16', '--policy', 'lru,sieve,dcs_quota')
    for pattern in 'zipf', 'bursts', 'moving':
        made = connects(bench, *few, '--pattern', pattern)
        check(made['lru'] <= 0.45 * made['dcs_quota'] and made['sieve'] <= 0.45 * made['dcs_quota'], f'{pattern} {made}')
    out = bench.run(PERF, 'dc', '--operations', '10', '--streams', '33')[0]
    check('33 streams: an initiator has 32 at most' in out, out)


def test_dc_is_nowhere_worse(bench):
    """Than dcs_quota; also where all that is outstanding is done between two polls, as it is here."""
    few = ('--operations', '3000', '--policy', 'lru,sieve,dcs_quota')
    for dcis, streams, window in product((8, 32), (1, 8), (4, 16, 64)):
        for pattern in PATTERNS:
            made = connects(bench, *few, '--dcis', str(dcis), '--streams', str(streams), '--window', str(window),
                            '--pattern', pattern)
            most = 1.02 * made['dcs_quota']
            check(made['lru'] <= most and made['sieve'] <= most, f'{dcis}x{streams} {window} {pattern} {made}')


def test_dc_by_a_full_handshake(bench):
    few = ('--operations', '1000', '--policy', 'lru')
    report, policies = dc(bench, *few, '--full-handshake')
    check(report['full_handshake'] and 'full_handshake' not in dc(bench, *few)[0], report)
    check(policies['lru']['connects_per_operation'] == connects(bench, *few)['lru'], report)
    check('initiators, by a full handshake, window' in bench.run(PERF, 'dc', *few, '--full-handshake')[0], report)
    out = bench.run(PERF, 'dc', *few, '--full-handshake', BSN_PATH='verbs')[0]
    check('no full handshake' in out, out)


def test_dc_simulated(bench):
    args = ('--simulate', '--operations', '2000', '--peers', '1000,100000', '--streams', '4')
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, 'dc.svg')
        report = json.loads(bench.run(PERF, 'dc', '--json', *args, '--plot', path, device=False)[0])
        with open(path, encoding='utf-8') as file:
            lines = re.findall(r'>([a-z_]+)</text>', file.read())
    check(report['model'] == {'connect_ns': 60, 'answer_ns': 1200, 'random_ns': 500, 'issue_ns': 50}, report)
    check([run['peers'] for run in report['runs']] == [1000, 100000], report)
    check([policy['policy'] for policy in report['runs'][1]['policies']] == POLICIES, report)
    check(set(lines) == {'connections', 'optimum', *POLICIES}, lines)
    slow = json.loads(bench.run(PERF, 'dc', '--json', '--simulate', '--operations', '2000', '--policy', 'lru',
                                '--connect-ns', '2700', device=False)[0])
    quick = json.loads(bench.run(PERF, 'dc', '--json', '--simulate', '--operations', '2000', '--policy', 'lru',
                                 device=False)[0])
    check(slow['policies'][0]['operations_per_s'] < 0.8 * quick['policies'][0]['operations_per_s'], slow)
    out = bench.run(PERF, 'dc', *args, device=False)[0]
    check(out.count('a model of time') == 2 and 'of 4 streams' in out, out)


def test_dc_waits_where_all_are_busy(bench):
    report = dc(bench, '--operations', '3000', '--dcis', '2', '--window', '64', '--pattern', 'uniform',
                '--policy', 'lru')[1]['lru']
    check(report['waits_per_operation'] > 0.5 and report['wait_max_us'] > 0, report)
    check(report['wait_max_operations'] <= 64 * 2, report)


def test_dc_of_a_file(bench):
    with tempfile.NamedTemporaryFile('w') as file:
        file.write('0\n1\n0\n2\n')
        file.flush()
        lru = dc(bench, '--pattern', file.name, '--operations', '400', '--peers', '3', '--dcis', '2',
                 '--window', '1', '--policy', 'lru')[1]['lru']
        check(lru['connects_per_operation'] == 201 / 400, lru)
        file.write('3\n')
        file.flush()
        bench.complains('number 5: must be a peer, 0 to 2', PERF, 'dc', '--pattern', file.name,
                        '--peers', '3')
    bench.complains('neither a pattern nor a file', PERF, 'dc', '--pattern', 'frob')


def test_dc_for_people(bench):
    out = bench.run(PERF, 'dc', '--operations', '500', '--policy', 'sieve,hashed')[0]
    check(re.search(r'(?m)^sieve +\d', out) and re.search(r'(?m)^hashed +\d', out), out)
    check('optimum' in out and 'lru' not in out, out)


def test_dc_on_plain_verbs(bench):
    report = json.loads(bench.run(PERF, 'dc', '--json', '--operations', '300', '--peers', '12', '--policy', 'lru',
                                  BSN_PATH='verbs')[0])
    check(0.1 < report['policies'][0]['connects_per_operation'] < 1, report)
    bench.complains('on plain verbs', PERF, 'dc', '--local', '1', BSN_PATH='verbs')


def test_dc_of_many_processes(bench):
    report = json.loads(bench.run(PERF, 'dc', '--json', '--local', '4', '--operations', '500', '--policy',
                                  'lru,dcs', '--dcis', '2', '--window', '1')[0])
    lru, dcs = report['policies']
    check((report['processes'], report['peers'], report['pattern']) == (4, 3, 'all_to_all'), report)
    check(lru['connects_per_operation'] == dcs['connects_per_operation'] == 1, report)
    some = json.loads(bench.run(PERF, 'dc', '--json', '--local', '4', '--operations', '500', '--policy', 'lru')[0])
    check(some['policies'][0]['connects_per_operation'] == 3 / 500, some)


def test_dc_without_a_launcher(bench):
    bench.complains('no launcher' if HAS_PMIX else 'without PMIx', PERF, 'dc', '--pmix')


def test_dc_under_mpirun(bench):
    """Only the first process prints."""
    if not HAS_PMIX or not shutil.which('mpirun'):
        return 'SKIP no PMIx, or no mpirun'
    out, _ = bench.run('mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '3', PERF, 'dc', '--pmix', '--json',
                       '--operations', '200', '--policy', 'lru', ASAN_OPTIONS='detect_leaks=0')  # libpmix leaks
    report = json.loads(out)
    check((report['processes'], report['policies'][0]['connects_per_operation']) == (3, 2 / 200), report)
    return None


def test_dc_has_only_so_many_peers(bench):
    bench.complains('', PERF, 'dc', '--peers', '100000')


def test_dc_costs_the_same_of_many_initiators(bench):
    """Where most who post have to wait."""
    if not HAS_VALGRIND:
        return
    few = ('--instructions', '--operations', '2000', '--peers', '10000', '--pattern', 'uniform', '--policy',
           'lru,sieve,adaptive')
    small = dc(bench, *few, '--dcis', '8', '--window', '16')[1]
    for dcis, streams in (64, 1), (32, 8):
        large = dc(bench, *few, '--dcis', str(dcis), '--streams', str(streams), '--window', str(2 * dcis * streams))[1]
        for name, policy in large.items():
            check(policy['post_instructions'] < 1.5 * small[name]['post_instructions'], f'{small[name]} {policy}')
            check(policy['poll_instructions'] < 2.5 * small[name]['poll_instructions'], f'{small[name]} {policy}')


def test_dc_instructions(bench):
    if not HAS_VALGRIND:
        return
    report, policies = dc(bench, '--operations', '300', '--policy', 'lru', '--instructions', '--pattern', 'incast')
    lru = policies['lru']
    check(40 < lru['post_instructions'] < 300, lru)
    check(10 < lru['poll_instructions'] < 600, lru)
    bursts = report['burst_instructions']
    mine, ucx = bursts['bunsen'], bursts['ucx']
    for figures in mine.values():
        check(40 < figures['hit'] < 250 and 100 < figures['miss'] - figures['hit'] < 350, bursts)
        check(20 < figures['poll'] < 200, bursts)
    if 'why_not' in ucx:
        check('libu' in ucx['why_not'], bursts)
    else:
        check(mine['bsn_write']['hit'] < ucx['put_zcopy']['hit'] < ucx['put_zcopy']['miss'], bursts)
        check(mine['bsn_write_inline']['hit'] < ucx['put_short']['hit'] < ucx['put_short']['miss'], bursts)
        check(all(0 < figures['poll'] < 1000 for figures in ucx.values()), bursts)


def test_dc_instructions_on_plain_verbs(bench):
    if not HAS_VALGRIND:
        return
    report = json.loads(bench.run(PERF, 'dc', '--json', '-i', '--operations', '200', '--peers', '12', '--policy', 'lru',
                                  BSN_PATH='verbs')[0])
    check('burst_instructions' not in report and report['policies'][0]['post_instructions'] > 100, report)


def test_dc_hits_and_misses_are_drawn(bench):
    """They cost the same with few peers and with many."""
    if not HAS_VALGRIND:
        return
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, 'dc.svg')
        report = json.loads(bench.run(PERF, 'dc', '--json', '--simulate', '-i', '--plot', path, '--operations',
                                      '400', '--peers', '100,3000', '--policy', 'lru', device=False)[0])
        with open(path, encoding='utf-8') as file:
            svg = file.read()
    check('>hit<' in svg and '>miss<' in svg, svg)
    few, many = report['runs']
    for name in 'hit_instructions', 'miss_instructions':
        check(abs(few[name] - many[name]) < 0.05 * few[name], report)
    hit, miss = few['hit_instructions'], few['miss_instructions']
    check(40 < hit < 250 and 100 < miss - hit < 250, report)


def asked(bench, *args, **more):
    rows = json.loads(bench.run(PERF, 'cost', '--bus', '--json', *args, **more)[0])['bus']
    return {row['op']: row for row in rows}


def test_cost_of_the_bus(bench):
    """64 B by BlueFlame are not fetched again; a batch rings once, and is fetched."""
    expected = {  # op: MMIO stores, bytes, WQE fetches, bytes of them, CQEs
        'write_sge': (8, 64, 0, 0, 1),
        'write_sge4': (16, 128, 0, 0, 1),
        'write_batch16_sge': (1 / 16, 0.5, 2 / 16, 64, 1),
        'send': (8, 64, 0, 0, 2),
    }
    names = 'mmio', 'mmio_bytes', 'wqe_fetch', 'wqe_fetch_bytes', 'cqe_write'
    rows = asked(bench, '--store', '8x8', '--op', 'poll_1,' + ','.join(expected))
    check(set(rows) == set(expected), rows)
    for op, figures in expected.items():
        for column in 'bunsen', 'ibv', 'floor':
            found = [rows[op][column][name] for name in names]
            check(all(abs(a - b) < 0.03 for a, b in zip(found, figures)), f'{op} {column} {found}')
    by_doorbell = asked(bench, '--store', 'doorbell', '--op', 'write_sge')['write_sge']['bunsen']
    check([by_doorbell[name] for name in names] == [1, 8, 1, 64, 1], by_doorbell)


def test_the_bus_is_seen_by_softcx_only(bench):
    bench.complains('sees no stores in its passive mode', PERF, 'cost', '--bus', '--op', 'read',
                    SOFTCX_PASSIVE='1')
    out, _ = bench.run(PERF, 'cost', '--bus', '--op', 'read,write_prepared')
    check('\nread ' in out and '\nwrite_prepared ' in out and 'MMIO stores' in out, out)


def test_cost_on_plain_verbs(bench):
    report = cost(bench, BSN_PATH='verbs')
    check(report['path'] == 'verbs', report)
    check(not any('floor' in row for row in report['rows']), report)
    lacking = {row['op'] for row in report['rows'] if 'bunsen' not in row}
    check(lacking == {'poll_recv_inline', 'poll_recv_inline_16'}, lacking)  # of libmlx5 alone


def test_cost_on_roce(bench):
    check(set(ROWS) <= {row['op'] for row in cost(bench, SOFTCX_LINK='roce')['rows']}, 'missing')


def test_cost_text(bench):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2')
    check(all(f'\n{row} ' in out for row in ROWS), out)
    check('device mlx5_0: direct' in out and 'bunsen/best' in out, out)


def test_quickstart_explains_what_it_prints(bench):
    """Each name in the legend is in the table, and the next steps are printed."""
    root = pathlib.Path(__file__).resolve().parents[2]
    script = (root / 'tools/quickstart').read_text(encoding='utf-8')
    rows = ','.join(re.findall(r'^rows\+?=(?:,)?(\S+)$', script, re.MULTILINE))
    out, _ = bench.run(PERF, 'cost', '--rounds', '2', '--op', rows)
    legend = script[script.index('How to read it'):script.index('Next:')]
    heads = next(line.split() for line in out.split('\n') if 'bunsen/best' in line)
    missing = [head for head in heads if not re.search(rf'(?<![\w/]){re.escape(head)}(?![\w/])', legend)]
    check(not missing, f'not in the legend: {missing}')
    check(all(f'\n{row} ' in out for row in rows.split(',')), out)
    coming = script[script.index('Next:'):]
    for path in re.findall(r'^  (?:man )?(\S+\.(?:md|7|1))', coming, re.MULTILINE):
        check((root / path).exists(), path)
    check('## A whole program' in (root / 'README.md').read_text(encoding='utf-8'), 'the section')
    example = re.search(r'\$build/tools/(\w+)$', coming, re.MULTILINE)[1]
    check((root / f'tools/examples/{example}.c').exists(), example)


def test_report_in_a_file(bench):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, 'report')
        out, _ = bench.run(PERF, 'cost', '--rounds', '1', '--op', 'read', '-j', '-o', path)
        with open(path, encoding='utf-8') as report:
            check(not out and json.load(report)['rows'][0]['op'] == 'read', out)


# -- lat and bw

def check_lat(report, iters):
    check(report['samples'] == iters, report)
    values = [report[key] for key in LATENCIES]
    check(values == sorted(values) and values[0] > 0, report)
    check(report['min'] <= report['mean'] <= report['max'], report)


def test_lat_alone(bench):
    for op in OPS:
        for path in PATHS:
            report = json.loads(bench.run(PERF, 'lat', '--op', op, '--path', path, '--iters', '300',
                                          '--json')[0])
            check((report['test'], report['op'], report['path']) == ('lat', op, path), report)
            check_lat(report, 300)


def test_path_by_default(bench):
    for env, path in ({}, 'direct'), ({'BSN_PATH': 'verbs'}, 'verbs'):
        for test in 'lat', 'bw':
            report = json.loads(bench.run(PERF, test, '--iters', '20', '--json', **env)[0])
            check(report['path'] == path, report)


def test_bw_alone(bench):
    for op in OPS:
        for path in PATHS:
            report = json.loads(bench.run(PERF, 'bw', '--op', op, '--path', path, '--iters', '500',
                                          '--json')[0])
            check((report['test'], report['op'], report['path']) == ('bw', op, path), report)
            check(report['bytes_per_second'] > 0 and report['messages_per_second'] > 0, report)


def test_sizes_and_depths(bench):
    for size in '1', '64', '65', '4k', '1m':
        for op in 'write', 'send':
            bench.run(PERF, 'lat', '--op', op, '--size', size, '--iters', '20')
    for depth in '1', '2', '17':
        for op in 'write', 'send':
            bench.run(PERF, 'bw', '--op', op, '--depth', depth, '--iters', '100')


def test_perftest_s_letters(bench):
    """Each of perftest's letters means the same here, or is answered."""
    theirs = {}
    for name in 'ib_write_bw', 'ib_send_lat', 'ib_read_lat', 'ib_atomic_bw':
        if shutil.which(name):
            help_text = bench.run(name, '--help', status=1)[0]
            theirs |= dict(re.findall(r'^ +-(\w), (--[-\w]+)', help_text, re.MULTILINE))
    if not theirs:
        return 'SKIP perftest is not installed'
    check({'x', 'c', 'm', 'I', 'S', 'u', 'Q', 'F', 'T'} <= set(theirs), theirs)
    ours = dict(re.findall(r'^ +-(\w), (--[-\w]+)', bench.run(PERF, 'bw', '--help')[0],
                           re.MULTILINE))
    for letter, name in theirs.items():
        for word in f'-{letter}', name:
            if letter == 'h':
                continue
            _, said = bench.run(PERF, 'bw', word, '8', 'nonsense', status=2)
            check('unknown option' not in said, f'{word}: {said}')
            check(letter in ours or letter in 'FN' or "is perftest's: " in said, f'{word}: {said}')
    check(bench.run(PERF, 'lat', '-h')[0] == bench.run(PERF, 'lat', '--help')[0], '-h')
    lat(bench, '-F', '--report_gbits', '-d', 'mlx5_0')
    return None


def lat(bench, *args, **more):
    return json.loads(bench.run(PERF, 'lat', '--json', '-n', '10', *args, **more)[0])


def test_connections(bench):
    for path in PATHS:
        for kind, op in ('UC', 'write'), ('UC', 'send'), ('UD', 'send'), ('rc', 'read'):
            report = lat(bench, '-c', kind, '--op', op, '--path', path)
            check(report['connection'] == kind.upper() and report['samples'] == 10, report)
            report = bw(bench, '-n', '300', '-c', kind, '--op', op, '--path', path, '-q', '3')
            check(report['connection'] == kind.upper(), report)


def test_datagrams_are_as_long_as_a_packet(bench):
    bench.complains('a message of UD is one packet', PERF, 'lat', '--op', 'send', '-c', 'UD',
                    '--size', '8k')
    report = lat(bench, '--op', 'send', '-c', 'UD', '-a')
    check(report['sizes'][-1]['size'] == 4096, report)
    out, _ = pair(bench, 'lat', '--json', '-n', '10', '--op', 'send', '-c', 'UD', '--size', '4096')
    check(json.loads(out)['connection'] == 'UD', out)


def test_ways(bench):
    """The attributes of a connection; the client's also hold at the server."""
    way = ['-m', '256', '-S', '3', '--tclass', '96', '-L', '9', '-u', '10', '-I', '0']
    for path in PATHS:
        for index in '0', '3':
            report = lat(bench, *way, '-x', index, '--path', path, SOFTCX_LINK='roce')
            check((report['gid_index'], report['samples']) == (int(index), 10), report)
    bench.complains('has no GID of index 9', PERF, 'lat', '-x', '9')
    bench.complains('mlx5_0 has no port 3', PERF, 'bw', '-i', '3')
    check(json.loads(pair(bench, 'lat', '--json', '-n', '10', *way)[0])['samples'] == 10, 'a pair')


def posted(bench, *args, run=None, **more):
    """The WQEs in a fabric's trace since the last call."""
    (run or bench.run)(PERF, *args, **more)
    with open(bench.trace.name, 'r+', encoding='ascii') as trace:
        lines = [line for line in trace if ' wqe: ' in line]
        trace.truncate(0)
    check(lines, 'no WQE is in the trace')
    return lines


def test_ways_reach_the_queue_pairs(bench):
    """Both ends connect their queue pair with what the letters say: softcx's trace shows it."""
    for letter, value, name in [('-m', 256, 'mtu'), ('-m', 512, 'mtu'), ('-u', 10, 'timeout'), ('-u', 31, 'timeout'),
                                ('-S', 3, 'sl'), ('-L', 9, 'hop_limit'), ('--tclass', 96, 'tclass')]:
        for path in PATHS:
            with tempfile.NamedTemporaryFile('r') as trace:
                lat(bench, letter, str(value), '--path', path, SOFTCX_TRACE=trace.name, SOFTCX_LINK='roce')
                qps = [line for line in trace if ' qp: ' in line]
            found = [int(n) for n in re.findall(rf' {name} (\d+)', ''.join(qps))]
            check(found == [value, value], f'{letter} {value} {path}: {qps}')
    for index in 1, 3:
        for path in PATHS:
            with tempfile.NamedTemporaryFile('r') as trace:
                lat(bench, '-x', str(index), '--path', path, SOFTCX_TRACE=trace.name, SOFTCX_LINK='roce')
                check(trace.read().count(f' sgid_index {index} ') == 2, f'-x {index} {path}')
    for kind, has_timeout in ('RC', True), ('UC', False):  # nothing acknowledges to an unreliable one
        for path in PATHS:
            with tempfile.NamedTemporaryFile('r') as trace:
                lat(bench, '-c', kind, '--path', path, SOFTCX_TRACE=trace.name)
                qps = trace.read()
            check(' mtu ' in qps and (' timeout ' in qps) == has_timeout, f'{kind} {path}: {qps}')


def test_datagrams_tell_their_way(bench):
    """Each WQE of a datagram has its way, also those of the server; on RoCE, an SL counts twice there."""
    way = ['-m', '1024', '-S', '3', '--tclass', '96', '-L', '9', '-x', '1']
    for path in PATHS:
        for wqe in posted(bench, '-c', 'UD', '--op', 'send', '-n', '5', '--path', path, *way,
                          run=lambda _, *args, **more: pair(
                              bench, 'lat', *args, server=('--path', path, '-x', '2'), **more),
                          SOFTCX_LINK='roce'):
            check(' sl 0x6 ' in wqe and ' tclass 0x60 hop_limit 0x9 ' in wqe, wqe)


def test_inline_size(bench):
    for path in PATHS:
        for size, most in (8, 8), (8, 0), (200, 200), (200, 199), (64, 64), (65, 64):
            wqes = posted(bench, 'bw', '-n', '4', '--path', path, '-s', str(size), '-I', str(most))
            check(all((' is_inline ' in wqe) == (size <= most) for wqe in wqes), (size, most, wqes[0]))


def test_sweep(bench):
    """-a: sizes double; inline data and SGEs; receives are as long as the longest."""
    sizes = [2 ** i for i in range(1, 9)]
    for op in 'write', 'send', 'read':
        for path in PATHS:
            out, _ = bench.run(PERF, 'bw', '-a', '--size', '256', '--op', op, '--path', path,
                               '--iters', '200', '--depth', '16', '--json')
            check([row['size'] for row in json.loads(out)['sizes']] == sizes, out)
    for test, columns in ('bw', 5), ('lat', 7):
        out, served = pair(bench, test, '-a', '--size', '300', '--op', 'send', '--iters', '50')
        rows = [line.split() for line in out.split('\n')[2:-1]]
        check([int(row[0]) for row in rows] == sizes and {len(row) for row in rows} == {columns},
              out)
        check('2 to 300 bytes' in served, served)


def bw(bench, *args, **more):
    return json.loads(bench.run(PERF, 'bw', '--json', *args, **more)[0])


def test_several_queue_pairs(bench):
    """-q: each takes its turn; on softcx, whose trace names them."""
    with tempfile.TemporaryDirectory() as folder:
        for path in PATHS:
            trace = os.path.join(folder, path)
            report = bw(bench, '-q', '5', '--path', path, '-n', '200', SOFTCX_TRACE=trace)
            check((report['qps'], report['iters'], report['bidirectional']) == (5, 200, False), report)
            with open(trace, encoding='ascii') as lines:
                posted = re.findall(r' wqe: qpn (0x\w+) ', lines.read())
            counts = sorted(posted.count(qp) for qp in set(posted))
            check(len(counts) == 5 and counts[0] > 30, f'{path}: {counts}')
    for op in OPS:
        report = bw(bench, '-q', '17', '--op', op, '-t', '4', '-n', '1000')
        check((report['qps'], report['depth']) == (17, 4), report)
    out, _ = pair(bench, 'bw', '-q', '3', '--op', 'send', '--iters', '300')
    check(', 3 queue pairs, path' in out, out)


def test_both_directions(bench):
    """-b: both ends send, as many as the client says, and the rates are added."""
    for op in OPS:
        report = bw(bench, '-b', '--op', op, '-n', '300')
        check(report['bidirectional'] and report['messages_per_second'] > 0, report)
        out, served = pair(bench, 'bw', '-b', '--op', op, '-q', '2', '--iters', '300')
        check(all(', 2 queue pairs, both directions, path' in text for text in (out, served)), out)
    for op in 'write', 'send':
        counted = both = 0
        for args in (), ('-b',):
            with tempfile.NamedTemporaryFile() as trace:
                bw(bench, *args, '--op', op, '-n', '200', SOFTCX_TRACE=trace.name)
                counted, both = both, len(re.findall(rb' wqe: qpn ', trace.read()))
        check(both == 2 * counted > 0, f'{op}: {counted} one way, {both} both ways')


def test_duration(bench):
    """-D: a second, and not one more."""
    for op in 'write', 'send', 'read':
        report = bw(bench, '-D', '1', '--op', op)
        check(1 <= report['seconds'] < 3 and report['iters'] > 100, report)
        lat = json.loads(bench.run(PERF, 'lat', '-D', '1', '--op', op, '--json')[0])
        check(lat['samples'] == lat['iters'] > 100, lat)
    out, served = pair(bench, 'lat', '-D', '1', '--op', 'send')
    check('for 1 s, path' in out and 'for 1 s, path' in served, served)
    pair(bench, 'lat', '-D', '1')
    for args in (), ('-b',):
        out, _ = pair(bench, 'bw', '-D', '1', '--op', 'send', *args)
        check('for 1 s' in out, out)


class Drawing(html.parser.HTMLParser):
    """The texts of a picture, and the points of its lines."""

    def __init__(self, path):
        super().__init__()
        self.texts, self.lines, self.is_text = [], [], False
        with open(path, encoding='utf-8') as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        self.is_text = tag == 'text'
        if tag == 'path' and not dict(attrs).get('stroke'):
            self.lines.append([tuple(map(float, point.split()))
                               for point in dict(attrs)['d'][1:].split('L')])

    def handle_data(self, data):
        if self.is_text and data.strip():
            self.texts.append(data)


def test_plots(bench):
    """Lines that go to the right, as many as there are, inside of the picture."""
    for args, lines, points, texts in [
            (('lat', '-n', '2000'), 1, 20, ['0 %', '99 %', 'percentiles', 'µs']),
            (('lat', '-a', '-s', '256', '-n', '100'), 3, 8, ['2 B', '50 %', '99.9 %', 'µs']),
            (('bw', '-a', '-s', '4k', '-n', '100'), 1, 12, ['2 B', '1 KB', 'Gb/s'])]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'plot.svg')
            bench.run(PERF, *args, '--plot', path)
            drawing = Drawing(path)
        check(len(drawing.lines) == lines, drawing.lines)
        check(not [text for text in texts if text not in drawing.texts], drawing.texts)
        for line in drawing.lines:
            check(len(line) >= points and line == sorted(line, key=lambda point: point[0]), line)
            check(all(70 <= x <= 711 and 49 <= y <= 431 for x, y in line), line)
    bench.complains('--plot /nonexistent/x: No such file', PERF, 'lat', '-n', '5', '--plot', '/nonexistent/x')


def test_trace_of_what_goes_well(bench):
    """The trace has no errors: refusals that libraries provoke on purpose do not count."""
    for path in PATHS:
        bench.run(PERF, 'lat', '--path', path, '--iters', '3')
    with open(bench.trace.name, encoding='ascii') as trace:
        lines = trace.readlines()
    errors = [line for line in lines if 'error' in line]
    check(not errors and any(' wqe: ' in line for line in lines), errors)


def test_stepped(bench):
    for op in OPS:
        bench.run(PERF, 'lat', '--op', op, '--iters', '50', SOFTCX_PASSIVE='1')
        bench.run(PERF, 'bw', '--op', op, '--iters', '200', SOFTCX_PASSIVE='1')


def test_text(bench):
    out, _ = bench.run(PERF, 'lat', '--iters', '50')
    check('half of a round trip' in out and '99.99 %' in out, out)
    out, _ = bench.run(PERF, 'bw', '--iters', '50')
    check('MB/s' in out and 'Gb/s' in out and 'Mpps' in out, out)


def test_lat_between_two(bench):
    for op in OPS:
        out, served = pair(bench, 'lat', '--op', op, '--iters', '200', '--size', '8', '--json')
        check_lat(json.loads(out), 200)
        check(served.startswith(f'latency of {op}, 8 bytes, 200 times'), served)


def test_bw_between_two(bench):
    for op in OPS:
        out, _ = pair(bench, 'bw', '--op', op, '--iters', '1000', '--json')
        check(json.loads(out)['iters'] == 1000, out)


def test_ends_of_different_paths(bench):
    pair(bench, 'lat', '--path', 'verbs', '--iters', '100', server=('--path', 'direct'))
    pair(bench, 'lat', '--path', 'ibv', '--iters', '100', server=('--path', 'ibv'))


def test_ends_that_do_not_fit(bench):
    port = free_port()
    serving = bench.start(PERF, 'lat', '--port', port, 'server')
    bench.complains('both ends must use it', PERF, 'lat', '--port', port, '--path', 'ibv', 'client',
                    'localhost')
    check('both ends must use it' in bench.finish(serving, 1)[1], 'the server did not say it')


def test_only_one_uses_cm(bench):
    port = free_port()
    serving = bench.start(PERF, 'lat', '--port', port, 'server')
    bench.complains('--cm: both ends must use it', PERF, 'lat', '--port', port, '--cm', 'client',
                    'localhost')
    check('--cm: both ends must use it' in bench.finish(serving, 1)[1], 'the server kept silent')


def test_cm(bench):
    for test, path in product(('lat', 'bw'), ('direct', 'verbs')):
        port, env = free_port(), {'SOFTCX_LINK': 'roce', 'SOFTCX_NETDEV': 'lo'}
        command = [PERF, test, '--cm', '--port', port, '--path', path, '--iters', '100']
        serving = bench.start(*command, 'server', **env)
        bench.run(*command, 'client', '127.0.0.1', **env)
        bench.finish(serving)
    bench.complains('nobody', PERF, 'lat', '--port', free_port(), '--cm', '--timeout', '1', 'server', **env)


# -- peers that fail

def test_nobody_comes(bench):
    bench.complains('nobody connected within 1000 ms', PERF, 'lat', '--port', free_port(),
                    '--timeout', '1', 'server')


def test_nobody_is_there(bench):
    bench.complains('Connection refused: start', PERF, 'lat', '--port', free_port(), '--timeout',
                    '1', 'client', 'localhost')
    bench.complains('no-such-host.invalid', PERF, 'lat', '--timeout', '1', 'client',
                    'no-such-host.invalid')


def connect_to(port):
    while True:
        try:
            return socket.create_connection(('localhost', int(port)), timeout=30)
        except ConnectionRefusedError:
            pass


def test_a_stranger_comes(bench):
    for words, complaint in [(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 'not a bsn-perf: use'),
                             (b'bsn1' + bytes(100), 'another version: use the same'),
                             (b'bsn9', 'another version: use the same')]:
        port = free_port()
        serving = bench.start(PERF, 'lat', '--port', port, 'server')
        with connect_to(port) as stranger:
            stranger.sendall(words)
            out, err = bench.finish(serving, 1)
            check(complaint in err and err.count('\n') == 1, f'{words}: {out}{err}')


def test_the_client_goes_away(bench):
    port = free_port()
    serving = bench.start(PERF, 'lat', '--port', port, 'server')
    connect_to(port).close()
    check('the peer closed the connection' in bench.finish(serving, 1)[1], 'not noticed')


def test_the_client_is_killed(bench):
    port = free_port()
    serving = bench.start(PERF, 'lat', '--port', port, 'server')
    client = bench.start(PERF, 'lat', '--port', port, '--iters', '1g', 'client', 'localhost')
    serving_socket = None
    while serving_socket is None:  # until the two are connected
        with open(f'/proc/{client.pid}/net/tcp6', encoding='ascii') as v6, \
                open(f'/proc/{client.pid}/net/tcp', encoding='ascii') as v4:
            for line in [*v6, *v4]:
                fields = line.split()
                if fields[1].endswith(f':{int(port):04X}') and fields[3] == '01':
                    serving_socket = fields
        check(client.poll() is None, 'the client ended by itself')
    client.kill()
    client.communicate()
    _, err = bench.finish(serving, 1)
    check('the peer' in err or 'failed' in err, err)
    check(err.count('\n') == 1, err)


def test_a_failure_is_said_at_once(bench):
    """In one line, with what the device said; --timeout is longer than the test may take."""
    for test in 'lat', 'bw':
        for path in 'direct', 'verbs', 'ibv':
            def fails_by(plan, text):
                # libmlx5 keeps memory of what it could not destroy on a device that vanished.
                bench.complains(text, PERF, test, '--path', path, '--timeout', '600',
                                '--iters', '100', SOFTCX_FAULT=plan,
                                ASAN_OPTIONS='detect_leaks=0')
            fails_by('nth=20 fail 0x13 0x88', 'vendor syndrome 0x88')
            fails_by('nth=20 fail 0x13 0x88', 'write failed: remote access error')
            fails_by('nth=20 remove-device', 'the device reports: local catastrophic error')
            fails_by('nth=20 cq-overrun', 'the device reports: CQ error')


def test_a_failure_at_the_server_is_said_at_once(bench):
    port = free_port()
    fault = {'SOFTCX_FAULT': 'nth=20 fail 0x13 0x88'}
    serving = bench.start(PERF, 'lat', '--port', port, '--timeout', '600', 'server', **fault)
    client = bench.start(PERF, 'lat', '--port', port, '--timeout', '600', 'client', 'localhost')
    said = bench.finish(serving, 1)[1]
    check('write failed: remote access error (syndrome 0x13' in said, said)
    check('the peer went away' in bench.finish(client, 1)[1], 'the client waits')


sys.exit(main(globals()))
