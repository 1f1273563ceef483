#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-perf: what it refuses, what dc prints, and what it says if a peer fails.

No time is asserted. usage: perf.py PROGRAM [--sanitized] [--pmix]
"""

import itertools
import json
import re
import shutil
import socket
import sys

from harness import check, free_port, has, main, need
from perf_rig import HAS_VALGRIND, PERF

HAS_PMIX = '--pmix' in sys.argv


# -- what is refused

# What bsn-perf says, and of which words.
WRONG_USAGE = [
    ('no command frob', 'frob'),
    ('--frob: unknown option', 'lat --frob'),
    ('--op frob: use one of write, read, send, atomic', 'lat --op frob'),
    ('--path frob: use one of auto, direct, verbs', 'bw --path frob'),
    ('--size 0: must be 1 to', 'lat --size 0'),
    ('--size 2g: must be 1 to', 'lat --size 2g'),
    ('--size 99999999999999999999: must be 1 to', 'lat --size 99999999999999999999'),
    ('--size -1: not a number', 'lat --size=-1'),
    ('--size 8x: not a number', 'lat --size 8x'),
    ('--size 4: atomics have 8 bytes', 'bw --op atomic --size 4'),
    ('--all: atomics have 8 bytes', 'bw --op atomic --all'),
    ('--all begins at 2 bytes', 'lat --all --size 1'),
    ('--iters 0: must be', 'bw --iters 0'),
    ('--depth 65536: must be', 'bw --depth 65536'),
    ('--timeout 0: must be', 'lat --timeout 0'),
    *((f'--duration {seconds}: must be 0.001 to 86400', f'lat -D {seconds}')
      for seconds in ('0', '0.0001', '86401', '1e9', '1e999')),
    *((f'--duration {text}: not a number', f'lat --duration={text}')
      for text in ('-1', 'nan', 'inf', '0.5x', '1.5.5')),
    ('--iters and --duration: use one', 'bw -n 5 -D 5'),
    ('--qp 0: must be', 'bw -q 0'),
    ('--qp: latency is that of one', 'lat -q 2'),
    ('--bidirectional is for bw', 'lat -b'),
    ('client needs the HOST', 'lat client'),
    ('frob: use server, or client HOST', 'lat frob'),
    ('one argument too many: more', 'lat server more'),
    ('one argument too many: more', 'lat client localhost more'),
    ('--connection RAW: use one of RC, UC, UD', 'lat -c RAW'),
    ('see bsn-perf dc', 'bw -c DC'),
    ('--connection UC has no --op read', 'lat -c UC --op read'),
    ('--connection UD has no --op write', 'lat -c ud'),
    ('--ib-port 0: must be', 'lat -i 0'),
    ('--gid-index x: not a number', 'lat -x x'),
    ('--gid-index 256: must be', 'lat -x 256'),
    ('--mtu 1500: use 256, 512', 'lat -m 1500'),
    ('--mtu 9000: must be', 'lat -m 9000'),
    ('--inline-size: a read sends no data', 'lat -I 8 --op read'),
    ('--sl 16: must be', 'lat -S 16'),
    ('--tclass 256: must be', 'lat --tclass 256'),
    ('--hop-limit 0: must be', 'lat -L 0'),
    ('--qp-timeout 32: must be', 'lat -u 32'),
    ('--output 4: the report', 'lat -o 4'),
    ("-Q, --cq-mod is perftest's: every request completes", 'bw -Q 4'),
    ("-R, --rdma_cm is perftest's: queue pairs meet", 'bw -R server'),
    ("--tos is perftest's: use --tclass", 'lat -T 96 server'),
    ("--run_infinitely is perftest's: use --duration", 'bw --run_infinitely'),
    ('--op frob: there is none', 'cost --op read,frob'),
    ('--columns frob: there is none', 'cost --columns ibv,frob'),
    ('--rounds 0: must be', 'cost --rounds 0'),
    ('--depth 8: must be', 'cost --depth 8'),
    ('--qps 0: must be 1 to 4096', 'cost --qps 16,0'),
    ('--qps: no number', 'cost --qps '),  # an empty one
    ('cost takes no argument more', 'cost more'),
    ('--store frob: use one of auto 8x8 4x16', 'cost --store frob'),
    ('no command layout', 'layout'),
    ('--peers 0: must be', 'dc --peers 0'),
    ('--dcis x: not a number', 'dc --dcis x'),
    ('--window 5000: must be', 'dc --window 5000'),
    ('--policy frob: there is none', 'dc --policy lru,frob'),
    ('use --simulate', 'dc --policy lru,dcs'),
    ('dc takes no argument more', 'dc more'),
    ('--streams 0: must be', 'dc --streams 0'),
    ('slots', 'dc --simulate --dcis 4096 --streams 1024'),
    ('use --simulate', 'dc --connect-ns 140'),
    ('--simulate has no device', 'dc --simulate --device mlx5_0'),
    ('--simulate has --connect-ns', 'dc --simulate --full-handshake'),
    ('--local 0: must be', 'dc --local 0'),
    ('use one', 'dc --local 2 --pmix'),
    ('are the other ones', 'dc --local 2 --peers 5'),
]


def test_wrong_usage(bench):
    for text, words in WRONG_USAGE:
        bench.complains(text, PERF, *words.split(' '), status=2)


def test_no_command(bench):
    out, err = bench.run(PERF, status=2)
    check(not out and err.startswith('usage: bsn-perf'), err)


def test_help_and_version(bench):
    check(bench.run(PERF, '--help')[0].startswith('usage: bsn-perf'), 'no help')
    check(bench.run(PERF, '--version')[0].startswith('bsn-perf '), 'no version')
    for command in 'cost', 'dc', 'lat', 'bw':
        out = bench.run(PERF, command, '--help')[0]
        check('--json' in out, command)
        for line in re.findall(r'^ +(?:-\w, )?--.*', out, re.MULTILINE):
            check(re.match(r' +(-., )?--[a-z-]+(=\S+)?(  +\S|$)', line), line)


def test_no_device(bench):
    for command in 'cost', 'dc', 'lat', 'bw':
        bench.complains('no RDMA device no_such_device', PERF, command, device=False)
        bench.complains('no RDMA device nix_0', PERF, command, '--device', 'nix_0')


def test_report_that_cannot_be_written(bench):
    few = ('--iters', '10')
    for path, text in (('/nonexistent/report', '--output /nonexistent/report: No such file'),
                       ('/dev/full', '/dev/full: No space left')):
        bench.complains(text, PERF, 'lat', *few, '--json', '--output', path)


# -- dc

POLICIES = ['lru', 'hashed']
SIMULATED = [*POLICIES, 'dcs', 'dcs_quota']


def dc(bench, words, **more):
    return bench.json(PERF, 'dc', *words.split(), **more)


def policies_of(report):
    """By name; each is checked."""
    for policy in report['policies']:
        check(policy['connects_are_the_devices'], policy)
        # Requests that wait for one peer together need one connection.
        check(policy['waits_per_operation'] or
              policy['connects_per_operation'] >= report['optimum_per_operation'], report)
        check(0 < policy['fairness'] <= 1.0000001, policy)
        check(policy['wait_p99_us'] <= policy['wait_max_us'] * 1.01, policy)
    return {policy['policy']: policy for policy in report['policies']}


def connects(bench, words):
    return {name: policy['connects_per_operation']
            for name, policy in policies_of(dc(bench, words)).items()}


def test_dc_json(bench):
    report = dc(bench, '--operations 4000')
    policies = policies_of(report)
    check(list(report) == ['device', 'model', 'path', 'cpu', 'store', 'pattern', 'peers', 'dcis',
                           'streams', 'window', 'operations', 'bytes', 'optimum_per_operation',
                           'policies'], report)
    check(list(policies) == POLICIES, report)
    check(policies['hashed']['waits_per_operation'] > policies['lru']['waits_per_operation'],
          report)


def test_dc_patterns(bench):
    few = '--operations 3000 --policy lru --window 4 --pattern '
    for pattern, least, most in (
            ('moving', 0, 0.05), ('incast', 1 / 3000, 1 / 3000), ('all_to_all', 1, 1),
            ('uniform --peers 16 --dcis 8', 0.4, 0.6)):
        lru = connects(bench, few + pattern)['lru']
        check(least <= lru <= most, f'{pattern}: {lru}')
    bursts = dc(bench, few + 'bursts')
    check(policies_of(bursts) and bursts['optimum_per_operation'] < 0.13, bursts)


def test_dc_is_as_simulated(bench):
    """
    Where one request is outstanding at a time, softcx and the model connect alike, to the last
    one. With more, softcx executes them at once, where the model has them end one after the
    other: that differs little.
    """
    for pattern, streams in ('zipf', 1), ('moving', 1), ('zipf', 8), ('bursts', 4):
        few = (f'--operations 3000 --pattern {pattern} --streams {streams} --dcis 8 '
               '--policy lru,hashed --window ')
        check(connects(bench, few + '1') == connects(bench, few + '1 --simulate'), pattern)
        real, simulated = connects(bench, few + '4'), connects(bench, few + '4 --simulate')
        check(all(abs(real[name] - simulated[name]) < 0.02 for name in real), f'{real} {simulated}')


def test_dc_streams_are_worth_initiators(bench):
    for pattern in 'zipf', 'bursts', 'moving':
        few = f'--operations 10000 --dcis 8 --streams 8 --window 16 --pattern {pattern} --policy '
        made = connects(bench, few + 'lru') | connects(bench, few + 'dcs_quota --simulate')
        check(made['lru'] <= 0.45 * made['dcs_quota'], f'{pattern} {made}')
    out = bench.run(PERF, 'dc', '--operations', '10', '--streams', '33')[0]
    has(out, '33 streams: an initiator has 32 at most')


def test_dc_by_a_full_handshake(bench):
    few = '--operations 1000 --policy lru'
    args = ('dc', *few.split(), '--full-handshake')
    report = dc(bench, few + ' --full-handshake')
    check(report['full_handshake'] and 'full_handshake' not in dc(bench, few), report)
    check(policies_of(report)['lru']['connects_per_operation'] == connects(bench, few)['lru'],
          report)
    has(bench.run(PERF, *args)[0], 'initiators, by a full handshake, window')
    has(bench.run(PERF, *args, BSN_PATH='verbs')[0], 'no full handshake')


def test_dc_simulated(bench):
    words = '--simulate --operations 2000 '
    many = words + '--peers 1000,100000 --streams 4'
    report = dc(bench, many, device=False)
    check(report['model'] == {'connect_ns': 60, 'answer_ns': 1200, 'random_ns': 500,
                              'issue_ns': 50}, report)
    check([run['peers'] for run in report['runs']] == [1000, 100000], report)
    check([policy['policy'] for policy in report['runs'][1]['policies']] == SIMULATED, report)
    slow, quick = (
        dc(bench, words + '--policy lru' + more, device=False)['policies'][0]['operations_per_s']
        for more in (' --connect-ns 2700', ''))
    check(slow < 0.8 * quick, (slow, quick))
    out = bench.run(PERF, 'dc', *many.split(), device=False)[0]
    check(out.count('a model of time') == 2 and 'of 4 streams' in out, out)


def test_dc_waits_where_all_are_busy(bench):
    lru = policies_of(dc(bench, '--operations 3000 --dcis 2 --window 64 --pattern uniform '
                                '--policy lru'))['lru']
    check(lru['waits_per_operation'] > 0.5 and lru['wait_max_us'] > 0, lru)
    check(lru['wait_max_operations'] <= 64 * 2, lru)


def test_dc_of_a_file(bench):
    file = bench.file('0\n1\n0\n2\n')
    lru = connects(bench, f'--pattern {file} --operations 400 --peers 3 --dcis 2 --window 1 '
                          '--policy lru')['lru']
    check(lru == 201 / 400, lru)
    bench.file('0\n1\n0\n2\n3\n')
    bench.complains('number 5: must be a peer, 0 to 2', PERF, 'dc', '--pattern', file, '--peers',
                    '3')
    bench.complains('neither a pattern nor a file', PERF, 'dc', '--pattern', 'frob')


def test_dc_for_people(bench):
    out = bench.run(PERF, 'dc', '--operations', '500', '--policy', 'hashed')[0]
    check(re.search(r'(?m)^hashed +\d', out), out)
    check('optimum' in out and 'lru' not in out, out)


def test_dc_on_plain_verbs(bench):
    report = dc(bench, '--operations 300 --peers 12 --policy lru', BSN_PATH='verbs')
    check(0.1 < report['policies'][0]['connects_per_operation'] < 1, report)
    bench.complains('on plain verbs', PERF, 'dc', '--local', '1', BSN_PATH='verbs')


def test_dc_of_many_processes(bench):
    few = '--local 4 --operations 500 --policy lru'
    report = dc(bench, few + ',hashed --dcis 2 --window 1')
    lru, hashed = (policy['connects_per_operation'] for policy in report['policies'])
    check((report['processes'], report['peers'], report['pattern']) == (4, 3, 'all_to_all'), report)
    check(lru == 1 >= hashed, report)
    some = dc(bench, few)
    check(some['policies'][0]['connects_per_operation'] == 3 / 500, some)


def test_dc_without_a_launcher(bench):
    bench.complains('no launcher' if HAS_PMIX else 'without PMIx', PERF, 'dc', '--pmix')


def test_dc_under_mpirun(bench):
    """Only the first process prints."""
    need(HAS_PMIX and shutil.which('mpirun'), 'no PMIx, or no mpirun')
    report = bench.json(
        *'mpirun --allow-run-as-root --oversubscribe -n 3'.split(), PERF,
        *'dc --pmix --operations 200 --policy lru'.split(),
        ASAN_OPTIONS='detect_leaks=0')  # libpmix leaks
    check((report['processes'], report['policies'][0]['connects_per_operation']) == (3, 2 / 200),
          report)


def test_dc_has_only_so_many_peers(bench):
    bench.complains('100000 targets and 8 initiators, and mlx5_0 has 65536', PERF, 'dc', '--peers',
                    '100000')


def instructions_in(bench, functions, words):
    """Of all calls of each of these functions of the model, or of the pool that it plays."""
    need(HAS_VALGRIND, 'wants valgrind')
    out = bench.folder / 'out'
    bench.run('valgrind', '--tool=callgrind', *(f'--toggle-collect={f}' for f in functions),
              f'--callgrind-out-file={out}', PERF, 'dc', '--simulate', '--policy', 'lru',
              *words.split())
    listing, _ = bench.run('callgrind_annotate', '--auto=no', '--inclusive=yes', '--threshold=100',
                           out)
    # A function has a line for each file that its code is of; the longest is all of it.
    return [max(int(n.replace(',', '')) for n in
                re.findall(rf'(?m)^ *([\d,]+) .*:{f}(?: |$)', listing)) for f in functions]


def test_dc_costs_the_same_of_many_initiators(bench):
    """Where most who post have to wait."""
    few = '--operations 2000 --peers 10000 --pattern uniform '
    limits = {'post_write': 1.5, 'take_turns': 2.5}
    small = instructions_in(bench, limits, few + '--dcis 8 --window 16')
    for dcis, streams in (64, 1), (32, 8):
        large = instructions_in(bench, limits, f'{few} --dcis {dcis} --streams {streams} '
                                               f'--window {2 * dcis * streams}')
        for function, few_cost, cost in zip(limits, small, large):
            check(2000 < cost < limits[function] * few_cost,
                  f'{function}: {few_cost}, of {dcis} {cost}')


def test_dc_hits_and_misses_cost_the_same_with_many_peers(bench):
    """A post, each when nothing is outstanding."""
    few = '--operations 400 --window 1 '
    hits, misses = ([instructions_in(bench, ['post_write'],
                                     few + f'--pattern {pattern} --peers {peers}')[0] / 400
                     for peers in (100, 3000)] for pattern in ('incast', 'all_to_all'))
    for few, many in hits, misses:
        check(abs(few - many) < 0.05 * few, f'{hits} {misses}')
    check(40 < hits[0] < 250 and 100 < misses[0] - hits[0] < 250, f'{hits} {misses}')


def test_report_in_a_file(bench):
    path = bench.folder / 'report'
    out, _ = bench.run(PERF, 'cost', '--rounds', '1', '--op', 'read', '-j', '-o', path)
    check(not out and json.loads(path.read_text())['rows'][0]['op'] == 'read', out)


# -- peers that fail

def test_nobody_comes(bench):
    bench.complains('nobody connected within 100 ms', PERF, 'lat', '--port', free_port(),
                    '--timeout', '0.1', 'server')


def test_nobody_is_there(bench):
    bench.complains('Connection refused: start', PERF, 'lat', '--port', free_port(), '--timeout',
                    '0.1', 'client', 'localhost')
    bench.complains('no-such-host.invalid', PERF, 'lat', '--timeout', '0.1', 'client',
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
                             (b'bsn8', 'another version: use the same')]:
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
    check(('the peer' in err or 'failed' in err) and err.count('\n') == 1, err)


def test_a_failure_is_said_at_once(bench):
    """In one line, with what the device said; --timeout is longer than the test may take."""
    for test, path, (plan, text) in itertools.product(('lat', 'bw'), ('direct', 'verbs'), (
            ('fail 0x13 0x88', 'vendor syndrome 0x88'),
            ('fail 0x13 0x88', 'write failed: remote access error'),
            ('remove-device', 'the device reports: local catastrophic error'),
            ('cq-overrun', 'the device reports: CQ error'))):
        # libmlx5 keeps memory of what it could not destroy on a device that vanished.
        bench.complains(text, PERF, test, '--path', path, '--timeout', '600', '--iters', '100',
                        SOFTCX_FAULT=f'nth=20 {plan}', ASAN_OPTIONS='detect_leaks=0')


def test_a_failure_at_the_server_is_said_at_once(bench):
    port = free_port()
    fault = {'SOFTCX_FAULT': 'nth=20 fail 0x13 0x88'}
    serving = bench.start(PERF, 'lat', '--port', port, '--timeout', '600', 'server', **fault)
    client = bench.start(PERF, 'lat', '--port', port, '--timeout', '600', 'client', 'localhost')
    said = bench.finish(serving, 1)[1]
    check('write failed: remote access error (syndrome 0x13' in said, said)
    check('the peer went away' in bench.finish(client, 1)[1], 'the client waits')


sys.exit(main(globals()))
