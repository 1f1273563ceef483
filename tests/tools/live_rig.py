# SPDX-License-Identifier: BSD-2-Clause
"""A live_program, and what wqe-dump sees of it."""

import json
import subprocess
import sys

from harness import DEADLINE_S, check, clean_environment

# No libraries are given if they have sanitizers: these need programs with them.
DUMP, PROGRAM, SCHEMA, *LIBRARIES = sys.argv[1:]
UNIT, UNITS, SGES = 16, 1024, 3  # as in live_program.c


class Program:
    """A live_program that was started, and does what it is told."""

    def __init__(self, bench, program=PROGRAM, **more):
        more.setdefault('BSN_REGISTRY', '1')
        self.process = subprocess.Popen([program], env={**clean_environment(), **more}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        bench.started.append(self.process)
        self.pid = self.process.pid
        said = [int(word) for word in self.process.stdout.readline().split()]
        check(len(said) == 6, 'live_program does not start')
        self.qp, self.peer, self.source, self.target, self.ring, self.slots = said

    def begin(self, *words):
        self.process.stdin.write(' '.join(map(str, words)) + '\n')
        self.process.stdin.flush()

    def done(self):
        said = self.process.stdout.readline()
        check(said == 'done\n', f'live_program said {said!r}')

    def do(self, *lines):
        for line in lines:
            self.begin(line)
            self.done()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE_S)


def run(*args):
    return subprocess.run([DUMP, *map(str, args)], capture_output=True, text=True, check=False,
                          timeout=DEADLINE_S, stdin=subprocess.DEVNULL)


def look(*args, status=0):
    """The report."""
    done = run('--json', *args)
    check(done.returncode == status, f'{done.returncode}: {done.stderr}{done.stdout}')
    return json.loads(done.stdout)


def complains(text, *args, status=1):
    done = run('--json', *args)
    check(done.returncode == status and text in done.stderr and done.stderr.count('\n') == 1,
          f'{done.returncode}, {done.stderr!r}, not {status}, {text!r}')


def of(report, queue, kind=None):
    return [record for record in report['records'] if record.get('ring') == queue and
            kind in (None, record['kind'])]


def states(report, queue):
    return [record['fields']['state'] for record in of(report, queue)]


def is_write(program, record):
    """Checks a WQE by its number, of which live_program derives everything; returns the number."""
    fields = record['fields']
    n = (fields['raddr.raddr'] - program.target) // UNIT
    check(0 <= n < UNITS and record['opcode_name'] == 'RDMA_WRITE', record)
    count = 1 + n % SGES
    for i in range(count):
        at = f'data[{i}]' if i else 'data'
        check(fields[f'{at}.addr'] == program.source + n * UNIT + i, record)
        check(fields[f'{at}.byte_count'] == 1 + (n + i) % UNIT, record)
    check(f'data[{count}].addr' not in fields and fields['ctrl.ds'] == 2 + count, record)
    check(record['slot'] == record['wqe_index'] % program.slots, record)
    return n


def numbers(program, report):
    return [is_write(program, record) for record in of(report, 'send queue')]
