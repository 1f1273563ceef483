#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unmodified programs of the distribution on softcx, alone and in pairs. Speaks TAP.

usage: programs.py PRELOAD

Each case has a fabric of its own, so that parallel runs do not meet. A program that is not
installed skips its cases.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

PRELOAD = os.path.abspath(sys.argv[1])
DEADLINE_S = 30

PINGPONGS = ['ibv_rc_pingpong', 'ibv_uc_pingpong', 'ibv_ud_pingpong', 'ibv_srq_pingpong']
PERFTESTS = ['ib_write_lat', 'ib_read_lat', 'ib_send_lat', 'ib_atomic_lat', 'ib_write_bw',
             'ib_read_bw', 'ib_send_bw']


class Failure(Exception):
    pass


def environment(case, link, more):
    env = dict(os.environ, LD_PRELOAD=PRELOAD, SOFTCX_LINK=link, **more)
    env['SOFTCX_FABRIC'] = f'test-{os.getpid()}-{case}'
    for name in ('SOFTCX_GENERATION', 'SOFTCX_FAULT', 'SOFTCX_TRACE', 'SOFTCX_PASSIVE'):
        env.pop(name, None)
    return env


def start(command, env):
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(process, deadline):
    """The output of a program that ends well and in time."""
    try:
        out, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        raise Failure(f'{process.args[0]}: not done after {DEADLINE_S} s\n{out}') from None
    if process.returncode:
        raise Failure(f'{" ".join(process.args)}: exit status {process.returncode}\n{out}')
    return out


def free_port():
    with socket.socket() as s:
        s.bind(('', 0))
        return s.getsockname()[1]


def is_listening(port):
    """Does somebody listen on the port? (proc(5): local address, state 0A is LISTEN)"""
    wanted = re.compile(rf':{port:04X} [0-9A-F]+:0000 0A ')
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        try:
            with open(table, encoding='ascii') as lines:
                if wanted.search(lines.read()):
                    return True
        except OSError:
            pass
    return False


def run_pair(command, client_more, env):
    """Server and client of one program, each started like the other but for the server's name."""
    port = str(free_port())
    deadline = time.monotonic() + DEADLINE_S
    server = start(command + ['-p', port], env)
    client = None
    try:
        while not is_listening(int(port)):
            if server.poll() is not None:
                finish(server, deadline)
            if time.monotonic() > deadline:
                raise Failure(f'{command[0]}: the server does not listen')
            time.sleep(0.01)
        client = start(command[:1] + ['127.0.0.1'] + command[1:] + ['-p', port] + client_more, env)
        finish(client, deadline)
        finish(server, deadline)
    finally:
        for process in (client, server):
            if process and process.poll() is None:
                process.kill()
                process.communicate()


def check_devinfo(link, env):
    out = finish(start(['ibv_devinfo', '-v'], env), time.monotonic() + DEADLINE_S)
    layer = 'InfiniBand' if link == 'ib' else 'Ethernet'
    for wanted in ('hca_id:\tmlx5_0', 'PORT_ACTIVE', f'link_layer:\t\t{layer}', 'GID[  0]'):
        if wanted not in out:
            raise Failure(f'no "{wanted}" in\n{out}')
    for version in ('RoCE v1', 'RoCE v2'):
        if (version in out) != (link == 'roce'):
            raise Failure(f'"{version}" where it does not belong, or not where it does\n{out}')


def check_refusal(env):
    """A wish that is not understood gives no device, and one line that names it."""
    process = start(['ibv_devinfo'], dict(env, SOFTCX_GENERATION='cx9'))
    out, _ = process.communicate(timeout=DEADLINE_S)
    if not process.returncode or out.count('softcx: SOFTCX_GENERATION=cx9 is not known') != 1:
        raise Failure(f'exit status {process.returncode}\n{out}')


def check_nothing_left():
    """The fabrics of these cases are gone with the last of their processes."""
    dirs = [os.environ.get('XDG_RUNTIME_DIR', '/dev/shm'), '/dev/shm', '/tmp']
    left = {entry for path in dirs if os.path.isdir(path) for entry in os.listdir(path)
            if f'-test-{os.getpid()}-' in entry}
    if left:
        raise Failure(f'left behind: {" ".join(sorted(left))}')


def cases():
    """(name, program, function of its environment, more environment)"""
    for link in ('ib', 'roce'):
        yield (f'ibv_devinfo on {link}', 'ibv_devinfo', link,
               lambda env, link=link: check_devinfo(link, env), {})
        gid = [] if link == 'ib' else ['-g', '3']
        for program in PINGPONGS:
            for flags in ([], ['-e']):
                command = [program, '-n', '200'] + flags + gid
                yield (f'{" ".join(command)} on {link}', program, link,
                       lambda env, c=command: run_pair(c, [], env), {})
        for program in PERFTESTS:
            gid = [] if link == 'ib' else ['-x', '3']
            command = [program, '-d', 'mlx5_0', '-n', '100'] + gid
            yield (f'{" ".join(command)} on {link}', program, link,
                   lambda env, c=command: run_pair(c, [], env), {})
        for transport in ('rc_x', 'ud_x'):
            ucx = {'UCX_TLS': transport, 'UCX_NET_DEVICES': 'mlx5_0:1'}
            yield (f'ucx_perftest over {transport} on {link}', 'ucx_perftest', link,
                   lambda env: run_pair(['ucx_perftest'],
                                        ['-t', 'tag_lat', '-n', '100', '-w', '10'], env), ucx)
    yield ('a generation that is not known', 'ibv_devinfo', 'ib', check_refusal, {})
    yield ('nothing is left behind', 'true', 'ib', lambda env: check_nothing_left(), {})


def main():
    number = failed = 0
    for number, (name, program, link, function, more) in enumerate(cases(), 1):
        if not shutil.which(program):
            print(f'ok {number} - {name} # SKIP {program} is not installed')
            continue
        try:
            function(environment(number, link, more))
            print(f'ok {number} - {name}')
        except Failure as failure:
            failed += 1
            print(f'not ok {number} - {name}')
            for line in str(failure).split('\n'):
                print(f'# {line}')
        sys.stdout.flush()
    print(f'1..{number}')
    return 1 if failed else 0


sys.exit(main())
