# SPDX-License-Identifier: BSD-2-Clause
"""The engine's and conformance's own test programs on the device, and what they heard of errors."""

import json
import pathlib
import re
import tempfile

import tally
from tools import last_line

# Those that start a model by themselves, whatever device there is; and one that is run apart.
NOT_SO = {'bad_input_gone', 'bad_input_memory', 'providers', 'features'}
QUICK = {'engine': {'operations', 'errors', 'datagrams'}, 'conformance': {'receive', 'cq'}}
SECONDS = {'engine': 300, 'conformance': 900}
LONGEST_REASON = 400

SYNDROMES = re.compile(r'^syndromes: (.*): (0x\w+) (0x\w+), expected (0x\w+) (0x\w+)$', re.M)


def programs(build, suite, quick):
    prefix = f'test_{suite}_'
    names = sorted(path.name[len(prefix):] for path in build.glob(f'tests/{suite}/{prefix}*')
                   if path.is_file())
    return [name for name in names
            if name not in NOT_SO and (not quick or name in QUICK[suite])]


def reasons_of(out, err):
    """Why each case was left out or failed, in order. A program prints `left out: WHY` before its
    case; cmocka prints comments after a failure. The first failure also gets the other output.
    """
    skips, failures, before = [], [], ''
    beside = ' '.join(err.split())[-LONGEST_REASON:]
    for line in out.splitlines():
        if line.startswith('left out: '):
            before = line[len('left out: '):]
        elif '# SKIP' in line:
            skips.append(before)
            before = ''
        elif line.startswith('not ok'):
            failures.append(beside)
            beside = ''
        elif failures and re.match(r'# (?!(not )?ok)', line):
            failures[-1] = f'{failures[-1]} {line[2:]}'.strip()
    return {'skip': skips, 'fail': failures}


def rows_of(suite, program, out, err, status):
    """The cases of a program, as rows of the report."""
    reasons = reasons_of(out, err)
    rows = []
    for outcome, case, reason in tally.cases_of(out):
        if reasons.get(outcome):
            reason = reasons[outcome].pop(0) or reason
        rows.append({'suite': suite, 'program': program, 'case': case, 'outcome': outcome,
                     'reason': reason})
    if status != 0 and not any(row['outcome'] == 'fail' for row in rows):
        reason = f'exit status {status}: {last_line(err + out, "nothing said")}'
        rows.append({'suite': suite, 'program': program, 'case': program, 'outcome': 'fail',
                     'reason': reason})
    return rows


def run_program(tools, suite, name, **environment):
    """(its cases as rows, its output)"""
    status, out, err = tools.run(f'tests/{suite}/test_{suite}_{name}', seconds=SECONDS[suite],
                                 BSN_TEST_DEVICE=tools.device, CMOCKA_MESSAGE_OUTPUT='TAP',
                                 **environment)
    return rows_of(suite, name, out, err, status), out


def run_features(tools):
    """The same for the program that also writes the outcome of each feature on each path."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'features.json'
        rows, out = run_program(tools, 'engine', 'features', BSN_TEST_FEATURES=str(file))
        return rows, out, json.loads(file.read_text()) if file.exists() else None


def run_killed_peer(tools):
    status, out, err = tools.run('tests/device/killed_peer', tools.device)
    return rows_of('device', 'killed_peer', out, err, status), out


def syndromes_of(out):
    """(cause, what was heard, what was expected) of each line that tells of it."""
    for cause, *numbers in SYNDROMES.findall(out):
        values = [int(number, 16) for number in numbers]
        yield cause, values[:2], values[2:]


def sum_up_syndromes(heard):
    """One row for each cause and answer, with how often it was so."""
    rows = {}
    for cause, got, expected in heard:
        row = rows.setdefault((cause, *got), {'cause': cause, 'heard': got, 'expected': expected,
                                              'times': 0})
        row['times'] += 1
    return list(rows.values())
