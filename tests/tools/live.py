#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What wqe-dump sees of a running process and of its core file.

usage: live.py WQE_DUMP LIVE_PROGRAM SCHEMA [LIBBUNSEN LIBBUNSEN_STATIC]
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import corefile
from harness import DEADLINE_S, check, conforms, has, main, need, validator_of
from live_rig import (DUMP, LIBRARIES, PROGRAM, SCHEMA, UNITS, Program, complains, look, numbers,
                      of, run, states)

REGISTRY = b'BSNqueue\3\0\0\0'


# -- a process that goes on ------------------------------------------------------------------------

def test_no_torn_wqe_under_a_posting_loop(bench):
    program = Program(bench)
    program.begin('loop')
    seen = 0
    for _ in range(40):
        done = run('--json', '-p', program.pid)
        check(done.returncode in (0, 1), done.stderr)
        report = json.loads(done.stdout)
        found = numbers(program, report)
        check([n % UNITS for n in range(found[0], found[0] + len(found))] == found
              if found else True, found)
        seen += len(report['records'])
    program.do('write 0')
    program.done()
    check(seen > 0, 'nothing was ever outstanding')


def test_queues_that_come_and_go(bench):
    program = Program(bench)
    program.do('write 2', 'ring')
    program.begin('churn')
    for _ in range(20):
        report = look('-p', program.pid)
        check(numbers(program, report) == [0, 1], report)
    program.do('write 0')
    program.done()


class Follower:
    """wqe-dump --follow, each record of which is read as soon as it is printed."""

    def __init__(self, bench, program):
        self.process = subprocess.Popen([DUMP, '--json', '-p', str(program.pid), '--follow'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        bench.started.append(self.process)
        self.text = ''
        self.read = 0

    def records(self):
        """The records so far; the last line has no end yet."""
        lines = self.text.split('\n')[1:]
        with contextlib.suppress(json.JSONDecodeError):
            return [json.loads(line.rstrip(',')) for line in lines]
        return []

    def next(self, count):
        """The next records: as many as must come now, and no more."""
        while len(self.records()) < self.read + count:
            more = os.read(self.process.stdout.fileno(), 1 << 16).decode()
            check(more, f'ends with {self.text}')
            self.text += more
        found = self.records()[self.read:]
        self.read += count
        check(len(found) == count, found)
        return found

    def end(self):
        """The rest of both outputs."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        check(self.process.returncode == 0, self.process.returncode)
        return out.decode(), err.decode()


def followed(bench, writes):
    """A program that posted so many, and who follows it."""
    program = Program(bench)
    program.do(f'write {writes}', 'ring')
    return program, Follower(bench, program)


def test_follow(bench):
    program, follower = followed(bench, 2)
    records = follower.next(2)
    program.do('step', 'poll', 'write 5', 'ring', 'step', 'poll', 'recv 1', 'srecv 1')
    records += follower.next(7 + 5 + 2)
    program.do('write 1', 'ring', 'srecv 1')
    records += follower.next(2)
    program.end()
    rest, errors = follower.end()
    check(rest.startswith('\n], "unread": [') and 'has ended' in errors, rest + errors)
    report = {'records': records}
    check(numbers(program, report) == list(range(8)), report)
    check([r['slot'] for r in of(report, 'completion queue')] == list(range(7)), report)
    check([r['slot'] for r in of(report, 'shared receive queue')] == [0, 1], report)
    check(states(report, 'send queue')[0] == 'outstanding', report)
    check(states(report, 'send queue')[-1] == 'outstanding', report)


def test_follow_says_what_it_missed(bench):
    program, follower = followed(bench, 1)
    follower.next(1)
    follower.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, follower.process.pid, os.WSTOPPED)
    for _ in range(60):
        program.do('step', 'poll', 'write 16', 'ring')
    follower.process.send_signal(signal.SIGCONT)
    records = follower.next(16)
    check(numbers(program, {'records': of({'records': records}, 'send queue')})[-1] == 960, records)
    program.end()
    rest, _ = follower.end()
    check('were used and reused between two looks' in rest, rest)


def test_follow_ends_when_interrupted(bench):
    program, follower = followed(bench, 2)
    follower.next(2)
    follower.process.send_signal(signal.SIGINT)
    rest, errors = follower.end()
    check(rest.startswith('\n], "unread": [') and not errors, rest + errors)


def test_follow_ends_with_a_closed_pipe(bench):
    program, follower = followed(bench, 2)
    follower.next(2)
    follower.process.stdout.close()
    program.do('write 1', 'ring')
    check(follower.process.wait(timeout=DEADLINE_S) == 0, follower.process.returncode)
    check(not follower.process.stderr.read(), 'not quiet')


# -- what cannot be looked at ----------------------------------------------------------------------

@contextlib.contextmanager
def other(*command, **more):
    """Another process, which is there and waits."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          **more) as process:
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.stdin.close()


def test_a_registry_that_is_off(bench):
    program = Program(bench, BSN_REGISTRY='0')
    complains('lists no queues: start it with BSN_REGISTRY=1', '-p', program.pid)


def test_a_child(bench):
    program = Program(bench)
    program.do('write 2', 'ring', 'fork')
    child = pathlib.Path(f'/proc/{program.pid}/task/{program.pid}/children').read_text()
    complains("a child of fork() has none of its parent's", '-p', int(child))
    check(numbers(program, look('-p', program.pid)) == [0, 1], 'not those of the parent')


def test_no_bunsen(_bench):
    with other('sh', '-c', 'echo; read x') as pid:
        complains('has no Bunsen in it', '-p', pid)


def test_no_process(_bench):
    complains('there is no process', '-p', 2**22 + 1, status=2)


def test_a_process_that_has_ended(bench):
    program = Program(bench)
    os.kill(program.pid, signal.SIGKILL)
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    complains('has no memory: it has ended', '-p', program.pid, status=2)


def test_another_users_process(bench):
    need(not os.geteuid(), 'not root')
    program = Program(bench)
    os.chmod(bench.folder, 0o755)
    copy = shutil.copy(DUMP, bench.folder)
    done = subprocess.run([copy, '-p', str(program.pid)], user='nobody', text=True,
                          capture_output=True, check=False, timeout=DEADLINE_S)
    check(done.returncode == 2 and 'is user root\'s (0)' in done.stderr, done.stderr)


def test_wrong_options(_bench):
    for text, args in (('--qp is a number', ['-p', 1, '--qp', '7x']),
                       ('--pid is the number of a process', ['-p', 0]),
                       ('--pid is the number of a process', ['-p', -1]),
                       ('--qp is a number', ['-p', 1, '--qp', 1 << 24]),
                       ('either --pid or --core', ['-p', 1, '-c', 'x']),
                       ('--follow is for a process', ['-c', 'x', '--follow']),
                       ('--trust-core is for a core file', ['-p', 1, '--trust-core']),
                       ('are for a process or a core file', ['--qp', 1]),
                       ('--pid is the number', ['-p', -5]),
                       ('name either a process or core file', ['-p', 1, 'file'])):
        complains(text, *args, status=2)


# -- however it was linked -------------------------------------------------------------------------

def test_a_stripped_program(bench):
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / 'stripped'
        subprocess.run(['strip', '-s', '-o', stripped, PROGRAM], check=True)
        program = Program(bench, stripped)
        program.do('write 2', 'ring')
        check(numbers(program, look('-p', program.pid)) == [0, 1], 'not found')
        os.unlink(stripped)  # as an update does: only what is in memory counts
        check(numbers(program, look('-p', program.pid)) == [0, 1], 'not found')


def test_a_stripped_shared_library(bench):
    need(LIBRARIES, 'built with sanitizers')
    stripped = bench.folder / 'libbunsen.so'
    subprocess.run(['strip', '-s', '-o', stripped, LIBRARIES[0]], check=True)
    script = (f'import ctypes, sys; ctypes.CDLL({str(stripped)!r}); print(flush=True); '
              'sys.stdin.read()')
    with other(sys.executable, '-c', script) as pid:
        complains('uses Bunsen, but lists no queues', '-p', pid)


def test_a_static_library_without_what_is_not_called(bench):
    need(LIBRARIES, 'built with sanitizers')
    program = bench.folder / 'static'
    source = ('#include <stdio.h>\nconst char *bsn_error_text(void);\n'
              'int main(void) { puts(bsn_error_text()); fflush(stdout); return getchar(); }')
    subprocess.run(['cc', '-x', 'c', '-', '-x', 'none', '-o', program, '-Wl,--gc-sections', '-s',
                    LIBRARIES[1], '-libverbs', '-lmlx5', '-lpthread'], input=source.encode(),
                   check=True)
    with other(program) as pid:
        complains('uses Bunsen, but lists no queues', '-p', pid)


# -- core files ------------------------------------------------------------------------------------

@contextlib.contextmanager
def core_of(program, keep=lambda *_: None, hole=-1):
    with tempfile.NamedTemporaryFile() as core:
        corefile.write(program.pid, core.name, keep, hole)
        yield pathlib.Path(core.name)


def busy(bench):
    program = Program(bench)
    program.do('write 5', 'ring', 'step', 'poll', 'write 3', 'ring', 'step', 'write 2', 'ring',
               'write 1', 'recv 2', 'srecv 1')
    return program


@contextlib.contextmanager
def patched(core, at, data):
    """A core file in which these bytes are there instead."""
    with open(core, 'r+b', buffering=0) as file:
        were = os.pread(file.fileno(), len(data), at)
        os.pwrite(file.fileno(), data, at)
        yield
        os.pwrite(file.fileno(), were, at)


def without_place(report):
    return [{key: value for key, value in record.items() if key not in ('file', 'source')}
            for record in report['records']]


def test_json_is_as_its_schema_says(bench):
    validator = validator_of(SCHEMA)
    program = busy(bench)
    program.do('bad', 'step', 'poll')
    conforms(validator, look('-p', program.pid))
    follower = Follower(bench, program)
    follower.next(len(look('-p', program.pid)['records']))
    program.do('write 1', 'ring')
    follower.next(1)
    program.end()
    rest, _ = follower.end()
    conforms(validator, json.loads(follower.text + rest))


def test_each_way_to_print_it(bench):
    program = busy(bench)
    count = len(look('-p', program.pid)['records'])
    brief = run('--brief', '-p', program.pid).stdout.splitlines()
    check(len(brief) == count and brief[-1].endswith('  posted'), brief)
    check(sum(line.endswith('  not rung') for line in brief) == 1, brief)
    text = run('-p', program.pid).stdout
    check(text.count(f'of a send queue of {program.slots} slots') == 6 and 'outstanding' in text,
          text)
    page = run('--html', '-p', program.pid).stdout
    has(page, f'send queue 0x{program.qp:x}', 'producer at slot 14', 'shared receive queue')


def test_a_core_file_says_the_same(bench):
    program = busy(bench)
    live = look('-p', program.pid)
    with core_of(program) as core:
        program.end()
        report = look('-c', core)
    check(without_place(report) == without_place(live) and not report['unread'], report)
    first = report['records'][0]
    check((first['source'], first['file']) ==
          ('core', f'the core of process {program.pid} (live_program)'), first)


def dumped_by_default(_start, rights, offset, name):
    """As the kernel's filter 0x33: anonymous memory, what was written, headers of ELF files."""
    if rights[1] == 'w' or not name.startswith('/'):
        return None
    return corefile.PAGE if not offset else 0


def written_only(_start, rights, _offset, _name):
    return None if rights[1] == 'w' else 0


def test_a_core_file_without_code(bench):
    program = busy(bench)
    live = look('-p', program.pid)
    for keep, *options in (dumped_by_default,), (written_only, '--trust-core'):
        with core_of(program, keep) as core:
            check(without_place(look('-c', core, *options)) == without_place(live), keep)


def test_a_core_file_whose_program_is_gone(bench):
    program = Program(bench, shutil.copy(PROGRAM, bench.folder))
    with core_of(program, written_only) as core:
        shutil.rmtree(bench.folder)
        complains('dumped without their beginning', '-c', core, '--trust-core')


def test_a_core_file_without_rings(bench):
    program = busy(bench)
    live = look('-p', program.pid)
    with core_of(program, hole=program.ring) as core:
        report = look('-c', core)
        check(without_place(report) ==
              without_place({'records': [record for record in live['records']
                                         if record not in of(live, 'send queue')]}), report)
        check(len(report['unread']) == 1 and 'lacks the memory' in report['unread'][0]['why'],
              report)
    with core_of(program, lambda _, rights, *__: 0 if rights[1] == 'w' else None) as core:
        complains('see coredump_filter', '-c', core, status=2)


def test_a_core_file_that_is_cut_off(bench):
    program = busy(bench)
    with core_of(program) as core:
        whole = look('-c', core)
        size = core.stat().st_size
        for tenths in range(9, -1, -1):
            os.truncate(core, size * tenths // 10)
            done = run('--json', '-c', core)
            check(done.returncode in (0, 1, 2), done.stderr)
            if done.returncode:
                check(('is cut off' if tenths else 'is no core file') in done.stderr, done.stderr)
            for record in json.loads(done.stdout)['records']:
                check(without_place({'records': [record]})[0] in without_place(whole), record)


def test_core_files_that_are_damaged(bench):
    """Whatever is wrong, wqe-dump answers, with one of its three exit statuses."""
    seed = int.from_bytes(os.urandom(4), 'little')
    print('# seed', seed)
    dice = random.Random(seed)
    with core_of(busy(bench), written_only) as core:
        whole = core.read_bytes()
        registry = whole.index(REGISTRY)
        queues = [found.start() for found in re.finditer(rb'mlx5_0\0{20}', whole)]
        for _ in range(40):
            with contextlib.ExitStack() as damage:
                for _ in range(dice.randrange(1, 4)):
                    at = dice.choice([dice.randrange(4096),
                                      dice.choice(queues) - dice.randrange(104),
                                      registry + dice.randrange(56)])
                    byte = dice.choice([0, 1, 0x80, 0xff, dice.randrange(256)])
                    damage.enter_context(patched(core, at, bytes([byte])))
                done = run('--json', '-c', core, '--trust-core')
            check(done.returncode in (0, 1, 2) and done.stderr.count('\n') <= 1, done.stderr)
            json.loads(done.stdout)


def test_gcore(bench):
    need(LIBRARIES and shutil.which('gcore'), 'built with sanitizers, or gdb is not installed')
    program = busy(bench)
    live = look('-p', program.pid)
    subprocess.run(['gcore', '-o', bench.folder / 'core', str(program.pid)], capture_output=True,
                   check=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
    report = look('-c', bench.folder / f'core.{program.pid}')
    check(without_place(report) == without_place(live), report)


def test_a_core_file_of_another_program(bench):
    """Anonymous memory that was not dumped does not mean that the core has no Bunsen."""
    with other('sh', '-c', 'echo; read x') as pid:
        corefile.write(pid, bench.folder / 'core', dumped_by_default, -1)
        complains('has no Bunsen in it', '-c', bench.folder / 'core')


def test_what_is_no_core_file(_bench):
    complains('No such file', '-c', '/nonexistent', status=2)
    complains('is no core file', '-c', __file__, status=2)
    complains('is an ELF file, but no core file', '-c', DUMP, status=2)


def complains_of_registry(bench, *rows):
    """Each row changes a 32-bit word of the registry, as a wild pointer would."""
    with core_of(busy(bench)) as core:
        at = core.read_bytes().index(REGISTRY)
        for offset, value, text in rows:
            with patched(core, at + offset, value.to_bytes(4, 'little')):
                complains(text, '-c', core, status=2)


def test_another_version(bench):
    complains_of_registry(bench, *((8, version, f'registry version {version}')
                                   for version in (2, 77)))


def test_a_damaged_registry(bench):
    complains_of_registry(bench, (40, 3, 'damaged'), (32, 8, ' at 0x'),
                          (16, 12345, 'leads to no registry'), (24, 1001, 'changes its list'))


sys.exit(main(globals()))
