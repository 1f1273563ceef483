# SPDX-License-Identifier: BSD-2-Clause
"""Cases of programs on softcx, each on a fabric of its own. Speaks TAP."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'tools'))
from harness import DEADLINE_S, Bench, Tap, check, is_wanted, listens  # noqa: E402


class Case(Bench):
    """What one case runs its programs on. Both outputs of a program are one text."""

    def __init__(self, softcx, name, options, more):
        super().__init__(name)
        self.launcher = [softcx, 'run', f'--fabric={self.fabric}', f'--trace={self.trace.name}',
                         *options]
        self.env = dict(os.environ, **more)
        self.deadline = time.monotonic() + DEADLINE_S

    def start(self, command, *options):
        return self.begin([*self.launcher, *options, '--', *command], self.env, subprocess.STDOUT)

    def finish(self, process, status=0, seconds=DEADLINE_S):
        return super().finish(process, status, seconds)[0]

    def run(self, command, *options, status=0):
        return self.finish(self.start(command, *options), status)

    def await_that(self, holds, process, wanted):
        """Until it holds, or the process ends."""
        while not holds():
            if process.poll() is not None:
                self.finish(process)
            check(process.poll() is None and time.monotonic() < self.deadline,
                  f'{" ".join(process.args)}: {wanted}')
            time.sleep(0.02)

    def await_port(self, port, process):
        self.await_that(lambda: listens(port), process, 'does not listen')

    def check_trace(self, wanted=' wqe: '):
        """Both sides' WQEs are in it, and nothing wrong with them."""
        super().check_trace(wanted)


def check_nothing_left(_case):
    """The fabrics of these cases were removed with the last of their processes."""
    dirs = [os.environ.get('XDG_RUNTIME_DIR', '/dev/shm'), '/dev/shm', '/tmp']
    left = {entry for path in dirs if os.path.isdir(path) for entry in os.listdir(path)
            if f'-test-{os.getpid()}-' in entry}
    check(not left, f'left behind: {" ".join(sorted(left))}')


def run_cases(softcx, cases):
    """Of (name, program, function of the case, options, more environment)."""
    tap = Tap()
    for name, program, function, options, env in cases:
        if not is_wanted(name):
            continue
        if shutil.which(program):
            tap.run(name, Case(softcx, tap.count + 1, options, env), function)
        else:
            tap.say(name, skip=f'{program} is not installed')
    return tap.end()
