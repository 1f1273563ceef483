#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unmodified programs of rdma_cm on softcx, in pairs, and with a peer that is killed. Speaks TAP.

usage: connections.py SOFTCX CM_CALLS ATTACH_CM
"""

import ipaddress
import json
import os
import re
import signal
import sys

from cases import Case, check, check_nothing_left, run_cases
from harness import free_port, has, need

SOFTCX, CM_CALLS, ATTACH_CM = (os.path.abspath(path) for path in sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
SOON_S = 10
FOR_EVER = '100000000'
BYTES = 3000001  # of a file: not a round number


def addresses(options):
    """Of the port: its IPv4 address, and an IPv6 one that is not link-local; None: it has none."""
    case = Case(SOFTCX, 'addresses', ['--link=roce', *options], {})
    out = case.run(['sh', '-c', 'cat /sys/class/infiniband/mlx5_0/ports/1/gids/*; '
                                'ls /sys/class/infiniband/mlx5_0/ports/1/gid_attrs'])
    if 'ndevs' not in out.split():
        return None, None
    gids = [ipaddress.ip_address(line) for line in out.split() if ':' in line]
    ipv4 = [str(gid.ipv4_mapped) for gid in gids if gid.ipv4_mapped]
    ipv6 = [str(gid) for gid in gids if not gid.ipv4_mapped and not gid.is_link_local and int(gid)]
    return ipv4[0] if ipv4 else None, ipv6[0] if ipv6 else None


OPTIONS = ['--link=roce']
IPV4, IPV6 = addresses([])
HAS_INTERFACE = IPV4 is not None
if not HAS_INTERFACE:  # a machine without a network
    OPTIONS.append('--netdev=lo')
    IPV4, IPV6 = addresses(['--netdev=lo'])
# Another address on the same link, where only our own port is.
NEIGHBOUR = (str(ipaddress.ip_address(int(ipaddress.ip_address(IPV4)) ^ 0x40))
             if HAS_INTERFACE else None)


def ids(case):
    return json.loads(case.run(['rdma', '-j', 'resource', 'show', 'cm_id']) or '[]')


def await_ids(case, state, process):
    """An id is in this state."""
    case.await_that(lambda: any(cm_id['state'] == state for cm_id in ids(case)), process,
                    f'no id in state {state}')


def start_pair(case, server, client, port=None):
    serving = case.start(server)
    if port:
        case.await_port(port, serving)
    else:
        await_ids(case, 'LISTEN', serving)
    return serving, case.start(client)


def check_pair(case, server, client, stays=False, port=None):
    """Both end well; a server that stays for the next client ends by a signal."""
    serving, going = start_pair(case, server, client, port)
    said = case.finish(going)
    if stays:
        serving.terminate()
        case.finish(serving, None)
    else:
        case.finish(serving)
    case.check_trace('rdma_cm: ')
    return said


def set_plan(case, plan):
    case.launcher[1:2] = ['run', f'--fault={plan}']


# The server of perftest listens anew for its second connection, and has told the client to come
# before that.
def check_perftest(case, command):
    set_plan(case, 'opcode=REQ nth=2 delay 500000')
    serving, going = start_pair(case, command, [*command, IPV4])
    for process in going, serving:
        case.finish(process)
    case.check_trace()


def libfabric(endpoint, *more):
    """A pair, and the port by which it meets first."""
    port = free_port()
    command = ['fi_pingpong', *endpoint, *more]
    return [*command, '-B', port], [*command, '-P', port, IPV4], port


# Once its peer has left, rxm closes the endpoint, and empties the CQ after that (libfabric's
# rxm_conn.c, rxm_close_conn()); libmlx5 has taken the QP's CQEs out by then. So a message that was
# not polled yet is lost, and fi_pingpong waits for it for ever. On a network the news of the peer
# comes later than its messages by more than here.
def check_libfabric(case, endpoint):
    need(HAS_INTERFACE, 'libfabric has no use for loopback')
    set_plan(case, 'opcode=DREQ delay 500000')
    server, client, port = libfabric(endpoint, '-c')
    check_pair(case, server, client, port=port)


# The client of rping closes its channel while its other thread may come back to it from an event
# (main() and cm_thread() of rping.c), and then ends with an error. The last event is the server's
# answer to its end, so the server hears of that later.
END_OF_RPING = 'opcode=DREQ delay 200000'


def check_rping(case, address):
    set_plan(case, END_OF_RPING)
    serving, going = start_pair(case, ['rping', '-s', '-V', '-C', '10', '-a',
                                       '0.0.0.0' if '.' in address else '::'],
                                ['rping', '-c', '-V', '-C', '10', '-a', address])
    for process in going, serving:
        case.finish(process)
    case.check_trace()


def check_rping_6(case):
    need(IPV6, 'the interface has no address of IPv6')
    check_rping(case, IPV6)


def check_mckey(case):
    group = ['mckey', '-m', '224.1.2.3', '-b', IPV4]
    receiving = case.start(group)

    def joined():
        with open(case.trace.name, encoding='ascii') as trace:
            return 'multicast: qpn' in trace.read()

    case.await_that(joined, receiving, 'nobody joined')
    case.run([*group, '-s'])
    case.finish(receiving)
    case.check_trace()


def check_rcopy(case):
    source, target = case.file(os.urandom(BYTES)), case.folder / 'to'
    check_pair(case, ['rcopy'], ['rcopy', source, f'{IPV4}:{target}'], stays=True)
    check(source.read_bytes() == target.read_bytes(), 'the copy is another')


FIO = {
    'server': '[global]\nioengine=rdma\nport=4711\nbs=64k\nsize=2m\n'
              '[receiver]\nrw=read\niodepth=64\n',
    'client': '[global]\nioengine=rdma\nhostname={address}\nport=4711\nbs=64k\nsize=2m\n'
              'verb={verb}\n'
              '[sender]\nrw=write\niodepth=1\niodepth_batch_complete=1\n',
}


def check_fio(case, verb, verify):
    more = 'verify=md5\nverify_state_save=0\n' if verify else ''
    server, client = (['fio', case.file(text.format(address=IPV4, verb=verb) + more, f'{side}.fio')]
                      for side, text in FIO.items())
    check_pair(case, server, client)


def check_qperf(case, test):
    port = free_port()
    serving = case.start(['qperf', '-lp', port])
    case.await_port(port, serving)
    set_plan(case, 'opcode=REQ delay 500000')  # qperf tells its port before it listens at it
    out = case.run(['qperf', '-lp', port, '-cm1', '-t', '1', IPV4, test])
    check(re.search(r'(latency|bw) +=', out), out)
    case.check_trace()


def check_attach_cm(case):
    port = free_port()
    serving, going = start_pair(case, [ATTACH_CM, port], [ATTACH_CM, port, IPV4])
    said = [case.finish(going), case.finish(serving)]
    for out, process in zip(said, (serving, going)):
        has(out, f'hello from process {process.pid}\n')


def check_calls(case):
    """What Linux says, word for word."""
    need(HAS_INTERFACE, 'there is no network interface but loopback')
    out = case.run([CM_CALLS, IPV4])
    with open(os.path.join(HERE, 'cm_calls.txt'), encoding='ascii') as recorded:
        wanted = recorded.read().splitlines()
    found = [line.rstrip() for line in out.splitlines() if not line.startswith('softcx ')]
    for number, (left, right) in enumerate(zip(wanted, found)):
        check(left == right, f'line {number + 1} of cm_calls.txt: {left}\nhere: {right}')
    check(len(wanted) == len(found), f'{len(found)} lines, not {len(wanted)}')


# -- peers that are killed ---------------------------------------------------------------------

def start_pinging(case):
    """A client that has begun."""
    going = case.start(['rping', '-c', '-v', '-C', FOR_EVER, '-a', IPV4])
    if not going.stdout.readline():
        case.finish(going)
    return going


def check_killed(case, victim):
    """The other one ends by itself, and nothing is left of either."""
    serving = case.start(['rping', '-s', '-C', FOR_EVER])
    await_ids(case, 'LISTEN', serving)
    going = start_pinging(case)
    killed, other = (serving, going) if victim == 'server' else (going, serving)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    case.finish(other, None, SOON_S)
    check(not ids(case), f'left behind: {ids(case)}')


def check_killed_listener(case):
    """Its port is free again at once, and another client finds the new listener."""
    set_plan(case, END_OF_RPING)
    for _ in range(3):
        serving = case.start(['rping', '-s', '-p', '7777'])
        await_ids(case, 'LISTEN', serving)
        serving.kill()
        serving.communicate()
    check_pair(case, ['rping', '-s', '-C', '3', '-p', '7777'],
               ['rping', '-c', '-C', '3', '-p', '7777', '-a', IPV4])


def check_persistent_server(case):
    """One that takes many clients outlives those that are killed."""
    set_plan(case, END_OF_RPING)
    serving = case.start(['rping', '-s', '-P', '-V'])
    await_ids(case, 'LISTEN', serving)
    for _ in range(3):
        going = start_pinging(case)
        going.kill()
        going.communicate()
        case.run(['rping', '-c', '-C', '3', '-a', IPV4])
    serving.kill()


def check_removal(case):
    """Both ends are told that their device has gone."""
    serving = case.start(['rping', '-s'])
    await_ids(case, 'LISTEN', serving)
    set_plan(case, 'nth=50 remove-device')
    going = case.start(['rping', '-c', '-C', FOR_EVER, '-a', IPV4])
    for process in going, serving:
        out = case.finish(process, None, SOON_S)
        has(out, 'cma detected device removal')


def check_nobody(case, address, wanted):
    has(case.run(['rping', '-c', '-d', '-C', '1', '-a', address], status=None), wanted)


PAIRS = [
    (['ucmatose', '-c', '3'], ['ucmatose', '-s', IPV4, '-c', '3'], False),
    (['udaddy', '-c', '2'], ['udaddy', '-s', IPV4, '-c', '2'], False),
    (['cmtime', '-c', '50'], ['cmtime', '-s', IPV4, '-c', '50'], True),
    (['rdma_server'], ['rdma_client', '-s', IPV4], False),
    (['rdma_xserver'], ['rdma_xclient', '-s', IPV4], False),
    (['rdma_xserver', '-c', 'x'], ['rdma_xclient', '-s', IPV4, '-c', 'x'], False),
    (['rstream', '-S', '100000', '-C', '5', '-T', 'v'],
     ['rstream', '-s', IPV4, '-S', '100000', '-C', '5', '-T', 'v'],
     False),
    (['riostream', '-S', '1000', '-C', '10'],
     ['riostream', '-s', IPV4, '-S', '1000', '-C', '10'], False),
]

PERFTESTS = [['ib_write_bw'], ['ib_send_lat'], ['ib_read_bw'], ['ib_send_bw', '-c', 'UD']]
LIBFABRIC = [['-p', 'verbs', '-e', 'msg'], ['-p', 'verbs;ofi_rxm', '-e', 'rdm']]


def failures():
    """
    They come first. rping may end by its event thread and by main() at once, so that one ends the
    process while the other removes the fabric. The next program that starts removes it, too.
    """
    for victim in 'client', 'server':
        yield (f'the {victim} of rping is killed', 'rping',
               lambda case, v=victim: check_killed(case, v))
    yield 'a killed listener', 'rping', check_killed_listener
    yield 'a server outlives its clients', 'rping', check_persistent_server
    yield 'the device is removed', 'rping', check_removal
    yield 'nobody listens', 'rping', lambda case: check_nobody(case, IPV4, 'RDMA_CM_EVENT_REJECTED')
    if NEIGHBOUR:
        yield ('a neighbour that is not there', 'rping',
               lambda case: check_nobody(case, NEIGHBOUR, 'RDMA_CM_EVENT_ADDR_ERROR, error -110'))
    if HAS_INTERFACE:
        yield ('loopback has no route', 'rping',
               lambda case: check_nobody(case, '127.0.0.1', 'No such device'))


def cases():
    for server, client, stays in PAIRS:
        yield (' '.join(server), server[0],
               lambda case, s=server, c=client, t=stays: check_pair(case, s, c, t))
    yield 'rping', 'rping', lambda case: check_rping(case, IPV4)
    yield 'rping by IPv6', 'rping', check_rping_6
    yield 'mckey', 'mckey', check_mckey
    yield 'rcopy', 'rcopy', check_rcopy
    for verb, verify in ('write', False), ('read', False), ('send', True):
        yield f'fio {verb}', 'fio', lambda case, v=verb, c=verify: check_fio(case, v, c)
    for test in 'rc_lat', 'rc_bw', 'rc_rdma_read_bw':
        yield f'qperf -cm1 {test}', 'qperf', lambda case, t=test: check_qperf(case, t)
    for command in PERFTESTS:
        yield (' '.join(command) + ' -R', command[0],
               lambda case, c=command: check_perftest(case, [*c, '-R', '-n', '100']))
    for endpoint in LIBFABRIC:
        yield (' '.join(['fi_pingpong', *endpoint]), 'fi_pingpong',
               lambda case, e=endpoint: check_libfabric(case, e))
    yield 'attach_cm', ATTACH_CM, check_attach_cm
    yield 'calls of librdmacm are answered as on Linux', CM_CALLS, check_calls


def main():
    on_roce = [(name, program, function, OPTIONS, {})
               for name, program, function in (*failures(), *cases())]
    on_ib = [('InfiniBand has no addresses of IP', 'rping',
              lambda case: check_nobody(case, IPV4, 'RDMA_CM_EVENT_ADDR_ERROR'), ['--link=ib'], {})]
    last = [('nothing is left behind', 'true', check_nothing_left, [], {})]
    return run_cases(SOFTCX, on_ib + on_roce + last)


sys.exit(main())
