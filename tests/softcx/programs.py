#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unmodified programs of the distribution on softcx, alone and in pairs. Speaks TAP.

usage: programs.py SOFTCX [huge]

With "huge" it runs those that want hugepages, which tests/hugepages has reserved; else the others.
Each case has a fabric of its own, so that parallel runs do not meet, and a trace, in which a
finding fails it. A program that is not installed skips its cases.
"""

import json
import os
import re
import sys
import time

from cases import check, check_nothing_left, run_cases
from harness import Skip, free_port, has

SOFTCX = os.path.abspath(sys.argv[1])
WITH_HUGE_PAGES = sys.argv[2:] == ['huge']

ROUND_TRIP_US = 100
ROUND_TRIP_TRIES, ROUND_TRIP_TRIES_S = 5, 20

PINGPONGS = ['ibv_rc_pingpong', 'ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong',
             'ibv_xsrq_pingpong']
PERFTESTS = ['ib_write_lat', 'ib_read_lat', 'ib_send_lat', 'ib_atomic_lat', 'ib_write_bw',
             'ib_read_bw', 'ib_send_bw']
PERFTESTS_DC = ['ib_write_bw', 'ib_send_lat', 'ib_read_lat', 'ib_atomic_bw']
PERFTESTS_STREAMS = ['ib_write_bw', 'ib_send_lat']
STREAMS = ['--log_dci_streams=2', '--log_active_dci_streams=3']  # more names than streams
PERFTESTS_XRC = ['ib_send_lat', 'ib_write_bw', 'ib_send_bw', 'ib_write_lat', 'ib_read_lat',
                 'ib_atomic_lat']


def run_pair(case, command, client_more=()):
    """
    Starts server and client of one program, alike except for the server's name. Returns what
    the client said.
    """
    port = free_port()
    server = case.start([*command, '-p', port])
    case.await_port(port, server)
    out = case.run([command[0], '127.0.0.1', *command[1:], '-p', port, *client_more])
    case.finish(server)
    case.check_trace()
    return out


def check_round_trip(case):
    """The time of a WRITE and its answer between two processes; ib_write_lat prints half of it."""
    tries, end = [], time.monotonic() + ROUND_TRIP_TRIES_S
    while len(tries) < ROUND_TRIP_TRIES and time.monotonic() < end:
        out = run_pair(case, ['ib_write_lat', '-n', '1000', '-d', 'mlx5_0'])
        tries.append(2 * float(re.findall(r'^ *2 +1000 +\S+ +\S+ +(\S+)', out, re.MULTILINE)[0]))
        if tries[-1] <= ROUND_TRIP_US:
            return
    if os.getloadavg()[0] > os.cpu_count():
        raise Skip(f'the machine is busy, and the two want a core each: {tries} us')
    check(False, f'{tries} us, more than {ROUND_TRIP_US}')


def read_ucx(case, size=1024):
    """The trace of two processes that swap messages of this size."""
    run_pair(case, ['ucx_perftest'], ['-t', 'tag_lat', '-s', str(size), '-n', '100', '-w', '10'])
    with open(case.trace.name, encoding='ascii') as trace:
        return trace.read()


def check_device_memory(case, is_there):
    """UCX copies messages of that size to device memory, where the first byte is at address 0."""
    sent = re.findall(r'SEND .*\[data byte_count 0x4\w\w lkey 0x\w+\]', read_ucx(case))
    check(bool(sent) == is_there, f'{len(sent)} messages out of device memory')


def check_inline_recv(case, size, is_there):
    """By default (RX_INLINE) UCX has short messages come in CQEs."""
    inside = re.findall(r'cqe: .* RESP_SEND .* bytes \d+ inline', read_ucx(case, size))
    check((len(inside) >= 100) == is_there, f'{len(inside)} messages in CQEs')


def check_devx(case, wanted):
    """UCX makes its queues by commands; by none if it may not send commands."""
    made = set(re.findall(r'command: (CREATE_[A-Z]+|ALLOC_[A-Z]+)', read_ucx(case)))
    check(made >= set(wanted) and bool(made) == bool(wanted),
          f'made by commands: {sorted(made)}; wanted: {wanted}')


def check_devinfo(case):
    out = case.run(['ibv_devinfo', '-v'])
    layer = 'InfiniBand' if '--link=ib' in case.launcher else 'Ethernet'
    has(out, 'hca_id:\tmlx5_0', 'PORT_ACTIVE', f'link_layer:\t\t{layer}', 'GID[  0]')
    for version in ('RoCE v1', 'RoCE v2'):
        check((version in out) == ('--link=roce' in case.launcher),
              f'"{version}" where it does not belong, or not where it does\n{out}')


# Programs that tell about devices without verbs: (command, what it says).
LISTINGS = [
    (['ls', '-l', '/sys/class/infiniband'], r'mlx5_0 -> \S+/infiniband/mlx5_0\n'),
    (['ls', '-l', '/dev/infiniband/uverbs0'], r'^crw-rw-rw- .* 231, 192 '),
    (['stat', '--format=%F', '/sys/class/infiniband/mlx5_0/node_type'], r'^regular file\n'),
    (['ls', '/sys/bus/pci/devices'], r'(?m)^5cc5:00:00\.0$'),
    (['ls', '/dev/infiniband'], r'^rdma_cm\nuverbs0\n'),
    (['ls', '-l', '/dev/infiniband/rdma_cm'], r'^crw-rw-rw- .* 10, 124 '),
    (['cat', '/sys/class/misc/rdma_cm/abi_version', '/sys/class/misc/rdma_cm/dev'],
     r'^4\n10:124\n'),
    (['sh', '-c', 'cd /sys/class/infiniband && echo * && pwd -P'],
     r'^mlx5_0\n/sys/class/infiniband\n'),
    (['ibstatus'], r"(?s)^Infiniband device 'mlx5_0' port 1 status:.*state:\s+4: ACTIVE.*"
     r'link_layer:\s+InfiniBand'),
    (['ibstat', '-l'], r'^mlx5_0\n'),
    (['ibstat', 'mlx5_0', '1'], r'(?s)State: Active.*LinkUp.*Link layer: InfiniBand'),
    (['rdma', 'dev'], r'^0: mlx5_0: node_type ca fw 20\.35\.2000 node_guid 025c:c5ff:'),
    (['rdma', 'link'],
     r'^link mlx5_0/1 subnet_prefix fe80:\S+ lid 1 .*state ACTIVE physical_state LINK_UP'),
    (['rdma', 'system'], r'^netns shared'),
    (['lspci', '-v', '-s', '5cc5:00:00.0'], r'Infiniband controller: Mellanox .*ConnectX-6'),
]


def check_listing(case, command, wanted):
    out = case.run(command)
    check(re.search(wanted, out) and 'No such file' not in out, f'no "{wanted}" in\n{out}')


# The objects of ibv_rc_pingpong, of 1024 bytes: (what rdma is asked for, what it says of them).
RESOURCES = [
    (['qp'], {'lqpn', 'rqpn', 'type', 'state', 'pdn', 'pid', 'comm'}),
    (['cq'], {'cqn', 'cqe', 'users', 'pid'}),
    (['mr'], {'mrn', 'rkey', 'mrlen', 'pdn', 'pid'}),
    (['pd'], {'pdn', 'users', 'pid'}),
    (['ctx'], {'ctxn', 'pid'}),
]


def ask_rdma(case, words):
    return json.loads(case.run(['rdma', '-j', 'resource', *words]))


def check_resources(case):
    """The objects of another process, with their owner; and none once the process has ended."""
    port = free_port()
    server = case.start(['ibv_rc_pingpong', '-s', '1024', '-p', port])
    case.await_port(port, server)
    summary = ask_rdma(case, [])[0]
    wanted = {'pd': 1, 'cq': 1, 'qp': 1, 'cm_id': 0, 'mr': 1, 'ctx': 1, 'srq': 0}
    check({key: summary.get(key) for key in wanted} == wanted, f'{summary}, not {wanted}')
    for words, keys in RESOURCES:
        said = ask_rdma(case, ['show', *words])
        check(len(said) == 1 and keys <= said[0].keys() and said[0]['pid'] == server.pid,
              f'{words}: {said}')
    qp, mr = ask_rdma(case, ['show', 'qp'])[0], ask_rdma(case, ['show', 'mr'])[0]
    check((qp['type'], qp['state'], mr['mrlen']) == ('RC', 'INIT', 1024), f'{qp} {mr}')
    check(ask_rdma(case, ['show', 'qp', 'link', 'mlx5_0/1', 'lqpn', str(qp['lqpn'])]) == [qp],
          'the queue pair by its number is another')
    server.kill()
    server.communicate()
    left = ask_rdma(case, [])[0]
    check(not any(left[key] for key in wanted), f'{left}, of nobody')


def check_refusal(case):
    """An unknown generation gives no device, and one line that names it."""
    process = case.start(['env', 'SOFTCX_GENERATION=cx9', 'ibv_devinfo'])
    out = case.finish(process, None)
    check(process.returncode and out.count('softcx: SOFTCX_GENERATION=cx9 is not known') == 1,
          f'exit status {process.returncode}\n{out}')


def pairs(link):
    """(command, options of softcx run, more arguments of the client, more environment)"""
    gid = [] if link == 'ib' else ['-g', '3']
    for program in PINGPONGS:
        for flags in ([], ['-e']):
            yield [program, '-n', '200', *flags, *gid], [], [], {}
    gid = ['-d', 'mlx5_0'] if link == 'ib' else ['-d', 'mlx5_0', '-x', '3']
    for program in PERFTESTS:
        yield [program, '-n', '100', *gid], [], [], {}
    if link == 'ib':
        yield ['ibv_rc_pingpong', '-n', '200'], ['--exact'], [], {}
        for flags in ('-o', '-O', '-oP', '-j', '-t'):
            yield ['ibv_rc_pingpong', '-n', '200', flags], [], [], {}
        yield ['ib_write_bw', '-n', '100', '--odp', *gid], [], [], {}
        yield ['ib_write_bw', '-n', '100', '--use_hugepages', *gid], [], [], {}
        yield ['ib_write_bw', '-a', '-n', '20'], [], [], {}
    if link == 'roce':  # on InfiniBand it asks the subnet manager first, by umad; its group is IPv6
        yield ['ib_send_bw', '-c', 'UD', '-g', '-n', '100', '-d', 'mlx5_0', '-x', '1'], [], [], {}
    for program in PERFTESTS_DC:
        yield [program, '-c', 'DC', '-n', '100', *gid], [], [], {}
    for program in PERFTESTS_STREAMS:
        yield [program, '-c', 'DC', *STREAMS, '-n', '100', *gid], [], [], {}
    for program in PERFTESTS_XRC:
        yield [program, '-c', 'XRC', '-n', '100', *gid], [], [], {}
    for transport in ('rc_x', 'ud_x', 'dc_x'):
        yield (['ucx_perftest'], [], ['-t', 'tag_lat', '-n', '100', '-w', '10'],
               {'UCX_TLS': transport, 'UCX_NET_DEVICES': 'mlx5_0:1'})


def cases():
    """(name, program, function of the case, link, options, more environment)"""
    for link in ('ib', 'roce'):
        yield f'ibv_devinfo on {link}', 'ibv_devinfo', check_devinfo, link, [], {}
        for command, options, client_more, env in pairs(link):
            name = ' '.join([*command, *options, *env.values(), 'on', link])
            yield (name, command[0],
                   lambda case, c=command, m=client_more: run_pair(case, c, m), link, options, env)
    for generation, part_id in (('cx5', 4119), ('cx6', 4123), ('cx7', 4129)):
        yield (f'ibv_devinfo on {generation}', 'ibv_devinfo',
               lambda case, p=part_id: check_listing(
                   case, ['ibv_devinfo'], rf'vendor_part_id:\t\t\t{p}\n'),
               'ib', [f'--generation={generation}'], {})
    yield ('ibv_devinfo on big-endian atomics', 'ibv_devinfo',
           lambda case: check_listing(case, ['ibv_devinfo', '-v'], 'ATOMIC_NONE'), 'ib',
           ['--big-endian-atomics'], {})
    for command, wanted in LISTINGS:
        yield (' '.join(command), command[0],
               lambda case, c=command, w=wanted: check_listing(case, c, w), 'ib', [], {})
    yield 'rdma resource', 'rdma', check_resources, 'ib', [], {}
    yield (f'a round trip in {ROUND_TRIP_US} us', 'ib_write_lat', check_round_trip, 'ib', [], {})
    ucx = {'UCX_TLS': 'rc_x', 'UCX_NET_DEVICES': 'mlx5_0:1'}
    yield ('UCX sends from device memory', 'ucx_perftest',
           lambda case: check_device_memory(case, True),
           'ib', [], {**ucx, 'UCX_RC_MLX5_DM_SIZE': '2K'})
    for size, is_there in ((8, True), (1024, False)):
        yield (f'UCX takes messages of {size} B in CQEs: {is_there}', 'ucx_perftest',
               lambda case, s=size, t=is_there: check_inline_recv(case, s, t), 'ib', [], ucx)
    yield ('UCX without device memory', 'ucx_perftest',
           lambda case: check_device_memory(case, False),
           'ib', [], {**ucx, 'UCX_RC_MLX5_DM_SIZE': '0'})
    for transport, wanted in (('rc_x', ['CREATE_QP', 'CREATE_RMP']),
                              ('dc_x', ['CREATE_QP', 'CREATE_RMP', 'CREATE_DCT'])):
        env = {**ucx, 'UCX_TLS': transport}
        yield (f'UCX makes the queues of {transport} by commands', 'ucx_perftest',
               lambda case, w=wanted: check_devx(case, w), 'ib', [], env)
        yield (f'UCX makes the queues of {transport} by verbs', 'ucx_perftest',
               lambda case: check_devx(case, []), 'ib', ['--no-devx'], env)
    yield 'a generation that is not known', 'ibv_devinfo', check_refusal, 'ib', [], {}
    yield 'nothing is left behind', 'true', check_nothing_left, 'ib', [], {}


def main():
    wanted = [(name, program, function, [f'--link={link}', *options], env)
              for name, program, function, link, options, env in cases()
              if ('--use_hugepages' in name) == WITH_HUGE_PAGES]
    return run_cases(SOFTCX, wanted)


sys.exit(main())
