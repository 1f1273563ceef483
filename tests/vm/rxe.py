#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the guest runs on its verbs device, in one boot. Speaks TAP.

usage: rxe.py BUILD_ROOT ENGINE_TEST...

The test programs of the engine, as they are, whether the README's table says what they found, then
programs in pairs: those of the distribution, bsn-perf, and the examples. No time is asserted: the
guest is emulated.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'tools'), str(HERE.parent / 'engine')]

import features  # noqa: E402
from harness import Bench, Tap, check, free_port, has, listens  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
TOOLS = BUILD / 'tools'
PERF = TOOLS / 'bsn-perf'
ENGINE_TESTS = [pathlib.Path(path).resolve() for path in sys.argv[2:]]
README = HERE.parent.parent / 'README.md'
DEVICE = 'rxe0'
INTERFACE, ADDRESS = 'dum0', '10.9.0.1'  # below it, as guest-init made it
NOBODY = 65534
GID = '1'  # the IPv4 one
PROGRAM_S = 60
FEATURES = pathlib.Path('/run/features.json')  # of a guest that goes with it

PINGPONGS = ['rc', 'uc', 'ud', 'srq']
PERFTESTS = ['ib_write_lat', 'ib_read_lat', 'ib_send_lat', 'ib_atomic_lat', 'ib_write_bw']
OPERATIONS = ['write', 'read', 'send', 'atomic']

# As cmocka prints them.
CASE = re.compile(r'(?P<not>not )?ok \d+ (?P<skip># SKIP|-) (?P<name>.*)')


def run_engine_test(tap, path):
    """Each case of the program is one of ours."""
    subject = path.name.replace('test_engine_', '')
    env = dict(os.environ, BSN_TEST_DEVICE=DEVICE, CMOCKA_MESSAGE_OUTPUT='TAP',
               BSN_TEST_FEATURES=str(FEATURES), TESTS_SHARE='4')  # the guest is emulated
    try:
        run = subprocess.run([path], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=PROGRAM_S, check=False)
        out, how = run.stdout, f'exit status {run.returncode}'
        ended_well = run.returncode == 0
    except subprocess.TimeoutExpired as error:
        out, how = (error.stdout or b'').decode(), f'not done after {PROGRAM_S} s'
        ended_well = False
    before = tap.failed
    why = ''
    for line in out.splitlines():
        match = CASE.match(line)
        if match:
            skipped = match['skip'] != '-'
            tap.say(f'engine, {subject}: {match["name"]}',
                    '' if match['not'] and not skipped else None,
                    why or 'no reason given' if skipped else None)
        elif line.startswith('left out: '):
            why = line[len('left out: '):]
        elif not re.match(r'1\.\.\d|# (not )?ok', line):
            print('#', line.lstrip('# '))
    # Without a reason at all: cases for the model only.
    if not ended_well and tap.failed == before:
        tap.say(f'engine, {subject}', how)


def check_table(tap):
    """The README's column of this device says what was found just now."""
    if FEATURES.exists():
        report = json.loads(FEATURES.read_text(encoding='utf-8'))
        wrong = features.differences(README, DEVICE, report)
        tap.say('the README says what this device does (else: ninja feature-table)',
                '\n'.join(wrong) or None)


# -- programs -----------------------------------------------------------------------------------

def pair(bench, *command):
    """Server and client, which are started alike except for the host's name."""
    port = free_port()
    server = bench.start(*command, '-p', port)
    while not listens(port) and server.poll() is None:
        time.sleep(0.05)
    bench.run(*command, '-p', port, '127.0.0.1')
    bench.finish(server)


def check_devinfo(bench):
    has(bench.run('ibv_devinfo', '-d', DEVICE)[0], 'hca_id:\trxe0', 'PORT_ACTIVE', 'Ethernet')


def check_info(bench):
    device = bench.json(TOOLS / 'bsn-info')['devices'][0]
    check(device['name'] == DEVICE and device['direct'] is False, device)
    has(device['why'], 'libmlx5 does not drive')
    why_not = {feature['name']: feature['why_not'] for feature in device['features']}
    check(why_not['direct'] and not why_not['srq'] and not why_not['atomics'], why_not)


def check_direct_is_refused(bench):
    bench.complains(f'{DEVICE} is not driven by libmlx5', PERF, 'lat', BSN_PATH='direct')


def check_perf(bench, command, op):
    few = [command, '--op', op, '--iters', '200', '--json', '--port', free_port(), '--path',
           'verbs']
    server = bench.start(PERF, *few, 'server')
    out = bench.run(PERF, *few, 'client', ADDRESS)[0]
    bench.finish(server)
    check(json.loads(out)['path'] == 'verbs', out)


def pair_of(bench, program, address='localhost'):
    """The two processes of an example, the waiting one first."""
    port = free_port()
    waiting = bench.start(program, port)
    return waiting, bench.start(program, port, address)


def check_hello(bench, program):
    waiting, going = pair_of(bench, program)
    heard = [bench.finish(process)[0] for process in (waiting, going)]
    check(heard == [f'hello from process {process.pid}\n' for process in (going, waiting)], heard)


def check_pair(bench, program, *wanted):
    heard = [bench.finish(process)[0] for process in pair_of(bench, program)]
    check(all(re.search(*pair) for pair in zip(wanted, heard, strict=True)), heard)


def check_attach_cm(bench, program):
    port = free_port()
    server = bench.start(program, port)
    said = server.stdout.readline()
    check(said == f'waiting for a client on port {port}\n', said)
    client = bench.start(program, port, ADDRESS)
    heard = [bench.finish(process)[0] for process in (client, server)]
    check(heard == [f'hello from process {process.pid}\n' for process in (server, client)], heard)


def check_says(bench, program, wanted, *args):
    """What it prints; a path: what softcx's tests have there as Linux's answers."""
    if isinstance(wanted, pathlib.Path):
        wanted = wanted.read_text(encoding='ascii')
    out = bench.run(program, *args)[0]
    check([line.rstrip() for line in out.splitlines()] == wanted.splitlines(), out)


def check_no_permission(bench):
    """Root without capabilities has only the rights of any user."""
    file = '/dev/infiniband/uverbs0'
    before = os.stat(file)
    os.chmod(file, 0o600)
    os.chown(file, NOBODY, NOBODY)
    try:
        for program in ['bsn-info'], ['bsn-perf', 'lat']:
            bench.complains(f'no permission to open {DEVICE}: '
                            'check the permissions of /dev/infiniband',
                            'setpriv', '--bounding-set=-all', TOOLS / program[0], *program[1:])
    finally:
        os.chown(file, before.st_uid, before.st_gid)
        os.chmod(file, before.st_mode)


def set_link(state, wanted):
    """Of the interface below; returns when the port has followed, with its addresses."""
    subprocess.run(['ip', 'link', 'set', INTERFACE, state], check=True)
    port = pathlib.Path(f'/sys/class/infiniband/{DEVICE}/ports/1')
    while wanted not in (port / 'state').read_text() or (
            state == 'up' and not set((port / f'gids/{GID}').read_text().strip()) - set('0:')):
        pass


def check_port_down(bench):
    set_link('down', 'DOWN')
    try:
        for role in ['server'], ['client', ADDRESS]:
            bench.complains(f'port 1 of {DEVICE} is down', PERF, 'lat', *role)
        has(bench.run(TOOLS / 'bsn-info')[0], 'Ethernet, down')
    finally:
        set_link('up', 'ACTIVE')


def check_peer_unreachable(bench):
    bench.complains('Connection refused: start', PERF, 'lat', '--timeout', '1', '--port',
                    free_port(), 'client', ADDRESS)
    bench.complains('Network is unreachable: see', PERF, 'lat', 'client', '192.0.2.1')
    bench.complains('rdma_cm: ', TOOLS / 'attach_cm', free_port(), ADDRESS)


def programs():
    """(name, program, function of a bench, its other arguments)"""
    yield 'ibv_devinfo', 'ibv_devinfo', check_devinfo
    for transport, flags in itertools.product(PINGPONGS, ([], ['-e'])):
        program = f'ibv_{transport}_pingpong'
        yield (' '.join([program, *flags]), program, pair, program, '-d', DEVICE, '-g', GID, '-n',
               '100', *flags)
    for program in PERFTESTS:
        yield program, program, pair, program, '-d', DEVICE, '-x', GID, '-n', '100'
    yield 'bsn-info says why', TOOLS / 'bsn-info', check_info
    yield 'the direct path is refused', PERF, check_direct_is_refused
    for command, op in itertools.product(('lat', 'bw'), OPERATIONS):
        yield f'bsn-perf {command} --op {op} --path verbs', PERF, check_perf, command, op
    for name, program, function, *args in (
            ('example hello_write', TOOLS / 'hello_write', check_hello),
            ('example pingpong', TOOLS / 'pingpong', check_pair,
             *['1000 messages there and back; the last one said 199[89]'] * 2),
            ('example dc_pool', TOOLS / 'dc_pool', check_says,
             '64 workers through 8 initiators: 63 raised, 1 failed'),
            ('example dc_workers', TOOLS / 'dc_workers', check_pair,
             '^16 workers were raised 160 times\n$',
             '^160 requests through 4 initiators, which went from worker to worker\n$'),
            ('targets whose process is killed', BUILD / 'tests/tools/dc_returns_on_device',
             check_says, 'gone and back 2 times'),
            ('example attach', TOOLS / 'attach', check_says, 'written by Bunsen, 1000 times'),
            ('calls of librdmacm', BUILD / 'tests/softcx/cm_calls', check_says,
             HERE.parent / 'softcx/cm_calls.txt', ADDRESS),
            ('ends that disagree', BUILD / 'tests/softcx/fits', check_says,
             HERE.parent / 'softcx/fits.txt'),
            ('example attach_cm', TOOLS / 'attach_cm', check_attach_cm)):
        yield name, program, function, program, *args
    yield 'a device without permission', PERF, check_no_permission
    yield 'a peer that cannot be reached', PERF, check_peer_unreachable
    yield 'a port that is down', PERF, check_port_down


def run_program(tap, name, program, function, *args):
    if shutil.which(program):
        tap.run(name, Bench(name), function, *args)
    else:
        tap.say(name, skip=f'{program} is not there')


def main():
    tap = Tap()
    for path in ENGINE_TESTS:
        run_engine_test(tap, path)
    check_table(tap)
    for each in programs():
        run_program(tap, *each)
    return tap.end()


sys.exit(main())
