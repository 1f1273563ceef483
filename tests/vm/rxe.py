#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the guest runs on its verbs device, in one boot. Speaks TAP.

usage: rxe.py BUILD_ROOT ENGINE_TEST...

The test programs of the engine, as they are, whether the README's table says what they found, then
programs in pairs: those of the distribution, bsn-perf, and the examples. No time is asserted: the
guest is emulated.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'tools'), str(HERE.parent / 'engine')]

import features  # noqa: E402
from harness import Bench, Failure, check, free_port  # noqa: E402
from ports import listens  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
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


class Tap:
    """Numbers the cases of everything."""

    def __init__(self):
        self.count = self.failed = 0

    def case(self, name, works=True, why='', skip=None):
        self.count += 1
        self.failed += not works
        print('' if works else 'not ', f'ok {self.count} - {name}',
              f' # SKIP {skip}' if skip else '', sep='')
        for line in why.strip().split('\n') if why else []:
            print('#', line)
        sys.stdout.flush()


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
            tap.case(f'engine, {subject}: {match["name"]}', skipped or not match['not'],
                     skip=why or 'no reason given' if skipped else None)
        elif line.startswith('left out: '):
            why = line[len('left out: '):]
        elif not re.match(r'1\.\.\d|# (not )?ok', line):
            print('#', line.lstrip('# '))
    # Without a reason at all: cases for the model only.
    if not ended_well and tap.failed == before:
        tap.case(f'engine, {subject}', False, how)


def check_table(tap):
    """The README's column of this device says what was found just now."""
    if FEATURES.exists():
        report = json.loads(FEATURES.read_text(encoding='utf-8'))
        wrong = features.differences(README, DEVICE, report)
        tap.case('the README says what this device does (else: ninja feature-table)', not wrong,
                 '\n'.join(wrong))


# -- programs -----------------------------------------------------------------------------------

def pair(bench, *command, client=('127.0.0.1',), port='-p', **more):
    """The outputs of client and server, which are started alike except for the host's name."""
    number = free_port()
    flags = [port, number] if port else [number]
    server = bench.start(*command, *flags, **more)
    while not listens(number) and server.poll() is None:
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
    out = bench.run(*command, *flags, *client, **more)[0]
    return out, bench.finish(server)[0]


def check_devinfo(bench):
    out = bench.run('ibv_devinfo', '-d', DEVICE)[0]
    for text in ('hca_id:\trxe0', 'PORT_ACTIVE', 'Ethernet'):
        check(text in out, out)


def check_info(bench):
    out = bench.run(BUILD / 'tools/bsn-info', '--json')[0]
    device = json.loads(out)['devices'][0]
    check(device['name'] == DEVICE and device['direct'] is False, out)
    check('libmlx5 does not drive' in device['why'], out)
    why_not = {feature['name']: feature['why_not'] for feature in device['features']}
    check(why_not['direct'] and not why_not['srq'] and not why_not['atomics'], out)


def check_direct_is_refused(bench):
    bench.complains(f'{DEVICE} is not driven by libmlx5', BUILD / 'tools/bsn-perf', 'lat',
                    BSN_PATH='direct')


def check_perf(bench, command, op, *more):
    port = free_port()
    few = [command, '--op', op, '--iters', '200', '--json', '--port', port, *more]
    server = bench.start(BUILD / 'tools/bsn-perf', *few, 'server')
    out = bench.run(BUILD / 'tools/bsn-perf', *few, 'client', ADDRESS)[0]
    bench.finish(server)
    # Without --path, bsn-perf chooses the verbs path by itself.
    check(json.loads(out)['path'] == (more[-1] if '--path' in more else 'verbs'), out)


def check_example(bench, name, text):
    port = free_port()
    waiting = bench.start(BUILD / 'tools' / name, port)
    going = bench.start(BUILD / 'tools' / name, port, 'localhost')
    for process in waiting, going:
        out = bench.finish(process)[0]
        check(re.search(text, out), out)


def check_dc_pool(bench):
    out = bench.run(BUILD / 'tools/dc_pool')[0]
    check(out == '64 workers through 8 initiators: 63 raised, 1 failed\n', out)


def check_dc_returns(bench):
    out = bench.run(BUILD / 'tests/tools/dc_returns_on_device')[0]
    check(out == 'gone and back 2 times\n', out)


def check_dc_workers(bench):
    port = free_port()
    waiting = bench.start(BUILD / 'tools/dc_workers', port)
    going = bench.start(BUILD / 'tools/dc_workers', port, 'localhost')
    heard = [bench.finish(process)[0] for process in (waiting, going)]
    check(heard == ['16 workers were raised 160 times\n',
                    '160 requests through 4 initiators, which went from worker to worker\n'], heard)


def check_attach_cm(bench):
    port = free_port()
    server = bench.start(BUILD / 'tools/attach_cm', port)
    said = server.stdout.readline()
    check(said == f'waiting for a client on port {port}\n', said)
    client = bench.start(BUILD / 'tools/attach_cm', port, ADDRESS)
    heard = [bench.finish(process)[0] for process in (client, server)]
    check(heard == [f'hello from process {process.pid}\n' for process in (server, client)], heard)


def check_cm_calls(bench):
    """What softcx's tests take for Linux's answers."""
    out = bench.run(BUILD / 'tests/softcx/cm_calls', ADDRESS)[0]
    recorded = (pathlib.Path(__file__).parent.parent / 'softcx/cm_calls.txt').read_text(
        encoding='ascii')
    check([line.rstrip() for line in out.splitlines()] == recorded.splitlines(), out)


def check_fits(bench):
    """What softcx(1) says of soft-RoCE, where the two ends of a connection disagree."""
    out = bench.run(BUILD / 'tests/softcx/fits')[0]
    recorded = HERE.parent / 'softcx/fits.txt'
    check(out == recorded.read_text(encoding='ascii'), out)


def check_attach(bench):
    out = bench.run(BUILD / 'tools/attach')[0]
    check(out == 'written by Bunsen, 1000 times\n', out)


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
                            'setpriv', '--bounding-set=-all', BUILD / 'tools' / program[0],
                            *program[1:])
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
            bench.complains(f'port 1 of {DEVICE} is down', BUILD / 'tools/bsn-perf', 'lat',
                            *role)
        check('Ethernet, down' in bench.run(BUILD / 'tools/bsn-info')[0],
              'bsn-info does not say it')
    finally:
        set_link('up', 'ACTIVE')


def check_peer_unreachable(bench):
    bench.complains('Connection refused: start', BUILD / 'tools/bsn-perf', 'lat', '--timeout', '1',
                    '--port', free_port(), 'client', ADDRESS)
    bench.complains('Network is unreachable: see', BUILD / 'tools/bsn-perf', 'lat', 'client',
                    '192.0.2.1')
    bench.complains('rdma_cm: ', BUILD / 'tools/attach_cm', free_port(), ADDRESS)


def programs():
    """(name, program, function of a bench)"""
    yield 'ibv_devinfo', 'ibv_devinfo', check_devinfo
    for transport in PINGPONGS:
        program = f'ibv_{transport}_pingpong'
        for flags in ([], ['-e']):
            command = [program, '-d', DEVICE, '-g', GID, '-n', '100', *flags]
            yield ' '.join([program, *flags]), program, lambda b, c=command: pair(b, *c)
    for program in PERFTESTS:
        command = [program, '-d', DEVICE, '-x', GID, '-n', '100']
        yield program, program, lambda b, c=command: pair(b, *c)
    tool = str(BUILD / 'tools/bsn-perf')
    yield 'bsn-info says why', str(BUILD / 'tools/bsn-info'), check_info
    yield 'the direct path is refused', tool, check_direct_is_refused
    for command in 'lat', 'bw':
        for op in OPERATIONS:
            yield (f'bsn-perf {command} --op {op} --path verbs', tool,
                   lambda b, c=command, o=op: check_perf(b, c, o, '--path', 'verbs'))
    for name, text in (('hello_write', r'^hello from process \d+\n$'),
                       ('pingpong', r'1000 messages there and back; the last one said 199[89]')):
        yield (f'example {name}', str(BUILD / 'tools' / name),
               lambda b, n=name, t=text: check_example(b, n, t))
    yield 'example dc_pool', str(BUILD / 'tools/dc_pool'), check_dc_pool
    yield 'example dc_workers', str(BUILD / 'tools/dc_workers'), check_dc_workers
    yield ('targets whose process is killed', str(BUILD / 'tests/tools/dc_returns_on_device'),
           check_dc_returns)
    yield 'example attach', str(BUILD / 'tools/attach'), check_attach
    yield 'calls of librdmacm', str(BUILD / 'tests/softcx/cm_calls'), check_cm_calls
    yield 'ends that disagree', str(BUILD / 'tests/softcx/fits'), check_fits
    yield 'example attach_cm', str(BUILD / 'tools/attach_cm'), check_attach_cm
    yield 'a device without permission', tool, check_no_permission
    yield 'a peer that cannot be reached', tool, check_peer_unreachable
    yield 'a port that is down', tool, check_port_down


def run_program(tap, name, program, function):
    if not shutil.which(program):
        tap.case(name, skip=f'{program} is not there')
        return
    bench = Bench(name)
    try:
        function(bench)
        tap.case(name)
    except Failure as failure:
        tap.case(name, False, str(failure))
    finally:
        bench.end()


def main():
    tap = Tap()
    for path in ENGINE_TESTS:
        run_engine_test(tap, path)
    check_table(tap)
    for name, program, function in programs():
        run_program(tap, name, program, function)
    print(f'1..{tap.count}')
    return 1 if tap.failed else 0


sys.exit(main())
