#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Time of a post and of a poll among many QPs, where cache lines decide, beside libmlx5's in the same run.

usage: qps_ratios.py SOFTCX BSN_PERF
"""

import json
import os
import subprocess
import sys

from harness import check, main

SOFTCX, PERF = sys.argv[1:3]

RUNS = 9     # The best of each side counts: other programs may have the CPU, or its caches, for a while.
LIMIT = 0.7  # of the faster one of libmlx5's two ways, tenth percentiles of both


def measured(qps):
    out = subprocess.run([SOFTCX, 'run', '--passive', '--', PERF, 'cost', '--qps', qps, '--json'],
                         env=dict(os.environ, SOFTCX_FABRIC=f'qps-{os.getpid()}', SOFTCX_TRACE=''),
                         check=True, capture_output=True, text=True, timeout=60).stdout
    size, = json.loads(out)['sizes']
    return size


def check_size(qps):
    runs = [measured(qps) for _ in range(RUNS)]
    for way in 'post', 'poll':
        ours, *others = (min(run[way][side]['ns_p10'] for run in runs) for side in ('bunsen', 'ibv', 'ibv_wr'))
        said = f'{way} at {qps} QPs: {ours} ns, libmlx5 {min(others)}: {ours / min(others):.2f}'
        print('#', said)
        check(ours <= LIMIT * min(others), f'{said}, limit {LIMIT}')


def test_a_thousand(_bench):
    check_size('1024')


def test_four_thousand(_bench):
    check_size('4096')


sys.exit(main(globals()))
