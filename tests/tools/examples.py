#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples do what they say. usage: examples.py PROGRAM..."""

import os
import pathlib
import re
import shutil
import sys

from harness import check, free_port, has, main, need

PROGRAMS = {os.path.basename(path).replace('linked-', ''): path for path in sys.argv[1:]}


PATHS = 'direct', 'verbs'


def says(bench, want, name, *args, **more):
    out = bench.run(PROGRAMS[name], *args, **more)[0]
    check(out == want, out)


def pair(bench, name, **more):
    port = free_port()
    waiting = bench.start(PROGRAMS[name], port, **more)
    going = bench.start(PROGRAMS[name], port, 'localhost', **more)
    return waiting, going, bench.finish(waiting)[0], bench.finish(going)[0]


def greet(bench, **more):
    waiting, going, a, b = pair(bench, 'hello_write', **more)
    check([a, b] == [f'hello from process {peer.pid}\n' for peer in (going, waiting)], a + b)


def test_hello_write(bench):
    for link in 'ib', 'roce':
        greet(bench, SOFTCX_LINK=link)
        bench.fabric += '-roce'


def test_hello_write_on_verbs(bench):
    greet(bench, BSN_PATH='verbs')


def test_pingpong(bench):
    for path in PATHS:
        _, _, a, b = pair(bench, 'pingpong', BSN_PATH=path)
        has(a, '1000 messages there and back; the last one said 1998')
        has(b, '1000 messages there and back; the last one said 1999')


def test_dc_ranks(bench):
    says(bench, '5 processes wrote to 5 each\n', 'dc_ranks', '5')
    out, err = bench.run(PROGRAMS['dc_ranks'], status=1)
    check('dc_ranks: alone: ' in err and 'mpirun' in err and not out, err)


def test_allreduce(bench):
    """Also where blocks and chunks differ in length, or are empty, and where credits are scarce."""
    err = bench.run(PROGRAMS['allreduce'], status=1)[1]
    need('without PMIx' not in err and shutil.which('mpirun'), 'no PMIx, or no mpirun')
    check(re.fullmatch('allreduce: .*no launcher started this: use mpirun.*\n', err), err)
    # Open MPI takes the same device where UCX can; libpmix leaks.
    env = {'UCX_TLS': 'rc_x,self', 'ASAN_OPTIONS': 'detect_leaks=0'}
    run = ['mpirun', '--allow-run-as-root', '--oversubscribe', '-n']
    for ranks, floats, chunk, depth, path in (
            ('1', '10', '4', '2', 'direct'), ('2', '1000', '50', '8', 'direct'),
            ('2', '1', '1', '1', 'verbs'), ('3', '1000', '64', '3', 'direct'),
            ('3', '1021', '7', '1', 'verbs'), ('4', '4099', '100', '2', 'direct'),
            ('4', '5', '8', '8', 'direct')):
        out, _ = bench.run(*run, ranks, PROGRAMS['allreduce'], '--check', '--rounds', '2',
                           '--floats', floats, '--chunk', chunk, '--depth', depth,
                           BSN_PATH=path, **env)
        check(re.fullmatch(rf'{ranks} ranks, {floats} floats in chunks of \d+: [\d.]+ us; by '
                           r'(MPI_Allreduce|a loop): [\d.]+ us; the sums are the same\n', out), out)
    trace = pathlib.Path(bench.trace.name).read_text()
    check('receiver not ready' not in trace, 'it sent what it had no credit for')
    _, err = bench.run(*run, '2', PROGRAMS['allreduce'], device=False, status=1, **env)
    check(re.search('^allreduce: rank [01]: the device: no RDMA device', err, re.MULTILINE), err)


def test_allreduce_usage(bench):
    _, err = bench.run(PROGRAMS['allreduce'], '--width', '2', status=2)
    check('--width' in err and 'usage: mpirun -n RANKS allreduce' in err, err)
    for value in '0', '-1', '1025', '2x', '':
        bench.complains(f'allreduce: --depth takes 1 to 1024, and not {value}\n',
                        PROGRAMS['allreduce'], '--depth', value, status=2)


LAYOUTS = {
    'transpose': """by column:
 101 201 301 401
 102 202 302 402
""",
    'halo': """downwards, row after row:
  .  .  .  .  .     .  .  .  .  .     .  .  .  .  .
  .  .  .  .  .     .  .  .  .  .     .  .  .  .  .
  .  .  .  .  .     .  .  .  .  .     .  .  .  .  .
 15 16 17 18 19    35 36 37 38 39    55 56 57 58 59
""",
    'columns': """1001  [buy]  [257]     200         [buy]  [257]
""",
}


def test_layouts(bench):
    for name, picture in LAYOUTS.items():
        for path in PATHS:
            has(bench.run(PROGRAMS[name], BSN_PATH=path)[0], picture)


def test_owned(bench):
    """In C++, where there is a compiler."""
    need('owned' in PROGRAMS, 'no C++ compiler')
    for path in PATHS:
        says(bench, 'the sum of 1 to 100 is 5050\n', 'owned', BSN_PATH=path)


def test_stripes(bench):
    """What was handed out is there, in the order of posts, which the program itself looks at."""
    for path in PATHS:
        out, _ = bench.run(PROGRAMS['stripes'], '4', '64', BSN_PATH=path)
        found = re.findall(r'^(\d) stripes?: 20000 writes of 64 bytes in the order of posts', out,
                           re.MULTILINE)
        check(found == ['1', '2', '4'], out)
    bench.complains('usage: stripes', PROGRAMS['stripes'], '17', status=2)


def test_shared(bench):
    for env in {}, {'BSN_PATH': 'verbs'}, {'BSN_CHECK': '1'}:
        out, _ = bench.run(PROGRAMS['shared'], '3', '100', **env)
        sizes = [int(n) for n in re.findall(
            r'^3 threads, (?:one QP|a QP each): 300 writes, .* (\d+) bytes of rings$', out,
            re.MULTILINE)]
        check(len(sizes) == 2 and sizes[1] == 3 * sizes[0], out)
    bench.complains('usage: shared', PROGRAMS['shared'], '65', status=2)


def test_memory(bench):
    for path in PATHS:
        has(bench.run(PROGRAMS['memory'], BSN_PATH=path)[0], 'a buffer: from a buffer\n',
            'its own source comes of aligned_alloc', 'a slab: from a slab\n',
            'the cache: from malloc()\n', 'registered 1 times, asked for 100 times\n')


def test_log(bench):
    """BSN_LOG=1 tells what a program without a log of its own does not."""
    for value, tells in ('1', True), ('0', False), ('', False):
        _, err = bench.run(PROGRAMS['transpose'], BSN_LOG=value)
        check(('\nbunsen: ' in '\n' + err and 'direct, since' in err) == tells, err)
    _, err = bench.run(PROGRAMS['transpose'], device=False, status=1, BSN_LOG='1')
    check(err.count("no_such_device") == 2 and err.startswith('bunsen: '), err)


def test_dc_pool(bench):
    for link in 'ib', 'roce':
        for path in PATHS:
            says(bench, '64 workers through 8 initiators: 63 raised, 1 failed\n', 'dc_pool',
                 SOFTCX_LINK=link, BSN_PATH=path)
        bench.fabric += '-roce'


def test_dc_workers(bench):
    for path in PATHS:
        _, _, a, b = pair(bench, 'dc_workers', BSN_PATH=path)
        check([a, b] == ['16 workers were raised 160 times\n', '160 requests through 4 initiators, '
                         'which went from worker to worker\n'], a + b)


def test_dc_returns(bench):
    """No example: targets whose process is killed."""
    for path in PATHS:
        says(bench, 'gone and back 2 times\n', 'dc_returns', BSN_PATH=path)


def test_tutorial(bench):
    steps = ['verbs', 'attached', 'own', 'batch', 'inline', 'prepared', 'many']
    for more in {}, {'BSN_PATH': 'verbs'}, {'SOFTCX_PASSIVE': '1'}:
        says(bench, ''.join(f'{step}: 64 messages\n' for step in steps), 'tutorial', **more)
    says(bench, 'batch: 64 messages\n', 'tutorial', 'batch')
    bench.complains('no step last', PROGRAMS['tutorial'], 'last')


def test_attach(bench):
    says(bench, 'written by Bunsen, 1000 times\n', 'attach')


def test_attach_cm(bench):
    for path in PATHS:
        port, env = free_port(), {'SOFTCX_LINK': 'roce', 'SOFTCX_NETDEV': 'lo', 'BSN_PATH': path}
        waiting = bench.start(PROGRAMS['attach_cm'], port, **env)
        check(waiting.stdout.readline() == f'waiting for a client on port {port}\n',
              'it does not wait')
        going = bench.start(PROGRAMS['attach_cm'], port, '127.0.0.1', **env)
        a, b = bench.finish(waiting)[0], bench.finish(going)[0]
        check([a, b] == [f'hello from process {process.pid}\n' for process in (going, waiting)],
              f'{a}{b}')


def test_usage(bench):
    out = bench.run(PROGRAMS['allreduce'], '--help')[0]
    check(out.startswith('usage: mpirun') and '--check' in out, out)
    for name in 'hello_write', 'pingpong', 'attach_cm', 'dc_workers':
        for args in [], ['--help']:
            bench.complains(f'usage: {name} PORT [HOST]', PROGRAMS[name], *args, status=2)


def test_no_device(bench):
    for name in 'hello_write', 'pingpong':
        _, err = bench.run(PROGRAMS[name], free_port(), status=1, device=False)
        check(re.fullmatch(rf'{name}: no RDMA device.*\n', err), err)


sys.exit(main(globals()))
