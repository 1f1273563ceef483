#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a long log costs wqe-dump, and how much memory it takes.

usage: dump_speed.py PROGRAM LOGS [MEGABYTES]

1 GB of mixed log is to take less than 10 s and 64 MB. Seconds depend on the machine and on what
else runs there, instructions do not: where valgrind is installed each kind of log is held to those.
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

from harness import check, main, need

DUMP = sys.argv[1]
LOGS = pathlib.Path(sys.argv[2])
MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 64
SECONDS_PER_GB = 30  # three times what an idle machine takes
MAX_RSS_KB = 64 * 1024
MODES = [], ['--brief'], ['--json'], ['--html']


# -- logs ----------------------------------------------------------------------------------------

def quiet_lines(at):
    return [
        f'[{at / 7:12.6f}] audit: type=1400 audit(16{at:08}.123:45): apparmor="ALLOWED" pid={at}',
        f'Nov 21 18:{at // 60 % 60:02}:{at % 60:02} node7 systemd[1]: Started session {at} of user',
        f'2026-11-21T18:58:01.{at:06}Z stderr F level=info msg="request {at}" took={at * 3}us',
        f'node7:{at}:{at + 1} [3] NCCL INFO Channel {at % 16:02}/0 : 0[0] -> 1[0] via NET/IB/0',
        f'{{"time": {at}, "level": "debug", "digest": "{at * 2654435761 % 2**64:016x}"}}',
        f'deadbeef cafe {at:x} is no dump, nor is {at:02x}:11:22:33:44:55',
    ]


def mixed_log():
    """Lines of many programs about errors, each time after as many other lines."""
    lines = []
    for nth, log in enumerate(sorted(LOGS.glob('*.log'), reverse=True)):
        lines.append(log.read_text())
        for at in range(100 * nth, 100 * (nth + 1)):
            lines += quiet_lines(at)
    return lines


ERRORS = [(12, 0x15, 129), (10, 0x13, 136), (5, 5, 249), (4, 4, 81)]  # status, syndrome, vendor's


def nccl(at, status, _syndrome, vendor):
    return [f'node-{at % 9}:4242:{at} [{at % 8}] transport/net_ib.cc:1876 NCCL WARN NET/IB: Got '
            f'completion from peer 10.9.8.{at % 250}<{at}> with status={status} opcode=1 len={at} '
            f'vendor err {vendor} (Send) localGid fe80::a:{at % 16} remoteGidsfe80::b:2 hca mlx5_1']


def perftest(_at, status, _syndrome, vendor):
    return [' Completion with error at client',
            f' Failed status {status}: wr_id 0 syndrom 0x{vendor:x}']


def verbs(at, status, _syndrome, vendor):
    text = {12: 'transport retry counter exceeded', 10: 'remote access error',
            5: 'Work Request Flushed Error', 4: 'local protection error'}[status]
    return [f'2026-11-21 18:58:01 worker[{at % 99}]: wr {at} failed: {text}, '
            f'vendor error 0x{vendor:x}']


def ucx(at, _status, syndrome, vendor):
    head = f'[1700000{at % 1000:03}.{at:06}] [node-7:{at % 8}:0]    ib_mlx5_log.c:179  UCX  ERROR'
    return [f'{head} Remote access error on mlx5_0:1/IB (synd 0x{syndrome:x} vend 0x{vendor:x} '
            'hw_synd 0/0)',
            f'{head} RC QP 0x{at % 99:x} wqe[{at % 65536}]: RDMA_WRITE s-- [rva 0x7f3d2b000000 '
            'rkey 0x301] [va 0x7f3d2a000000 len 4096 lkey 0x201] [rqpn 0x4c2 dlid=7 sl=0 port=1]']


def dwords(data):
    digits = data.hex()
    return [' '.join(digits[at + word:at + word + 8] for word in (0, 8, 16, 24))
            for at in range(0, len(digits), 32)]


def libmlx5(at, _status, syndrome, vendor):
    cqe = bytes(54) + bytes([vendor, syndrome]) + struct.pack('>IHBB', 8 << 24 | at % 99,
                                                              at % 65536,
                                                            0, 0xd3)
    return ['mlx5: node-7: got completion with error:'] + dwords(cqe)


def wqe(at, *_):
    ctrl = struct.pack('>IIII', at % 65536 << 8 | 8, 0x4c1 << 8 | 3, 8, 0)
    raddr = struct.pack('>QII', 0x7f1100000000 + at, 0x301, 0)
    return dwords(ctrl + raddr + struct.pack('>IIQ', 64, 0x201, 0x5000 + at)) + ['--']


def flood(lines_of, count):
    """A log that is nothing but these."""
    return [line for at in range(count) for line in lines_of(at, *ERRORS[at % len(ERRORS)])]


def text_of(lines):
    return ('\n'.join(lines) + '\n').encode()


# -- instructions --------------------------------------------------------------------------------

# Instructions a byte at most, in text, --brief, --json and --html: a sixth more than by gcc.
LIMITS = {
    perftest: (225, 182, 487, 275),
    verbs: (217, 194, 411, 250),
    nccl: (150, 121, 250, 175),
    ucx: (151, 120, 272, 168),
    libmlx5: (196, 182, 730, 322),
    wqe: (762, 352, 1380, 541),
    'quiet': (24, 24, 24, 24),
    'mixed': (35, 29, 33, 37),
}
ALLOCATES_NOTHING = 'quiet', nccl, verbs  # for a line, that is; trees of JSON and pages do


def count_calls(profile, names):
    """How often functions were called, by a profile of callgrind."""
    known, count, is_one = {}, 0, False
    for line in profile.splitlines():
        called = re.match(r'cfn=\((\d+)\)(?: (.*))?', line)
        if called:
            known.setdefault(called[1], called[2])
            is_one = known[called[1]] in names
        elif line.startswith('fn='):
            number, name = re.match(r'fn=\((\d+)\)(?: (.*))?', line).groups()
            known.setdefault(number, name)
        elif line.startswith('calls=') and is_one:
            count += int(line[6:].split()[0])
    return count


def profiles(texts, args):
    """What callgrind says of each log: wqe-dump reads all of them in one run.

    A log's profile ends where the next log is opened, that of the last one after the output's end.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, 'out')
        logs = [pathlib.Path(folder, f'lo{nth}') for nth in range(len(texts))]
        for log, text in zip(logs, texts):
            log.write_bytes(text)
        program = pathlib.Path(folder, 'wqe-dump')  # valgrind 3.19 cannot read clang's DWARF
        subprocess.run(['strip', '--strip-debug', '-o', program, DUMP], check=True)
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', f'--callgrind-out-file={out}',
             '--dump-before=input_open', '--dump-before=scan_destroy', program, *args, *logs],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False,
            env={**os.environ, 'MALLOC_PERTURB_': '0'})  # meson has it fill what is allocated
        check(done.returncode in (0, 1), done.stderr.decode()[-500:])
        check(len(list(out.parent.glob('out.*'))) == 1 + len(logs), 'other parts than logs')
        return [out.with_suffix(f'.{2 + nth}').read_text() for nth in range(len(logs))]


def measure(texts, args):
    """Instructions and allocations of each."""
    return [(int(re.search(r'^totals: (\d+)', profile, re.MULTILINE)[1]),
             count_calls(profile, ('malloc', 'calloc', 'realloc')))
            for profile in profiles(texts, args)]


def measure_apart(texts, args):
    """Likewise, of runs of their own, less an empty one.

    Text explains an error once a run, and a page has its end: both belong to the log.
    """
    (base, base_allocations), *all_of = [measure([text], args)[0] for text in [b'\n', *texts]]
    return [(instructions - base, allocations - base_allocations)
            for instructions, allocations in all_of]


def check_log(kind, lines, size, args, limit, instructions, allocations):
    name = getattr(kind, '__name__', kind)
    each = instructions / size
    print(f'# {name} {"".join(args) or "text"}: {each:.1f} instructions a byte, '
          f'{allocations} allocations in {lines} lines', flush=True)
    check(each < limit, f'{name} {args}: {each:.1f} instructions a byte, not {limit}')
    if kind in ALLOCATES_NOTHING and args in ([], ['--brief']):
        check(allocations < lines / 50, f'{name} {args}: {allocations}')


def test_instructions(_bench):
    need(shutil.which('valgrind'), 'valgrind is not installed')
    quiet = [line for at in range(400) for line in quiet_lines(at)]
    logs = {**{kind: flood(kind, 500) for kind in LIMITS if callable(kind)},
            'quiet': quiet, 'mixed': mixed_log()}
    texts = [text_of(lines) for lines in logs.values()]
    for nth, args in enumerate(MODES):
        measured = (measure_apart if args in ([], ['--html']) else measure)(texts, args)
        for kind, text, counted in zip(logs, texts, measured):
            check_log(kind, len(logs[kind]), len(text), args, LIMITS[kind][nth], *counted)


# -- seconds and bytes ---------------------------------------------------------------------------

def feed(pipe, piece, count):
    for _ in range(count):
        pipe.write(piece)
    pipe.close()


def run_long(args, piece, count, out):
    """Pieces through a pipe; what the system says that it took."""
    with subprocess.Popen([DUMP, *args], stdin=subprocess.PIPE, stdout=out,
                          stderr=subprocess.DEVNULL) as process:
        feeder = threading.Thread(target=feed, args=(process.stdin, piece, count))
        feeder.start()
        feeder.join()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f'{args}: exit status {process.returncode}')
    return used


def test_long_log(_bench):
    """CPU time is measured, since other programs run beside a test."""
    piece = text_of(mixed_log())
    once = subprocess.run([DUMP, '--json'], input=piece, stdout=subprocess.PIPE, timeout=60,
                          check=True)
    each, count = len(json.loads(once.stdout)['records']), max(1, MEGABYTES * 2**20 // len(piece))
    for args in MODES:
        with tempfile.TemporaryFile() as out:
            used = run_long(args, piece, count, out)
            out.seek(0)
            # One a line: all at once would be in this process's memory, and so in the next's.
            found = sum(line.startswith(b'  {') for line in out) if args == ['--json'] else None
        seconds, gigabytes = used.ru_utime + used.ru_stime, len(piece) * count / 1e9
        print(f'# {"".join(args) or "text"}: {gigabytes:.2f} GB: {seconds:.2f} s of CPU, '
              f'{seconds / gigabytes:.2f} s/GB, {used.ru_maxrss / 1024:.1f} MB of memory',
              flush=True)
        check(found is None or each > 100 and found == each * count,
              f'not {each} * {count} found')
        check(seconds / gigabytes < SECONDS_PER_GB, 'too slow')
        check(used.ru_maxrss < MAX_RSS_KB, 'too much memory')


def test_largest_ring(_bench):
    """32768 slots as a page: the pictures are kept in memory, and the page has a few MB."""
    ring = b''.join(bytes.fromhex(''.join(wqe(at)[:3])) + bytes(16) for at in range(32768))
    with tempfile.TemporaryFile() as out:
        used = run_long(['--html'], ring, 1, out)
        size = out.seek(0, os.SEEK_END)
    print(f'# {size / 2**20:.1f} MB of page, {used.ru_maxrss / 1024:.1f} MB of memory')
    check(size < 16 * 2**20, f'{size} bytes of page')
    check(used.ru_maxrss < MAX_RSS_KB, 'too much memory')


sys.exit(main(globals()))
