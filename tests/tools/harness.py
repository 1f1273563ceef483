# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs that have softcx linked in, each case on a fabric of its own. Speaks TAP.

A script that imports this takes --only=NAME, to run just the cases with NAME in their names:
meson test -C build bsn-perf --test-args=--only=sweep
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402, F401: those who import this module use it

DEADLINE_S = 60

# Taken away before the script looks at its arguments.
ONLY = [arg.partition('=')[2] for arg in sys.argv if arg.startswith('--only=')]
sys.argv[:] = [arg for arg in sys.argv if not arg.startswith('--only=')]


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def parse_json(text):
    """Parses JSON; each key of an object may be there only once."""
    def build(pairs):
        check(len(dict(pairs)) == len(pairs), f'a key twice: {pairs}')
        return dict(pairs)
    return json.loads(text, object_pairs_hook=build)


class Bench:
    """One case: its fabric, and the programs it started."""

    def __init__(self, name):
        self.fabric = f'test-{os.getpid()}-{name}'
        self.trace = tempfile.NamedTemporaryFile(prefix='trace-')
        self.started = []

    def start(self, program, *args, device=True, **more):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(('SOFTCX_', 'BSN_'))}
        if device:
            env['SOFTCX_FABRIC'] = self.fabric
            env['SOFTCX_TRACE'] = self.trace.name
        else:
            env['BSN_DEVICE'] = 'no_such_device'
        env.update(more)
        process = subprocess.Popen([program, *args], env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def finish(self, process, status=0):
        """What it said on both outputs, when it ended as expected."""
        try:
            out, err = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Failure(f'{process.args}: not done after {DEADLINE_S} s\n{out}{err}') from None
        check(process.returncode == status,
              f'{process.args}: exit status {process.returncode}, not {status}\n{out}{err}')
        return out, err

    def run(self, program, *args, status=0, **more):
        return self.finish(self.start(program, *args, **more), status)

    def complains(self, text, program, *args, status=1, **more):
        """One line, which has the text, and nothing on standard output."""
        out, err = self.run(program, *args, status=status, **more)
        check(text in err, f'{args}: said {err!r}, not {text!r}')
        check(err.count('\n') == 1 and not out, f'{args}: more than one line\n{out}{err}')

    def check_trace(self):
        """The trace has no finding, of what a ConnectX takes but nobody should post."""
        with open(self.trace.name, encoding='ascii') as trace:
            findings = [line for line in trace if ' lint: ' in line]
        check(not findings, f'{len(findings)} findings, the first ones:\n' + ''.join(findings[:5]))

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.trace.close()


def main(cases):
    """Runs the functions test_* of a module: its globals()."""
    tests = [(name[len('test_'):], case) for name, case in cases.items()
             if name.startswith('test_') and (not ONLY or any(part in name for part in ONLY))]
    if not tests:
        sys.exit(f'no case has {" or ".join(ONLY)} in its name')
    failed = 0
    print(f'1..{len(tests)}')
    for number, (name, case) in enumerate(tests, 1):
        bench = Bench(name)
        try:
            skip = case(bench)
            bench.check_trace()
            print('ok', number, '-', name, *(['#', skip] if skip else []), flush=True)
        except Exception:  # a bug of the test fails the test
            failed += 1
            print('not ok', number, '-', name)
            for line in traceback.format_exc().split('\n'):
                print('#', line)
        finally:
            bench.end()
    return 1 if failed else 0
