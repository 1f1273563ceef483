#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf: what it refuses, what it prints, between two processes and alone. No time is asserted.

usage: perf.py PROGRAM
"""

import json
import os
import platform
import re
import socket
import sys
import tempfile

from harness import check, free_port, main

PERF = sys.argv[1]
OPS = ['write', 'read', 'send', 'atomic']
PATHS = ['direct', 'verbs', 'ibv']
# Some of the rows of cost, and all of what is posted to each kind of queue.
ROWS = ['write_sge', 'write_sge4', 'write_inline', 'write_inline256', 'write_prepared',
        'write_batch16_inline64', 'write_imm_inline', 'read_sge2', 'send', 'send_imm', 'fetch_add',
        'cmp_swap', 'write_512_qps', 'ud_send_sge', 'ud_send_inline32', 'attached_write_sge', 'post_recv',
        'post_recv_srq', 'poll_1', 'poll_16', 'poll_empty', 'poll_recv', 'poll_recv_imm',
        'poll_recv_srq', 'poll_ud_send', 'poll_ud_recv', 'poll_512_qps', 'poll_256_qps_apart',
        'post_recv_16', 'post_recv_srq_16', 'poll_recv_data', 'poll_recv_inline',
        'attached_poll_recv', 'write_sge_hidden', 'write_inline64_length', 'write_sge_symbol']
COLUMNS = {'bunsen', 'bunsen_v2', 'ibv_wr', 'ibv', 'floor'}
LATENCIES = ['min', 'p50', 'p90', 'p99', 'p99_9', 'p99_99', 'max']


def pair(bench, test, *args, server=(), **more):
    port = free_port()
    serving = bench.start(PERF, test, '--port', port, *server, 'server')
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
            ('client needs the HOST', 'lat', 'client'),
            ('frob: use server, or client HOST', 'lat', 'frob'),
            ('one argument too many: more', 'lat', 'server', 'more'),
            ('one argument too many: more', 'lat', 'client', 'localhost', 'more'),
            ('--cm needs two processes', 'lat', '--cm'),
            ('--cm is for paths', 'lat', '--cm', '--path', 'ibv', 'server'),
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
            ('layout takes no argument more', 'layout', 'more'),
            ('--regions 0: must be', 'memory', '--regions', '0'),
            ('memory takes no argument more', 'memory', 'more')]:
        bench.complains(text, PERF, *args, status=2)


def test_no_command(bench):
    out, err = bench.run(PERF, status=2)
    check(not out and err.startswith('usage: bsn-perf'), err)


def test_help_and_version(bench):
    check(bench.run(PERF, '--help')[0].startswith('usage: bsn-perf'), 'no help')
    check(bench.run(PERF, '--version')[0].startswith('bsn-perf '), 'no version')
    for command in 'cost', 'layout', 'memory', 'lat', 'bw':
        out = bench.run(PERF, command, '--help')[0]
        check('--json' in out, command)
        for line in re.findall(r'^ +(?:-\w, )?--.*', out, re.MULTILINE):
            check(re.match(r' +(-., )?--[a-z-]+(=\S+)?(  +\S|$)', line), line)


def test_no_device(bench):
    for command in 'cost', 'layout', 'memory', 'lat', 'bw':
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
        columns -= {'ibv_wr', 'ibv'}
    if op.startswith('post_recv'):
        columns.discard('ibv_wr')
    if op == 'write_512_qps':
        columns.discard('floor')
    if op.endswith('_symbol') or platform.machine() != 'x86_64':
        columns.discard('bunsen_v2')
    return columns


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
        check(set(row) == columns | {'op'}, row)
        for column in columns:
            check(set(row[column]) == {'ns', 'ns_p10', 'ns_min'}, row)
            check(0 <= row[column]['ns_min'] <= row[column]['ns_p10'] <= row[column]['ns'], row)


def test_cost_names_the_store(bench):
    for store in '8x8', '4x16', 'doorbell':
        check(cost(bench, '--op', 'write_sge', BSN_STORE=store)['store'] == store, store)
        check(cost(bench, '--op', 'write_sge', '--store', store)['store'] == store, store)


def test_cost_of_some_rows(bench):
    rows = cost(bench, '--op', 'poll_1,send')['rows']
    check([row['op'] for row in rows] == ['send', 'poll_1'], rows)


def test_cost_of_some_columns(bench):
    rows = cost(bench, '--op', 'poll_1', '--columns', 'floor,bunsen_v2')['rows']
    check(set(rows[0]) == {'op'} | {'floor', 'bunsen_v2'} & columns_of('poll_1'), rows)


def test_cost_of_each_length(bench):
    usual = [row['op'] for row in cost(bench, '--rounds', '1')['rows']]
    swept = [row['op'] for row in cost(bench, '--rounds', '1', '--sweep')['rows']]
    check(swept[:len(usual)] == usual, swept)
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


def layout(bench, *args, **more):
    report = json.loads(bench.run(PERF, 'layout', '--rounds', '2', '--json', *args, **more)[0])
    return report, {row.pop('op'): row for row in report['rows']}


def test_layout_json(bench):
    report, rows = layout(bench)
    check(list(report) == ['device', 'path', 'cpu', 'store', 'rounds', 'rows'], report)
    for kind, counts in ('list', (1, 4, 8, 16, 32, 48)), ('interleaved', (1, 4, 32)):
        for count in counts:
            row = rows.pop(f'{kind}_{count}')
            check(set(row) == {'bunsen', 'uncommitted', 'commit', 'bunsen_map', 'libmlx5'}, row)
            # The same bytes: a control segment, the head, and translations by fours, or a doorbell.
            asked = [row[side]['bus'] for side in ('bunsen', 'libmlx5')]
            check(asked[0]['mmio_bytes'] == asked[1]['mmio_bytes'], row)
            check(asked[0]['wqe_fetch_bytes'] == asked[1]['wqe_fetch_bytes'], row)
    for op, row in rows.items():
        for figures in row.values():
            check(0 <= figures['ns_p10'] <= figures['ns'], (op, row))
    known = rows['send_known']['bunsen']['bus']
    check((known['payload_read'], known['cqe_write']) == (1024, 1), known)
    check(rows['send_packed']['bunsen']['bus']['payload_read'] == 1, rows)


def test_layout_of_some_rows(bench):
    check(list(layout(bench, '--op', 'map_last,list_4')[1]) == ['list_4', 'map_last'], 'rows')


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


def asked(bench, *args, **more):
    rows = json.loads(bench.run(PERF, 'cost', '--bus', '--json', *args, **more)[0])['bus']
    return {row['op']: row for row in rows}


def test_cost_of_the_bus(bench):
    """By the book: 64 B by BlueFlame are not fetched again; a batch rings once, and is fetched."""
    expected = {  # op: MMIO stores, bytes, WQE fetches, bytes of them, CQEs
        'write_sge': (8, 64, 0, 0, 1),
        'write_sge4': (16, 128, 0, 0, 1),
        'write_batch16_sge': (1 / 16, 0.5, 2 / 16, 64, 1),
        'send': (8, 64, 0, 0, 2),
    }
    # What fills a block is in a vector register, and goes by 16 bytes.
    blocks = {'write_sge': 7, 'write_sge4': 14, 'send': 6}
    names = 'mmio', 'mmio_bytes', 'wqe_fetch', 'wqe_fetch_bytes', 'cqe_write'
    rows = asked(bench, '--store', '8x8', '--op', 'poll_1,' + ','.join(expected))
    check(set(rows) == set(expected), rows)
    for op, figures in expected.items():
        for column in 'bunsen', 'ibv', 'floor':
            found = [rows[op][column][name] for name in names]
            wanted = (blocks[op], *figures[1:]) if column == 'bunsen' and op in blocks else figures
            check(all(abs(a - b) < 0.03 for a, b in zip(found, wanted)), f'{op} {column} {found}')
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


def test_no_rdma_cm(bench):
    """The software ConnectX has none. Where the kernel has it, nobody comes."""
    bench.complains('rdma_cm: ' if not os.path.exists('/dev/infiniband/rdma_cm') else 'nobody',
                    PERF, 'lat', '--port', free_port(), '--cm', '--timeout', '1', 'server')


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
    """In one line, with what the device said of it; --timeout is longer than the test may take."""
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
