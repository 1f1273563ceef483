#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What bash offers after wqe-dump. usage: dump_completion.py PROGRAM COMPLETION_FILE"""

import pathlib
import subprocess
import sys

from harness import check, main

DUMP, FILE = sys.argv[1], sys.argv[2]

SCRIPT = '''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_wqe_dump && printf '%s\\n' "${COMPREPLY[@]}"
'''


def offers(*words):
    run = subprocess.run(['bash', '-c', SCRIPT, 'bash', FILE, DUMP, *words], capture_output=True,
                         text=True, timeout=60, check=True)
    check(not run.stderr, run.stderr)
    return run.stdout.split()


def offers_all(wanted, *words):
    got = offers(*words)
    check(set(wanted) <= set(got), f'{words}: {got}, not {wanted}')
    return got


def test_commands(_bench):
    offers_all(['explain', 'build'], '')
    check(offers('exp') == ['explain'], offers('exp'))
    check('explain' not in offers('-j', ''), 'a command after an option')


def test_files(_bench):
    name = pathlib.Path(FILE)
    check(str(name) in offers(str(name)[:-2]), 'not the file')


def test_options_of_each_command(bench):
    for command in [], ['explain'], ['build']:
        help_text, _ = bench.run(DUMP, *command, '--help')
        got = [option.rstrip('=') for option in offers(*command, '--')]
        wanted = {word.strip(',').split('=')[0] for line in help_text.splitlines()[1:]
                  for word in line.split()[:2] if word.startswith('--')}
        check(set(got) == wanted and len(got) > 4, f'{command}: {set(got) ^ wanted}')
    check(offers('explain', '--dec') == ['--decimal'], offers('explain', '--dec'))
    check(offers('build', 'write', '--rk') == ['--rkey='], offers('build', 'write', '--rk'))


def test_arguments(_bench):
    offers_all(['cqe', 'wqe', 'libmlx5', 'hex'], '--format', '')
    offers_all(['libmlx5'], '--format', '=', 'libm')
    check(offers('-t', 'x') == ['xrc'], offers('-t', 'x'))
    check(offers('explain', '--side', 'req') == ['requester'], 'no side')


def test_build(_bench):
    offers_all(['rdma-write', 'atomic-cs', 'recv-srq'], 'build', '')
    check(offers('build', 'um') == ['umr'], offers('build', 'um'))
    offers_all(['raddr.rkey=', 'ctrl.qpn='], 'build', 'write', '--set', '')
    check(offers('build', 'umr', '--segment', 'bsf_') == ['bsf_crypto'], 'no segment')


sys.exit(main(globals()))
