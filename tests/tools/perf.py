#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf: what it refuses, what it prints, between two processes and alone. No time is asserted.

usage: perf.py PROGRAM
"""

import json
import os
import socket
import sys
import tempfile

from harness import check, free_port, main

PERF = sys.argv[1]
OPS = ['write', 'read', 'send', 'atomic']
PATHS = ['dv', 'verbs', 'ibv']
ROWS = ['write_sge', 'write_inline', 'write_prepared', 'write_batch16_sge', 'write_batch16_inline',
        'read', 'send', 'poll_1', 'poll_16', 'poll_empty', 'post_recv']
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
            ('--path frob: use one of dv, verbs, ibv', 'bw', '--path', 'frob'),
            ('--size 0: must be 1 to', 'lat', '--size', '0'),
            ('--size 2g: must be 1 to', 'lat', '--size', '2g'),
            ('--size 99999999999999999999: must be 1 to', 'lat', '--size', '9' * 20),
            ('--size -1: not a number', 'lat', '--size=-1'),
            ('--size 8x: not a number', 'lat', '--size', '8x'),
            ('--size 4: atomics have 8 bytes', 'bw', '--op', 'atomic', '--size', '4'),
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
            ('--op frob: no such operation', 'cost', '--op', 'read,frob'),
            ('--rounds 0: must be', 'cost', '--rounds', '0'),
            ('cost takes no argument more', 'cost', 'more')]:
        bench.complains(text, PERF, *args, status=2)


def test_no_command(bench):
    out, err = bench.run(PERF, status=2)
    check(not out and err.startswith('usage: bsn-perf'), err)


def test_help_and_version(bench):
    check(bench.run(PERF, '--help')[0].startswith('usage: bsn-perf'), 'no help')
    check(bench.run(PERF, '--version')[0].startswith('bsn-perf '), 'no version')
    for command in 'cost', 'lat', 'bw':
        check('--json' in bench.run(PERF, command, '--help')[0], command)


def test_no_device(bench):
    for command in 'cost', 'lat', 'bw':
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
    return json.loads(bench.run(PERF, 'cost', '--rounds', '2', '--json', *args, **more)[0])


def test_cost_json(bench):
    report = cost(bench)
    check(list(report) == ['device', 'path', 'cpu', 'store', 'rows'], report)
    check(report['device'] == 'mlx5_0' and report['path'] == 'dv' and report['cpu'], report)
    check([row['op'] for row in report['rows']] == ROWS, report)
    for row in report['rows']:
        left_out = {'write_prepared': {'ibv_wr', 'ibv'}, 'post_recv': {'ibv_wr'}}
        columns = {'bunsen', 'ibv_wr', 'ibv', 'floor'} - left_out.get(row['op'], set())
        check(set(row) == columns | {'op'}, row)
        for column in columns:
            check(set(row[column]) == {'ns', 'ns_min'}, row)
            check(0 <= row[column]['ns_min'] <= row[column]['ns'], row)


def test_cost_names_the_store(bench):
    for store in '8x8', 'doorbell':
        check(cost(bench, '--op', 'write_sge', BSN_STORE=store)['store'] == store, store)


def test_cost_of_some_rows(bench):
    rows = cost(bench, '--op', 'poll_1,send')['rows']
    check([row['op'] for row in rows] == ['send', 'poll_1'], rows)


def test_cost_on_plain_verbs(bench):
    report = cost(bench, BSN_PATH='verbs')
    check(report['path'] == 'verbs', report)
    check(all('floor' not in row and 'bunsen' in row for row in report['rows']), report)


def test_cost_on_roce(bench):
    check(len(cost(bench, SOFTCX_LINK='roce')['rows']) == len(ROWS), 'rows are missing')


def test_cost_text(bench):
    out, _ = bench.run(PERF, 'cost', '--rounds', '2')
    check(all(f'\n{row} ' in out for row in ROWS), out)
    check('device mlx5_0: direct' in out and 'bunsen/ibv' in out, out)


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
    for env, path in ({}, 'dv'), ({'BSN_PATH': 'verbs'}, 'verbs'):
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


def test_stepped(bench):
    for op in OPS:
        bench.run(PERF, 'lat', '--op', op, '--iters', '50', SOFTCX_PASSIVE='1')
        bench.run(PERF, 'bw', '--op', op, '--iters', '200', SOFTCX_PASSIVE='1')


def test_text(bench):
    out, _ = bench.run(PERF, 'lat', '--iters', '50')
    check('half of a round trip' in out and '99.99 %' in out, out)
    out, _ = bench.run(PERF, 'bw', '--iters', '50')
    check('MB/s' in out and 'messages/s' in out, out)


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
    pair(bench, 'lat', '--path', 'verbs', '--iters', '100', server=('--path', 'dv'))
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
        for path in 'dv', 'verbs', 'ibv':
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
