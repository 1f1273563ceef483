#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Core files and processes that mean harm to who looks at them with wqe-dump, maybe as root.

usage: hostile.py WQE_DUMP HOSTILE_PROGRAM QUEUES
  QUEUES  so many are in a process that claims many
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import crafted
from harness import check, main, need

DUMP, PROGRAM = sys.argv[1:3]
QUEUES = int(sys.argv[3])
SECONDS = 60
KBYTES = 50_000 + QUEUES * 35 // 100  # sanitizers take more memory
IS_SANITIZED = b'__asan_init' in pathlib.Path(DUMP).read_bytes()


def run(*args, seconds=SECONDS):
    """The result, and the most memory that the program had, in KB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([DUMP, *map(str, args)], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err)
        try:
            end = time.monotonic() + seconds
            pid = 0
            while not pid and time.monotonic() < end:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                time.sleep(0 if pid else 0.005)
            check(pid, f'{args}: not done after {seconds} s')
        finally:
            if not pid:
                process.kill()
                process.wait()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read().decode(), err.read().decode(), usage.ru_maxrss


def records(*args):
    status, out, err, _ = run('--json', *args)
    check(status in (0, 1, 2), f'{args}: {status}: {err}')
    return json.loads(out)['records']


def is_bounded(what, ran, *statuses):
    status, _, err, kbytes = ran
    check(status in statuses, f'{what}: {status}: {err[-200:]}')
    check(kbytes < KBYTES or IS_SANITIZED, f'{what}: {kbytes} KB')


# -- core files ------------------------------------------------------------------------------------

def test_a_core_file_that_means_no_harm(bench):
    found = records('-c', bench.file(crafted.CORES['whole']))
    check([record.get('ring') for record in found] ==
          ['completion queue'] * 3 + ['shared receive queue'] + ['receive queue'] * 2 +
          ['send queue'] * 3 + [None], found)


def test_each_core_file_that_means_harm(bench):
    whole = records('-c', bench.file(crafted.CORES['whole']))
    for name, data in crafted.CORES.items():
        core = bench.file(data)
        for more in [], ['--trust-core']:
            found = records('-c', core, *more)
            check(found in ([], whole) or name == 'in-a-file', f'{name}: {found}')


def test_each_memory_that_means_harm(bench):
    for name, data in crafted.MEMORIES.items():
        core = bench.file(crafted.core([(crafted.BASE, crafted.PAGE, 6, data)]))
        is_bounded(name, run('-c', core), 0, 1, 2)


def test_many_pieces_of_memory(bench):
    """As many as a core file of some MB can have, each with a file's name: time is linear."""
    many = 100_000
    loads = [(crafted.BASE + i * crafted.PAGE, crafted.PAGE, 4, b'') for i in range(many)]
    files = crafted.files(*((crafted.BASE + i * crafted.PAGE,
                             crafted.BASE + (i + 1) * crafted.PAGE, 0,
                             b'/nonexistent/%d' % i) for i in range(many)))
    status, _, err, _ = run('-c', bench.file(crafted.core(loads, files)))
    check(status == 1 and f'but {many} pieces of memory' in err, f'{status}: {err}')


# -- the files that they name ----------------------------------------------------------------------

def is_read(bench, path, *more, **how):
    """Whether wqe-dump finds the queues of a core whose image is in this file."""
    core = bench.file(crafted.core_of_file(bytes(path), **how), 'core')
    return len(records('-c', core, *more)) == 10


def test_a_file_of_the_build_that_ran(bench):
    path = bench.file(crafted.memory(), 'image')
    check(is_read(bench, path), 'not the same build')
    check(not is_read(bench, path, dumped=0),
          'without the header nothing shows that it is the same')
    check(is_read(bench, path, '--trust-core', dumped=0), 'not by consent')
    other = bytearray(crafted.memory())
    other[crafted.BUILD_ID + 16] ^= 1
    path.write_bytes(other)
    check(not is_read(bench, path), 'another build')
    check(is_read(bench, path, '--trust-core'), 'not by consent')
    path.write_bytes(b'')
    check(not is_read(bench, path, '--trust-core'), 'an empty file')


def test_what_is_no_file(bench):
    fifo = bench.folder / 'fifo'
    os.mkfifo(fifo)
    for path in fifo, bench.folder, pathlib.Path('/dev/zero'), pathlib.Path('/dev/tty'):
        for more in [], ['--trust-core']:
            check(not is_read(bench, path, *more), path)


def is_opened(bench, path):
    """Whether wqe-dump opens a file, and does not only look at it, as strace tells."""
    core, trace = bench.file(crafted.core_of_file(bytes(path)), 'core'), bench.folder / 'trace'
    subprocess.run(['strace', '-y', '-e', 'trace=open,openat', '-o', trace, DUMP, '-c', core],
                   capture_output=True, timeout=SECONDS, check=False)
    return any('/proc/self/fd/' in line and 'O_PATH' not in line
               for line in trace.read_text().splitlines())


def test_a_file_that_is_made_up_is_not_opened(bench):
    need(shutil.which('strace'), 'strace is not installed')
    check(is_opened(bench, bench.file(crafted.memory(), 'image')), 'the test sees nothing')
    for path in '/proc/self/maps', '/sys/kernel/notes', '/dev/null':
        check(not is_opened(bench, pathlib.Path(path)), path)


# -- processes -------------------------------------------------------------------------------------

def look_at(bench, *args, more=()):
    process = subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.PIPE)
    bench.started.append(process)
    process.stdout.readline()
    return run('--brief', '-p', process.pid, *more)


def test_a_few_queues_larger_than_their_process(bench):
    for kind in range(4):
        status, _, err, kbytes = look_at(bench, 3, kind, 1 << 15, 1 << 14)
        check(status == 2 and 'damaged' in err, f'{kind}: {status}: {err}')
        check(kbytes < 150_000 or IS_SANITIZED, f'{kind}: {kbytes} KB')


def test_rings_of_one_memory(bench):
    """Rings of the largest size that there is, all in the same zeros."""
    for kind, count, stride in ((0, 1 << 15, 64), (1, 1 << 15, 2048), (2, 1 << 15, 2048),
                                (3, 1 << 22, 128)):
        is_bounded(kind, look_at(bench, QUEUES, kind, count, stride), 0, 1, 2)


def test_many_queues_without_rings(bench):
    for kind in range(4):
        for more in [], ['--qp', '0x100']:
            is_bounded(kind, look_at(bench, QUEUES, kind, 0, 0, more=more), 1)


def test_a_list_that_changes_all_the_time(bench):
    status, _, err, _ = look_at(bench, QUEUES // 10, 1, 0, 0, 'changes')
    check(status == 2, f'{status}: {err[-200:]}')


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.exit(main(globals()))
