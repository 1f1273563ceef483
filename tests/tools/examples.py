#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The examples do what they say. usage: examples.py PROGRAM..."""

import os
import re
import shutil
import sys

from harness import check, free_port, main

PROGRAMS = {os.path.basename(path).replace('linked-', ''): path for path in sys.argv[1:]}


def pair(bench, name, **more):
    port = free_port()
    waiting = bench.start(PROGRAMS[name], port, **more)
    going = bench.start(PROGRAMS[name], port, 'localhost', **more)
    return waiting, going, bench.finish(waiting)[0], bench.finish(going)[0]


def test_hello_write(bench):
    for link in 'ib', 'roce':
        waiting, going, a, b = pair(bench, 'hello_write', SOFTCX_LINK=link)
        check(a == f'hello from process {going.pid}\n', a)
        check(b == f'hello from process {waiting.pid}\n', b)
        bench.fabric += '-roce'


def test_hello_write_on_verbs(bench):
    waiting, going, a, b = pair(bench, 'hello_write', BSN_PATH='verbs')
    check(a == f'hello from process {going.pid}\n', a)
    check(b == f'hello from process {waiting.pid}\n', b)


def test_pingpong(bench):
    for path in 'direct', 'verbs':
        _, _, a, b = pair(bench, 'pingpong', BSN_PATH=path)
        check('1000 messages there and back; the last one said 1998' in a, a)
        check('1000 messages there and back; the last one said 1999' in b, b)


def test_dc_ranks(bench):
    out = bench.run(PROGRAMS['dc_ranks'], '5')[0]
    check(out == '5 processes wrote to 5 each\n', out)
    out, err = bench.run(PROGRAMS['dc_ranks'], status=1)
    check('dc_ranks: alone: ' in err and 'mpirun' in err and not out, err)


def test_allreduce(bench):
    """Also where blocks and chunks differ in length, or are empty, and where credits are scarce."""
    err = bench.run(PROGRAMS['allreduce'], status=1)[1]
    if 'without PMIx' in err or not shutil.which('mpirun'):
        return 'SKIP no PMIx, or no mpirun'
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
    with open(bench.trace.name, encoding='ascii') as trace:
        check('receiver not ready' not in trace.read(), 'it sent what it had no credit for')
    _, err = bench.run(*run, '2', PROGRAMS['allreduce'], device=False, status=1, **env)
    check(re.search('^allreduce: rank [01]: the device: no RDMA device', err, re.MULTILINE), err)
    return None


def test_allreduce_usage(bench):
    _, err = bench.run(PROGRAMS['allreduce'], '--width', '2', status=2)
    check('--width' in err and 'usage: mpirun -n RANKS allreduce' in err, err)
    for value in '0', '-1', '1025', '2x', '':
        bench.complains(f'allreduce: --depth takes 1 to 1024, and not {value}\n',
                        PROGRAMS['allreduce'], '--depth', value, status=2)


def test_usage(bench):
    out = bench.run(PROGRAMS['allreduce'], '--help')[0]
    check(out.startswith('usage: mpirun') and '--check' in out, out)
    for name in 'hello_write', 'pingpong', 'dc_workers', 'attach_cm':
        if name in PROGRAMS:
            bench.complains(f'usage: {name} PORT [HOST]', PROGRAMS[name], '--help', status=2)


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
        for path in 'direct', 'verbs':
            out, _ = bench.run(PROGRAMS[name], BSN_PATH=path)
            check(picture in out, out)


def test_owned(bench):
    """In C++, where there is a compiler."""
    if 'owned' not in PROGRAMS:
        return 'SKIP no C++ compiler'
    for path in 'direct', 'verbs':
        out, _ = bench.run(PROGRAMS['owned'], BSN_PATH=path)
        check(out == 'the sum of 1 to 100 is 5050\n', out)
    return None


def test_stripes(bench):
    """What was handed out is there, in the order of posts, which the program itself looks at."""
    for path in 'direct', 'verbs':
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
    for path in 'direct', 'verbs':
        out, _ = bench.run(PROGRAMS['memory'], BSN_PATH=path)
        for text in ('a buffer: from a buffer\n', 'its own source comes of aligned_alloc',
                     'a slab: from a slab\n', 'the cache: from malloc()\n',
                     'registered 1 times, asked for 100 times\n'):
            check(text in out, out)


def test_log(bench):
    """BSN_LOG=1 tells what a program without a log of its own does not."""
    for value, tells in ('1', True), ('0', False), ('', False):
        _, err = bench.run(PROGRAMS['transpose'], BSN_LOG=value)
        check(('\nbunsen: ' in '\n' + err and 'direct, since' in err) == tells, err)
    _, err = bench.run(PROGRAMS['transpose'], device=False, status=1, BSN_LOG='1')
    check(err.count("no_such_device") == 2 and err.startswith('bunsen: '), err)


def test_dc_pool(bench):
    for link in 'ib', 'roce':
        for path in 'direct', 'verbs':
            out, _ = bench.run(PROGRAMS['dc_pool'], SOFTCX_LINK=link, BSN_PATH=path)
            check(out == '64 workers through 8 initiators: 63 raised, 1 failed\n', out)
        bench.fabric += '-roce'


def test_dc_workers(bench):
    for path in 'direct', 'verbs':
        _, _, a, b = pair(bench, 'dc_workers', BSN_PATH=path)
        check(a == '16 workers were raised 160 times\n', a)
        check(b == '160 requests through 4 initiators, which went from worker to worker\n', b)


def test_dc_returns(bench):
    """No example: targets whose process is killed."""
    for path in 'direct', 'verbs':
        out, _ = bench.run(PROGRAMS['dc_returns'], BSN_PATH=path)
        check(out == 'gone and back 2 times\n', out)


def test_tutorial(bench):
    steps = ['verbs', 'attached', 'own', 'batch', 'inline', 'prepared', 'many']
    for more in {}, {'BSN_PATH': 'verbs'}, {'SOFTCX_PASSIVE': '1'}:
        out, _ = bench.run(PROGRAMS['tutorial'], **more)
        check(out == ''.join(f'{step}: 64 messages\n' for step in steps), out)
    out, _ = bench.run(PROGRAMS['tutorial'], 'batch')
    check(out == 'batch: 64 messages\n', out)
    bench.complains('no step last', PROGRAMS['tutorial'], 'last')


def test_attach(bench):
    out, _ = bench.run(PROGRAMS['attach'])
    check(out == 'written by Bunsen, 1000 times\n', out)


def test_attach_cm(bench):
    for path in 'direct', 'verbs':
        port, env = free_port(), {'SOFTCX_LINK': 'roce', 'SOFTCX_NETDEV': 'lo', 'BSN_PATH': path}
        waiting = bench.start(PROGRAMS['attach_cm'], port, **env)
        check(waiting.stdout.readline() == f'waiting for a client on port {port}\n',
              'it does not wait')
        going = bench.start(PROGRAMS['attach_cm'], port, '127.0.0.1', **env)
        a, b = bench.finish(waiting)[0], bench.finish(going)[0]
        check([a, b] == [f'hello from process {process.pid}\n' for process in (going, waiting)],
              f'{a}{b}')


def test_usage(bench):
    for name in 'hello_write', 'pingpong', 'attach_cm', 'dc_workers':
        bench.complains(f'usage: {name} PORT [HOST]', PROGRAMS[name], status=2)


def test_no_device(bench):
    for name in 'hello_write', 'pingpong':
        _, err = bench.run(PROGRAMS[name], free_port(), status=1, device=False)
        check(re.fullmatch(rf'{name}: no RDMA device.*\n', err), err)


sys.exit(main(globals()))
