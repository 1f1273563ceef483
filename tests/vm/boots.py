#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whether tests/vm/run tells a machine that fails from a program that fails, without QEMU.

Speaks TAP; boots nothing.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'tools'))

from harness import check, has, main  # noqa: E402

DEADLINE_S = 30

# At each boot it does what the next word of the plan says. It writes what guest-init would.
QEMU = r'''#!/bin/bash
share=$(grep -oP 'id=share,path=\K[^,]+' <<<"$*")
echo "$$" >>"$PLAN.pids"
read -r how rest <"$PLAN"
echo "$rest" >"$PLAN"
[ "$how" != silent ] || exit 1
touch "$share/booted"
case $how in
dies) exit 1 ;;
hangs) exec sleep 1000 ;;
esac
bash -c "$(tail -n 1 "$share/command")" >"$share/out" 2>&1
echo $? >"$share/status"
'''


class Machine:
    """A cache as tests/vm/setup leaves it, whose QEMU follows a plan."""

    def __init__(self, *plan):
        self.dir = pathlib.Path(tempfile.mkdtemp())
        self.tmp = self.dir / 'tmp'
        self.tmp.mkdir()
        self.plan = self.dir / 'plan'
        self.plan.write_text(' '.join(plan) + '\n', encoding='ascii')
        ready = next(line.split('/')[-1] for line in (HERE / 'setup').read_text().splitlines()
                     if line.startswith('ready='))
        for name in ready, 'modules/one.ko', 'vmlinuz':
            (self.dir / name).parent.mkdir(exist_ok=True)
            (self.dir / name).touch()
        self.program('busybox', '#!/bin/sh\ncat >/dev/null\n')
        self.program('tree/usr/bin/qemu-system-x86_64', QEMU)

    def program(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='ascii')
        path.chmod(0o755)

    def start(self, *command):
        env = dict(os.environ, BUNSEN_VM_CACHE=str(self.dir), PLAN=str(self.plan),
                   TMPDIR=str(self.tmp))
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def run(self, *command, by='run'):
        process = self.start(HERE / by, *command)
        out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out, err

    def pids(self):
        file = pathlib.Path(f'{self.plan}.pids')
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    def end(self):
        """How many boots there were; nothing of them may be left."""
        files = list(self.tmp.iterdir())
        alive = [pid for pid in self.pids() if pathlib.Path(f'/proc/{pid}').exists()]
        boots = len(self.pids())
        shutil.rmtree(self.dir)
        check(not alive and not files, f'left: {alive} {files}')
        return boots


def expect(plan, command, status, boots, *texts):
    """Without a command: the battery."""
    machine = Machine(*plan)
    found, out, err = machine.run(*command or [], by='run' if command else 'rxe')
    started = machine.end()
    check(found == status, f'exit status {found}, not {status}\n{out}{err}')
    check(started == boots, f'{started} boots, not {boots}\n{err}')
    has(out + err, *texts)


# Of each case: what its boots do, the command, its status, the boots that there were, what is said.
CASES = {
    'a_program_has_its_status_and_its_output': (['runs'], ['echo', 'hello'], 0, 1, 'hello\n'),
    'a_program_that_fails_has_them_too': (
        ['runs'], ['bash', '-c', 'echo hello >&2; exit 7'], 7, 1, 'hello\n'),
    'a_boot_that_shows_nothing_is_tried_again': (
        ['silent', 'silent', 'runs'], ['true'], 0, 3, 'boot 1 of 3 failed', 'boot 2 of 3 failed'),
    'a_failing_program_is_not_tried_again': (
        ['silent', 'runs', 'runs'], ['false'], 1, 2, 'boot 1 of 3 failed'),
    'three_boots_are_enough': (['silent'] * 4, ['true'], 125, 3, 'no guest came up'),
    'a_guest_that_goes_down_with_the_program': (
        ['dies', 'runs'], ['true'], 125, 1, 'the guest went down'),
    'a_program_that_takes_too_long': (
        ['hangs'], ['--timeout', '1', 'true'], 124, 1, 'not done after 1 s'),
    'a_machine_that_fails_is_no_failed_case': (
        ['silent'] * 3, None, 125, 3, 'Bail out! tests/vm/run: no guest came up'),
    'a_guest_that_goes_down_is_no_failed_case': (
        ['dies'], None, 125, 1, 'Bail out! tests/vm/run: the guest went down'),
}
for name, case in CASES.items():
    globals()[f'test_{name}'] = lambda _, case=case: expect(*case)


def test_without_qemu_and_kernel_the_battery_is_skipped(_):
    run = subprocess.run([HERE / 'rxe'], env=dict(os.environ, BUNSEN_VM_CACHE='/dev/null/cache'),
                         capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    check(run.stdout.startswith('1..0 # SKIP tests/vm/setup: cannot write to'), run.stdout)


def test_a_run_that_is_stopped_stops_its_guest(_):
    machine = Machine('hangs')
    process = machine.start(HERE / 'run', 'true')
    while not machine.pids():
        check(process.poll() is None, 'it ended by itself')
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_S)
    check(process.returncode == 143, process.returncode)
    machine.end()


sys.exit(main(globals()))
