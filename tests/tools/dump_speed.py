#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A long mixed log through wqe-dump: what it costs, and how much memory it takes.

usage: dump_speed.py PROGRAM LOGS [MEGABYTES]

The time is that of its CPU, for other programs run beside a test: 10 s for 1 GB is the limit.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from harness import check, main

DUMP = sys.argv[1]
LOGS = pathlib.Path(sys.argv[2])
MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 64
SECONDS_PER_GB = 10
MAX_RSS_KB = 64 * 1024


def some_log():
    """About a megabyte: what many programs write of their errors, and far more that they do not."""
    lines, logs = [], sorted(LOGS.glob('*.log'))
    step = 2500 // len(logs)
    for at in range(2500):
        if at % step == 0 and logs:
            lines.append(logs.pop().read_text())
        lines += [
            f'[{at / 7:12.6f}] audit: type=1400 audit(16{at:08}.123:45): apparmor="ALLOWED" pid={at}',
            f'Nov 21 18:{at // 60 % 60:02}:{at % 60:02} node7 systemd[1]: Started session {at} of user',
            f'2026-11-21T18:58:01.{at:06}Z stderr F level=info msg="request {at}" took={at * 3}us',
            f'node7:{at}:{at + 1} [3] NCCL INFO Channel {at % 16:02}/0 : 0[0] -> 1[0] via NET/IB/0',
            f'{{"time": {at}, "level": "debug", "digest": "{at * 2654435761 % 2**64:016x}"}}',
            f'deadbeef cafe {at:x} is no dump, nor is {at:02x}:11:22:33:44:55',
        ]
    return ('\n'.join(lines) + '\n').encode()


def feed(pipe, piece, count):
    for _ in range(count):
        pipe.write(piece)
    pipe.close()


def test_long_log(_bench):
    piece = some_log()
    once = subprocess.run([DUMP, '--json'], input=piece, stdout=subprocess.PIPE, timeout=60,
                          check=True)
    each, count = len(json.loads(once.stdout)['records']), max(1, MEGABYTES * 2**20 // len(piece))
    with tempfile.TemporaryFile() as out, \
            subprocess.Popen([DUMP, '--json'], stdin=subprocess.PIPE, stdout=out) as process:
        feeder = threading.Thread(target=feed, args=(process.stdin, piece, count))
        feeder.start()
        feeder.join()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        records = json.load(out)['records']
    seconds, gigabytes = used.ru_utime + used.ru_stime, len(piece) * count / 1e9
    print(f'# {gigabytes:.2f} GB: {seconds:.2f} s of CPU, {seconds / gigabytes:.2f} s/GB, '
          f'{used.ru_maxrss / 1024:.1f} MB of memory')
    check(process.returncode == 0 and each > 100 and len(records) == each * count,
          f'{len(records)} found, not {each} * {count}')
    check(seconds / gigabytes < SECONDS_PER_GB, 'too slow')
    check(used.ru_maxrss < MAX_RSS_KB, 'too much memory')


sys.exit(main(globals()))
