#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf lat and bw, between two processes and alone. No time is asserted.

usage: perf_traffic.py PROGRAM [--sanitized] [--pmix]
"""

import collections
import itertools
import json
import pathlib
import re
import shutil
import sys

from harness import check, free_port, has, main, need
from perf_rig import OPS, PATHS, PERF, pair

LATENCIES = ['min', 'p50', 'p90', 'p99', 'p99_9', 'p99_99', 'max']


def lat(bench, *args, **more):
    return bench.json(PERF, 'lat', *(args if {'-n', '-D'} & set(args) else ('-n', '10', *args)),
                      **more)


def bw(bench, *args, **more):
    return bench.json(PERF, 'bw', *args, **more)


def traced(bench, run, *args, **more):
    """What softcx says of a run."""
    trace = bench.file('', 'trace')
    run(bench, *args, SOFTCX_TRACE=str(trace), **more)
    return trace.read_text()


def check_lat(report, iters):
    check(report['samples'] == iters, report)
    values = [report[key] for key in LATENCIES]
    check(values == sorted(values) and values[0] > 0, report)
    check(report['min'] <= report['mean'] <= report['max'], report)


def test_lat_alone(bench):
    for op, path in itertools.product(OPS, PATHS):
        report = lat(bench, '--op', op, '--path', path, '-n', '300')
        check((report['test'], report['op'], report['path']) == ('lat', op, path), report)
        check_lat(report, 300)


def test_path_by_default(bench):
    for env, path in ({}, 'direct'), ({'BSN_PATH': 'verbs'}, 'verbs'):
        for test in 'lat', 'bw':
            report = bench.json(PERF, test, '--iters', '20', **env)
            check(report['path'] == path, report)


def test_bw_alone(bench):
    for op, path in itertools.product(OPS, PATHS):
        report = bw(bench, '--op', op, '--path', path, '--iters', '500')
        check((report['test'], report['op'], report['path']) == ('bw', op, path), report)
        check(report['bytes_per_second'] > 0 and report['messages_per_second'] > 0, report)


def test_sizes_and_depths(bench):
    for op in 'write', 'send':
        for size in '1', '64', '65', '4k', '1m':
            bench.run(PERF, 'lat', '--op', op, '--size', size, '--iters', '20')
        for depth in '1', '2', '17':
            bench.run(PERF, 'bw', '--op', op, '--depth', depth, '--iters', '100')


def test_perftest_s_letters(bench):
    """Perftest's letters mean the same here; those that are often typed are answered."""
    theirs = {}
    for name in 'ib_write_bw', 'ib_send_lat', 'ib_read_lat', 'ib_atomic_bw':
        if shutil.which(name):
            help_text = bench.run(name, '--help', status=1)[0]
            theirs |= dict(re.findall(r'^ +-(\w), (--[-\w]+)', help_text, re.MULTILINE))
    need(theirs, 'perftest is not installed')
    check({'x', 'c', 'm', 'I', 'S', 'u', 'Q', 'F', 'T'} <= set(theirs), theirs)
    ours = dict(re.findall(r'^ +-(\w), (--[-\w]+)', bench.run(PERF, 'bw', '--help')[0],
                           re.MULTILINE))
    for letter, name in theirs.items():
        for word in f'-{letter}', name:
            if letter not in ours and letter not in 'FNQRTVHUelr':
                continue
            _, said = bench.run(PERF, 'bw', word, '8', 'nonsense', status=2)
            check('unknown option' not in said, f'{word}: {said}')
            check(letter in ours or letter in 'FN' or "is perftest's: " in said, f'{word}: {said}')
    check(bench.run(PERF, 'lat', '-h')[0] == bench.run(PERF, 'lat', '--help')[0], '-h')
    lat(bench, '-F', '--report_gbits', '-d', 'mlx5_0')


def test_connections(bench):
    for path, (kind, op) in itertools.product(PATHS, [('UC', 'write'), ('UC', 'send'),
                                                      ('UD', 'send'), ('rc', 'read')]):
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
    for path, index in itertools.product(PATHS, '03'):
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
    for path, (letter, value, name) in itertools.product(PATHS, [
            ('-m', 256, 'mtu'), ('-m', 512, 'mtu'), ('-u', 10, 'timeout'), ('-u', 31, 'timeout'),
            ('-S', 3, 'sl'), ('-L', 9, 'hop_limit'), ('--tclass', 96, 'tclass')]):
        trace = traced(bench, lat, letter, str(value), '--path', path, SOFTCX_LINK='roce')
        qps = ''.join(line for line in trace.split('\n') if ' qp: ' in line)
        found = [int(n) for n in re.findall(rf' {name} (\d+)', qps)]
        check(found == [value, value], f'{letter} {value} {path}: {qps}')
    for path, index in itertools.product(PATHS, (1, 3)):
        trace = traced(bench, lat, '-x', str(index), '--path', path, SOFTCX_LINK='roce')
        check(trace.count(f' sgid_index {index} ') == 2, f'-x {index} {path}')
    # Nothing acknowledges to an unreliable one.
    for path, (kind, has_timeout) in itertools.product(PATHS, [('RC', True), ('UC', False)]):
        qps = traced(bench, lat, '-c', kind, '--path', path)
        check(' mtu ' in qps and (' timeout ' in qps) == has_timeout, f'{kind} {path}: {qps}')


def test_datagrams_tell_their_way(bench):
    """Each WQE of a datagram has its way, also those of the server; on RoCE an SL counts twice."""
    way = ['-m', '1024', '-S', '3', '--tclass', '96', '-L', '9', '-x', '1']
    for path in PATHS:
        for wqe in posted(bench, '-c', 'UD', '--op', 'send', '-n', '5', '--path', path, *way,
                          run=lambda _, *args, **more: pair(
                              bench, 'lat', *args, server=('--path', path, '-x', '0'), **more),
                          SOFTCX_LINK='roce'):
            check(' sl 0x6 ' in wqe and ' tclass 0x60 hop_limit 0x9 ' in wqe, wqe)


def test_inline_size(bench):
    for path, (size, most) in itertools.product(PATHS, [(8, 8), (8, 0), (200, 200), (200, 199),
                                                        (64, 64), (65, 64)]):
        wqes = posted(bench, 'bw', '-n', '4', '--path', path, '-s', str(size), '-I', str(most))
        check(all((' is_inline ' in wqe) == (size <= most) for wqe in wqes), (size, most, wqes[0]))


def test_sweep(bench):
    """-a: sizes double; inline data and SGEs; receives are as long as the longest."""
    sizes = [2 ** i for i in range(1, 9)]
    for op, path in itertools.product(('write', 'send', 'read'), PATHS):
        report = bw(bench, '-a', '--size', '256', '--op', op, '--path', path, '--iters', '200',
                    '--depth', '16')
        check([row['size'] for row in report['sizes']] == sizes, report)
    for test, columns in ('bw', 6), ('lat', 8):
        out, served = pair(bench, test, '-a', '--size', '300', '--op', 'send', '--iters', '50')
        rows = [line.split() for line in out.split('\n')[2:-1]]
        check([int(row[0]) for row in rows] == sizes and {len(row) for row in rows} == {columns},
              out)
        check('2 to 300 bytes' in served, served)


def test_several_queue_pairs(bench):
    """-q: each takes its turn; on softcx, whose trace names them."""
    for path in PATHS:
        trace = bench.file('', path)
        report = bw(bench, '-q', '5', '--path', path, '-n', '200', SOFTCX_TRACE=str(trace))
        check((report['qps'], report['iters'], report['bidirectional']) == (5, 200, False), report)
        qpns = collections.Counter(re.findall(r' wqe: qpn (0x\w+) ', trace.read_text()))
        check(len(qpns) == 5 and min(qpns.values()) > 30, f'{path}: {qpns}')
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
        one, both = (traced(bench, bw, *args, '--op', op, '-n', '200').count(' wqe: qpn ')
                     for args in ((), ('-b',)))
        check(both == 2 * one > 0, f'{op}: {one} one way, {both} both ways')


def test_duration(bench):
    """-D: so long, and not two seconds more."""
    for op, seconds in ('write', 1), ('write', 0.1), ('send', 0.1), ('read', 0.1):
        report = bw(bench, '-D', str(seconds), '--op', op)
        check(seconds <= report['seconds'] < seconds + 2 and report['iters'] > 100, report)
        report = lat(bench, '-D', '0.1', '--op', op)
        check(report['samples'] == report['iters'] > 100 and report['seconds'] >= 0.1, report)
    out, served = pair(bench, 'lat', '-D', '0.1', '--op', 'send')
    check('for 0.1 s, path' in out and 'for 0.1 s, path' in served, served)
    pair(bench, 'lat', '-D', '0.1')
    for args in (), ('-b',):
        out, _ = pair(bench, 'bw', '-D', '0.1', '--op', 'send', *args)
        check('for 0.1 s' in out, out)


def test_trace_of_what_goes_well(bench):
    """The trace has no errors: refusals that libraries provoke on purpose do not count."""
    for path in PATHS:
        bench.run(PERF, 'lat', '--path', path, '--iters', '3')
    lines = pathlib.Path(bench.trace.name).read_text().splitlines()
    errors = [line for line in lines if 'error' in line]
    check(not errors and any(' wqe: ' in line for line in lines), errors)


def test_stepped(bench):
    for op in OPS:
        bench.run(PERF, 'lat', '--op', op, '--iters', '50', SOFTCX_PASSIVE='1')
        bench.run(PERF, 'bw', '--op', op, '--iters', '200', SOFTCX_PASSIVE='1')


def test_text(bench):
    has(bench.run(PERF, 'lat', '--iters', '50')[0], 'half of a round trip', '99.99 %')
    has(bench.run(PERF, 'bw', '--iters', '50')[0], 'MB/s', 'Gb/s', 'Mpps')


def test_head_line(bench):
    """What is measured on a model says so; the device's name alone would not."""
    for test, path in itertools.product(('lat', 'bw'), PATHS):
        args = [test, '--op', 'send', '--path', path, '--iters', '50']
        head = bench.run(PERF, *args)[0].split('\n')[0]
        check(re.search(f'path {path} on mlx5_0 of softcx, a model.*, in one process, '
                        r'sampled for 0\.\d{3} s$', head), head)
        report = bench.json(PERF, *args)
        check((report['model'], report['processes']) == ('softcx', 1), report)
        check(0 < report['seconds'] < 10, report)
    for test in 'lat', 'bw':
        out, served = pair(bench, test, '--iters', '50')
        check(', in two processes, sampled for ' in out and ', in two processes' in served, out)


def test_no_server(bench):
    """A client that waits for a server says so, once."""
    _, err = bench.run(PERF, 'lat', '--timeout', '1.1', '--port', free_port(), 'client',
                       'localhost', status=1)
    check(err.count('no server at localhost port ') == 1 and 'waiting for one for 0.1 s' in err,
          err)
    check(err.count('\n') == 2, err)


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


sys.exit(main(globals()))
