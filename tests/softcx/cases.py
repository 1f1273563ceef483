# SPDX-License-Identifier: BSD-2-Clause
"""Cases of programs on softcx, each on a fabric of its own. Speaks TAP."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

DEADLINE_S = 60  # another program may use one core


class Failure(Exception):
    pass


class Case:
    """What one case runs its programs on."""

    def __init__(self, launcher, number, folder, options, more):
        self.fabric = f'test-{os.getpid()}-{number}'
        self.trace = os.path.join(folder, f'trace-{number}')
        self.folder = folder
        self.launcher = [launcher, 'run', f'--fabric={self.fabric}', f'--trace={self.trace}',
                         *options, '--']
        self.env = dict(os.environ, **more)
        self.deadline = time.monotonic() + DEADLINE_S
        self.processes = []

    def start(self, command, env=None):
        # pylint: disable=consider-using-with
        process = subprocess.Popen(self.launcher + command, env=env or self.env,
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def run(self, command):
        return finish(self.start(command), time.monotonic() + DEADLINE_S)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def check_trace(self, wanted=' wqe: '):
        """Both sides' WQEs are in it, and nothing wrong with them."""
        with open(self.trace, encoding='ascii') as trace:
            lines = trace.readlines()
        findings = [line for line in lines if ' lint: ' in line]
        if findings:
            raise Failure(f'{len(findings)} findings, the first ones:\n' + ''.join(findings[:5]))
        if not any(wanted in line for line in lines):
            raise Failure(f'no "{wanted}" in a trace of {len(lines)} lines')


def finish(process, deadline, status=0):
    """The output of a program that ends well and in time."""
    try:
        out, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        raise Failure(f'{" ".join(process.args)}: not done in time\n{out}') from None
    if status is not None and process.returncode != status:
        raise Failure(f'{" ".join(process.args)}: exit status {process.returncode}\n{out}')
    return out


def check_nothing_left():
    """The fabrics of these cases were removed with the last of their processes."""
    dirs = [os.environ.get('XDG_RUNTIME_DIR', '/dev/shm'), '/dev/shm', '/tmp']
    left = {entry for path in dirs if os.path.isdir(path) for entry in os.listdir(path)
            if f'-test-{os.getpid()}-' in entry}
    if left:
        raise Failure(f'left behind: {" ".join(sorted(left))}')


def run_cases(launcher, cases):
    """
    Of (name, program, function of the case, options, more environment). The function says why the
    case was skipped, if it was; a program that is not installed skips it, too.
    """
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, program, function, options, env) in enumerate(cases, 1):
            if not shutil.which(program):
                print(f'ok {number} - {name} # SKIP {program} is not installed')
                continue
            case = Case(launcher, number, folder, options, env)
            try:
                skip = function(case)
                print(f'ok {number} - {name}' + (f' # SKIP {skip}' if skip else ''))
            except Failure as failure:
                failed += 1
                print(f'not ok {number} - {name}')
                for line in str(failure).split('\n'):
                    print(f'# {line}')
            finally:
                case.end()
            sys.stdout.flush()
    print(f'1..{number}')
    return 1 if failed else 0
