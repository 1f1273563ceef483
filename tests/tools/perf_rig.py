# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of bsn-perf share."""

import shutil
import sys

from harness import free_port

PERF = sys.argv[1]
HAS_VALGRIND = '--sanitized' not in sys.argv and shutil.which('valgrind')  # they do not mix
OPS = ['write', 'read', 'send', 'atomic']
PATHS = ['direct', 'verbs']


def pair(bench, test, *args, server=(), **more):
    port = free_port()
    fabric = {key: value for key, value in more.items() if key.isupper()}
    serving = bench.start(PERF, test, '--port', port, *server, 'server', **fabric)
    out, _ = bench.run(PERF, test, '--port', port, *args, 'client', 'localhost', **more)
    return out, bench.finish(serving)[0]
