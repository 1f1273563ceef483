# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs that have softcx linked in, each case on a fabric of its own. Speaks TAP.

A script that imports this takes --only=NAME, to run just the cases with NAME in their names:
meson test -C build bsn-perf --test-args=--only=sweep
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port, listens  # noqa: E402, F401: for those who import this module
from tap import Skip, Tap  # noqa: E402

DEADLINE_S = 60

# Taken away before the script looks at its arguments.
ONLY = [arg.partition('=')[2] for arg in sys.argv if arg.startswith('--only=')]
sys.argv[:] = [arg for arg in sys.argv if not arg.startswith('--only=')]


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def need(condition, why):
    if not condition:
        raise Skip(why)


def has(text, *wanted):
    missing = [words for words in wanted if words not in text]
    check(not missing, f'{missing} not in\n{text}')


def validator_of(schema):
    """What checks JSON by the schema in that file."""
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip('jsonschema is not installed: tools/setup --all') from None
    return jsonschema.Draft7Validator(json.loads(pathlib.Path(schema).read_text()))


def conforms(validator, report, what=''):
    wrong = [f'{list(error.absolute_path)}: {error.message}'
             for error in validator.iter_errors(report)]
    check(not wrong, f'{what}: {wrong[:3]}')


def parse_json(text):
    """Parses JSON; each key of an object may be there only once."""
    def build(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Failure(f'a key twice: {pairs}')
        return found
    return json.loads(text, object_pairs_hook=build)


def clean_environment():
    return {key: value for key, value in os.environ.items()
            if not key.startswith(('SOFTCX_', 'BSN_'))}


class Bench:
    """One case: its fabric, its files, and the programs it started."""

    def __init__(self, name):
        self.fabric = f'test-{os.getpid()}-{name}'
        self.trace = tempfile.NamedTemporaryFile(prefix='trace-')
        self.started = []

    @functools.cached_property
    def folder(self):
        return pathlib.Path(tempfile.mkdtemp(prefix='test-'))

    def file(self, content, name='file'):
        """In the folder; text or bytes."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def start(self, program, *args, device=True, **more):
        env = clean_environment()
        if device:
            env['SOFTCX_FABRIC'] = self.fabric
            env['SOFTCX_TRACE'] = self.trace.name
        else:
            env['BSN_DEVICE'] = 'no_such_device'
        env.update(more)
        return self.begin([program, *args], env)

    def begin(self, command, env, stderr=subprocess.PIPE):
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.started.append(process)
        return process

    def finish(self, process, status=0, seconds=DEADLINE_S):
        """What it said on both outputs, when it ended as expected; with any status, if None."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Failure(f'{process.args}: not done after {seconds} s\n{out}{err}') from None
        check(status in (None, process.returncode),
              f'{process.args}: exit status {process.returncode}, not {status}\n{out}{err}')
        return out, err

    def run(self, program, *args, status=0, **more):
        return self.finish(self.start(program, *args, **more), status)

    def json(self, program, *args, **more):
        """Its report."""
        return parse_json(self.run(program, *args, '--json', **more)[0])

    def complains(self, text, program, *args, status=1, **more):
        """One line, which has the text, and nothing on standard output."""
        out, err = self.run(program, *args, status=status, **more)
        check(text in err, f'{args}: said {err!r}, not {text!r}')
        check(err.count('\n') == 1 and not out, f'{args}: more than one line\n{out}{err}')

    def check_trace(self, wanted=''):
        """The trace has it, and no finding, of what a ConnectX takes but nobody should post."""
        trace = pathlib.Path(self.trace.name).read_bytes()
        if b' lint: ' in trace:  # it may have 100 MB: its lines are looked at only then
            findings = [line for line in trace.decode().split('\n') if ' lint: ' in line]
            raise Failure(f'{len(findings)} findings, the first ones:\n' + '\n'.join(findings[:5]))
        check(wanted.encode() in trace, f'no "{wanted}" in a trace of {len(trace)} bytes')

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.trace.close()
        if 'folder' in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)


def is_wanted(name):
    return not ONLY or any(part in name for part in ONLY)


def run_whole(bench, case):
    case(bench)
    bench.check_trace()


def main(cases):
    """Runs the functions test_* of a module: its globals()."""
    tap = Tap()
    for name, case in list(cases.items()):
        if name.startswith('test_') and is_wanted(name):
            name = name[len('test_'):]
            tap.run(name, Bench(name), run_whole, case)
    return tap.end() if tap.count else f'no case has {" or ".join(ONLY)} in its name'
