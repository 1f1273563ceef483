#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The README's table of features is what test_engine_features finds on each path of each device.

usage: features.py README PROGRAM            is it, for the columns of the linked-in softcx? TAP
       features.py README PROGRAM --write    writes it: on softcx, and on soft-RoCE in tests/vm
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VM_RUN = pathlib.Path(__file__).resolve().parent.parent / 'vm/run'
BEGIN, END = '<!-- features -->\n', '<!-- end of features -->\n'

# Heading: the device, and the path.
COLUMNS = {
    'direct': ('softcx', 'direct'),
    'verbs on mlx5': ('softcx', 'verbs'),
    'verbs on soft-RoCE': ('rxe0', 'verbs'),
}


def cell(outcome):
    return ': '.join(filter(None, [outcome.get('is', 'not tried'), outcome.get('why')]))


def columns_of(device, report):
    """heading: {feature: cell} of one run."""
    return {heading: {feature: cell(outcome) for feature, outcome in report[path].items()}
            for heading, (name, path) in COLUMNS.items() if name == device}


def read_table(readme):
    text = pathlib.Path(readme).read_text(encoding='utf-8')
    table = text[text.index(BEGIN) + len(BEGIN):text.index(END)]
    rows = [[field.strip() for field in line.strip('|').split('|')]
            for line in table.splitlines()]
    headings, rows = rows[0][1:], rows[2:]
    return {heading: {row[0]: row[i] for row in rows}
            for i, heading in enumerate(headings, 1)}


def write_table(readme, columns):
    lines = ['| feature | ' + ' | '.join(columns) + ' |', '|---' * (len(columns) + 1) + '|']
    for feature in next(iter(columns.values())):
        lines.append(f'| {feature} | '
                     + ' | '.join(column[feature] for column in columns.values()) + ' |')
    path = pathlib.Path(readme)
    text = path.read_text(encoding='utf-8')
    path.write_text(re.sub(f'(?s)(?<={BEGIN}).*(?={END})', lambda _: '\n'.join(lines) + '\n', text),
                    encoding='utf-8')


def differences(readme, device, report):
    """A line for each cell of the README that differs from the run."""
    table = read_table(readme)
    wrong = []
    for heading, found in columns_of(device, report).items():
        says = table.get(heading, {})
        wrong += [f'{heading}, {feature}: {found.get(feature)!r}, README: {says.get(feature)!r}'
                  for feature in {**found, **says} if found.get(feature) != says.get(feature)]
    return wrong


def run_on_softcx(program):
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / 'features.json'
        subprocess.run([program], env=dict(os.environ, BSN_TEST_FEATURES=str(file)), check=True,
                       stdout=sys.stderr)
        return json.loads(file.read_text(encoding='utf-8'))


def run_on_rxe(program):
    script = ('BSN_TEST_DEVICE=rxe0 BSN_TEST_FEATURES=/run/found "$0" >/run/log 2>&1 '
              '&& cat /run/found || { cat /run/log; exit 1; }')
    run = subprocess.run([VM_RUN, 'bash', '-c', script, pathlib.Path(program).resolve()],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(f'{VM_RUN}: exit status {run.returncode}\n{run.stdout}')
    return json.loads(run.stdout)


def main(readme, program, write=None):
    softcx = run_on_softcx(program)
    if write == '--write':
        write_table(readme, {**columns_of('softcx', softcx),
                             **columns_of('rxe0', run_on_rxe(program))})
        return 0
    wrong = differences(readme, 'softcx', softcx)
    for line in wrong:
        print('#', line)
    print('not ok' if wrong else 'ok', '1 - the README says what softcx does'
          ' (else: ninja feature-table)')
    print('1..1')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
