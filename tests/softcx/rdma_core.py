#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's own tests on softcx, as python3-pyverbs brings them along. Speaks TAP.

usage: rdma_core.py PRELOAD ib|roce [huge|lag]

Its modules for what softcx does not model (flow steering and others) run
too. They ask for the capability and skip themselves, which tests the capabilities. A case of
its own is that the trace has no finding.
"""

import gzip
import importlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

SHIPPED = pathlib.Path('/usr/share/doc/rdma-core/tests')
PYTHON = '/usr/bin/python3'  # the one that the distribution's modules are for
DEADLINE_S = 100

MODULES = '''
    addr atomic cq cq_events cqex device flow fork mr odp parent_domain pd qp qpex
    rdmacm relaxed_ordering shared_pd tag_matching mlx5_cq mlx5_dc mlx5_devx mlx5_dm_ops
    mlx5_dma_memcpy mlx5_flow mlx5_huge_page mlx5_lag_affinity mlx5_mkey mlx5_pp
    mlx5_query_port mlx5_raw_wqe mlx5_rdmacm mlx5_sched mlx5_timestamp mlx5_uar
    mlx5_udp_sport mlx5_var
'''.split()

# Cases that must pass: if they were skipped, a capability would be lost.
FEWEST = {'mlx5_mkey': 6, 'mlx5_dma_memcpy': 4, 'mr': 16, 'odp': 14, 'device': 22, 'addr': 2,
          'mlx5_var': 1, 'mlx5_dc': 7, 'cqex': 5, 'qp': 21, 'qpex': 19, 'atomic': 9,
          'mlx5_devx': 1, 'mlx5_timestamp': 3, 'mlx5_cq': 9, 'relaxed_ordering': 3,
          'rdmacm': 10}

# With "huge": the modules that have cases for hugepages, which tests/hugepages has reserved.
FEWEST_HUGE = {'odp': 16, 'parent_domain': 6}

# With "lag": the module for a device with two bonded ports.
FEWEST_LAG = {'mlx5_lag_affinity': 2}

FEWEST_OF = {None: FEWEST, 'huge': FEWEST_HUGE, 'lag': FEWEST_LAG}

# What a link cannot have: (link, module): why.
LACKS = {('ib', 'rdmacm'): 'an interface of IPoIB, which there is none of here, has the addresses'}
if not any(name != 'lo' for _, name in socket.if_nameindex()):
    LACKS['roce', 'mlx5_devx'] = 'DevX is told the MAC of its peer, which this test learns ' \
                                 'from a network interface, and there is none'
    LACKS['roce', 'rdmacm'] = 'the addresses are those of a network interface, and there is none'


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.passed = []
        self.out = sys.stdout

    def say(self, ok, name, suffix='', detail=''):
        self.count += 1
        print(f'{"ok" if ok else "not ok"} {self.count} - {name}{suffix}', file=self.out)
        for line in detail.splitlines():
            print(f'# {line}', file=self.out)
        self.out.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test.id())
        self.say(True, test.id())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(True, test.id(), f' # SKIP {reason}')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(False, test.id(), detail=self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.say(False, test.id(), detail=self.errors[-1][1])


def say_findings(result, path):
    with open(path, encoding='ascii') as trace:
        lines = trace.readlines()
    findings = [line for line in lines if ' lint: ' in line]
    ran = any(' wqe: ' in line for line in lines)
    result.say(ran and not findings, 'no finding in the trace', '',
               ''.join(findings[:10]) if ran else f'no WQE in a trace of {len(lines)} lines')
    return ran and not findings


def say_fewest(result, link, fewest):
    enough = True
    for module, wanted in fewest.items():
        if (link, module) in LACKS:
            continue
        count = sum(f'.test_{module}.' in name for name in result.passed)
        result.say(count >= wanted, f'{wanted} of {module} pass', '', f'{count} did')
        enough = enough and count >= wanted
    return enough


def run_inside(folder, kind):
    """In the process that has the device: loads and runs the unpacked tests."""
    sys.path[:0] = [folder, os.path.join(folder, 'tests')]
    from args_parser import parser  # pylint: disable=import-error,import-outside-toplevel
    sys.argv[1:] = []
    parser.parse_args()
    # It imports mlx5_base, which imports it: only in this order.
    importlib.import_module('tests.utils')
    names = [f'tests.test_{module}' for module in (FEWEST_OF[kind] if kind else MODULES)
             if os.path.exists(os.path.join(folder, 'tests', f'test_{module}.py'))]
    result = TapResult()
    link = os.environ['SOFTCX_LINK']
    for (on, module), why in LACKS.items():
        if on == link and f'tests.test_{module}' in names:
            names.remove(f'tests.test_{module}')
            result.say(True, f'tests.test_{module}', f' # SKIP {why}')
    sys.stdout = sys.stderr  # some of the tests print
    unittest.defaultTestLoader.loadTestsFromNames(names).run(result)
    clean = say_findings(result, os.environ['SOFTCX_TRACE'])
    clean = say_fewest(result, link, FEWEST_OF[kind]) and clean
    print(f'1..{result.count}', file=result.out)
    return 0 if result.wasSuccessful() and clean else 1


def unpack(folder):
    """The package compresses the longer files, as documentation; __init__.py would load all."""
    folder.mkdir()
    for path in SHIPPED.iterdir():
        if path.suffix == '.gz':
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.suffix == '.py':
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / '__init__.py').write_text('')


def main(preload, link, *more):
    if not SHIPPED.is_dir():
        print('1..0 # SKIP python3-pyverbs is not installed')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        unpack(pathlib.Path(folder) / 'tests')
        env = dict(os.environ, LD_PRELOAD=os.path.abspath(preload), SOFTCX_LINK=link,
                   SOFTCX_FABRIC=f'test-{os.getpid()}', SOFTCX_TRACE=f'{folder}/trace',
                   PYTHONDONTWRITEBYTECODE='1')
        if 'lag' in more:
            env['SOFTCX_LAG'] = '1'
        for name in ('SOFTCX_GENERATION', 'SOFTCX_FAULT', 'SOFTCX_PASSIVE', 'SOFTCX_EXACT'):
            env.pop(name, None)
        try:
            return subprocess.run([PYTHON, __file__, '--inside', folder, *more], env=env,
                                  check=False,
                                  stdin=subprocess.DEVNULL, timeout=DEADLINE_S).returncode
        except subprocess.TimeoutExpired:
            print(f'Bail out! not done after {DEADLINE_S} s')
            return 1


if sys.argv[1] == '--inside':
    sys.exit(run_inside(sys.argv[2], *(sys.argv[3:] or [None])))
sys.exit(main(*sys.argv[1:]))
