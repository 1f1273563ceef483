#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What each shell offers after the name of each tool.

usage: completion.py BSN_INFO BSN_PERF SOFTCX WQE_DUMP BASH_FILE ZSH_FILE FISH_FILE
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import check, main, need

PROGRAMS = {pathlib.Path(path).name: path for path in sys.argv[1:5]}
BASH, ZSH, FISH = sys.argv[5:8]
COMMANDS = {'bsn-info': [], 'bsn-perf': ['cost', 'dc', 'lat', 'bw'],
            'softcx': ['run', 'list', 'clean'], 'wqe-dump': ['explain', 'build']}

BASH_SCRIPT = '''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
case ${1##*/} in wqe-dump) _wqe_dump ;; *) _bunsen ;; esac
printf '%s\\n' "${COMPREPLY[@]}"
'''

# Replaces the function that shows the offers: it prints them.
ZSH_SCRIPT = '''
_describe() { local array; for array; do
	[[ $array == (flags|names) ]] && print -l -- ${(P)array%%:*}; done }
_files() { }
file=$1; shift
words=("$@"); CURRENT=$#
source $file
'''

# Fish asks the commands themselves, by the names that they have on the path.
FISH_SCRIPT = '''
set -x PATH (dirname $argv[2]) $PATH
source $argv[1]
complete -C "$argv[3]" | string replace -r '\\t.*' ''
'''


def shell(name, *arguments):
    with tempfile.TemporaryDirectory() as home:  # fish writes there
        run = subprocess.run([name, *arguments], capture_output=True, text=True, timeout=60,
                             check=False, env=dict(os.environ, HOME=home, XDG_CONFIG_HOME=home,
                                                   XDG_DATA_HOME=home, XDG_CACHE_HOME=home))
    check(not run.stderr, run.stderr)
    return run.stdout.split()


def by_bash(program, *words):
    return shell('bash', '-c', BASH_SCRIPT, 'bash', BASH, program, *words)


def by_zsh(program, *words):
    return shell('zsh', '-f', '-c', ZSH_SCRIPT, 'zsh', ZSH, program, *words)


def by_fish(program, *words):
    line = ' '.join([pathlib.Path(program).name, *words])
    return shell('fish', '--no-config', '-c', FISH_SCRIPT, FISH, program, line)


def options_of(bench, program, command):
    text, _ = bench.run(program, *command, '--help')
    return {word.strip(',').split('=')[0].rstrip('[') for line in text.splitlines()[1:]
            for word in line.split()[:2] if word.startswith('--') and line.startswith('  ')}


def offers_what_help_says(bench, shell_name, offers):
    need(shutil.which(shell_name), f'no {shell_name} here')
    for name, program in PROGRAMS.items():
        got = offers(program, '')
        check(set(COMMANDS[name]) <= set(got), f'{name}: {got}')
        for command in [[]] + [[c] for c in COMMANDS[name] if name != 'softcx']:
            wanted = options_of(bench, program, command)
            got = {option.rstrip('=') for option in offers(program, *command, '--')}
            check(got == wanted and len(got) > 1, f'{name} {command}: {got ^ wanted}')


def test_bash(bench):
    offers_what_help_says(bench, 'bash', by_bash)
    check(by_bash(PROGRAMS['bsn-perf'], 'cost', '--dep') == ['--depth='], 'no --depth=')
    check(by_bash(PROGRAMS['softcx'], '--link', 'r') == ['roce'], 'no link')


def test_zsh(bench):
    offers_what_help_says(bench, 'zsh', by_zsh)


def test_fish(bench):
    offers_what_help_says(bench, 'fish', by_fish)


# -- wqe-dump in bash ------------------------------------------------------------------------------

def offers(*words):
    return by_bash(PROGRAMS['wqe-dump'], *words)


def offers_all(wanted, *words):
    got = offers(*words)
    check(set(wanted) <= set(got), f'{words}: {got}, not {wanted}')


def offers_only(wanted, *words):
    got = offers(*words)
    check(got == [wanted], f'{words}: {got}, not {wanted}')


def test_commands(_bench):
    offers_all(['explain', 'build'], '')
    offers_only('explain', 'exp')
    check('explain' not in offers('-j', ''), 'a command after an option')


def test_files(_bench):
    offers_all([BASH], BASH[:-2])


def test_options_of_each_command(_bench):
    offers_only('--decimal', 'explain', '--dec')
    offers_only('--rkey=', 'build', 'write', '--rk')


def test_arguments(_bench):
    offers_all(['cqe', 'wqe', 'libmlx5', 'hex'], '--format', '')
    offers_all(['libmlx5'], '--format', '=', 'libm')
    offers_only('xrc', '-t', 'x')
    offers_only('requester', 'explain', '--side', 'req')


def test_build(_bench):
    offers_all(['rdma-write', 'atomic-cs', 'recv-srq'], 'build', '')
    offers_only('umr', 'build', 'um')
    offers_all(['raddr.rkey=', 'ctrl.qpn='], 'build', 'write', '--set', '')
    offers_only('bsf_crypto', 'build', 'umr', '--segment', 'bsf_')


sys.exit(main(globals()))
