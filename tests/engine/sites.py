#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a program gets that posts and polls (sites.c): how much text, and how soon. Speaks TAP.

usage: sites.py ROOT [COMPILER...]    gcc and clang, those that are there
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

ROOT = pathlib.Path(sys.argv[1])
COMPILERS = list(filter(shutil.which, sys.argv[2:] or ('gcc', 'clang')))
INCLUDES = [f'-I{ROOT / layer}' for layer in ('engine', 'dv', 'wqe')]
SLACK = 1.1

SITES = {'one': 320, 'two': 550, 'poll': 500, 'any': 650}  # bytes, by the beginning of the name
TEXT = 9 * 1024  # of all
MORE_S, MORE_MB = 0.35, 40      # to compile it, more than <infiniband/verbs.h> alone
INCLUDE_S = {'gcc': 0.06, 'clang': 0.10}  # the same of <bsn.h> alone
# A source without Bunsen takes so long where nothing else runs: it tells how slow the machine is.
REFERENCE_S = 0.35
FUNCTION = ('int f{0}(int *p, int n) {{ int s = 0; for (int i = 0; i < n; i++) '
            's = p[i] > {0} ? s + p[i] * {0} : s ^ p[i]; return s; }}\n')
TIMES = 9                       # the least counts; fewer, where it is within the limit
HOPELESS, HOPELESS_TIMES = 3, 2  # or so many limits away after so many times

SOURCES = {
    'verbs': '#include <infiniband/verbs.h>\n',
    'reference': ''.join(FUNCTION.format(number) for number in range(140)),
    'include': '#include <bsn.h>\n',
    'sites': (ROOT / 'tests/engine/sites.c').read_text(encoding='utf-8'),
}


def compiled(compiler, folder, name):
    """Compiles a source to an object, and how many seconds of CPU and MB of memory that took."""
    source = pathlib.Path(folder, name + '.c')
    source.write_text(SOURCES[name], encoding='utf-8')
    made = source.with_suffix('.o')
    child = subprocess.Popen([compiler, '-O2', *INCLUDES, '-c', source, '-o', made])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f'{compiler} {source} failed')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def functions(folder):
    """Their bytes, by name."""
    out = subprocess.check_output(['nm', '-S', f'{folder}/sites.o'], text=True)
    symbols = re.findall(r'^\w+ (\w+) [tT] (\S+)$', out, re.MULTILINE)
    return {name: int(size, 16) for size, name in symbols}


def limit_of(name):
    return SITES[name.partition('_')[0]]


def over(what, value, limit, unit):
    print(f'# {value / limit:.2f} of the limit {limit:.3g} {unit}: {what}: {value:.3g} {unit}')
    return [f'{what}: {value:.3g} {unit}, limit {limit:.3g}'] if value > limit * SLACK else []


def text_of(compiler):
    with tempfile.TemporaryDirectory() as folder:
        compiled(compiler, folder, 'sites')
        found = functions(folder)
    declared = re.findall(r'^int (\w+)\(', SOURCES['sites'], re.MULTILINE)
    own = {name: found[name] for name in found if name in declared}
    others = [name for name in found if name.removesuffix('.cold') not in own]
    wrong = [f'{len(others)} functions of others: {", ".join(others[:4])} ...'] if others else []
    for name in sorted(own, key=lambda name: -own[name] / limit_of(name)):
        wrong += over(name, own[name], limit_of(name), 'bytes')
    return wrong + over('all', sum(found.values()), TEXT, 'bytes')


def costs_of(compiler):
    """Sources in turn, so that what disturbs the machine disturbs all."""
    best = {name: (float('inf'), float('inf')) for name in SOURCES}
    with tempfile.TemporaryDirectory() as folder:
        for times in range(1, TIMES + 1):
            for name in SOURCES:
                best[name] = tuple(map(min, best[name], compiled(compiler, folder, name)))
            (least_s, least_mb), (reference_s, _), (include_s, _), (all_s, all_mb) = best.values()
            slow = max(1, reference_s / REFERENCE_S)
            include_limit = INCLUDE_S[pathlib.Path(compiler).name]
            found = [('CPU', all_s - least_s, MORE_S * slow, 's'),
                     ('memory', all_mb - least_mb, MORE_MB, 'MB'),
                     ('CPU of <bsn.h>', include_s - least_s, include_limit * slow, 's')]
            worst = max(value / limit for _, value, limit, _ in found)
            if worst <= 1 or (worst > HOPELESS and times >= HOPELESS_TIMES):
                break
    return [complaint for one in found for complaint in over(*one)]


RULES = {'text of each site': text_of, 'what it takes to compile': costs_of}
sys.exit(tap.report([(f'{compiler}: {name}', rule(compiler))
                     for compiler in COMPILERS for name, rule in RULES.items()]))
