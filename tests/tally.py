#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts the single test cases of one `meson test`.

usage: tally.py STEP TESTLOG_JSON

A test that speaks TAP (cmocka does, with CMOCKA_MESSAGE_OUTPUT=TAP) counts by its cases, any other
as one. Prints one line a case: {pass|fail|skip} TAB STEP TAB NAME TAB REASON; and one a test: time
TAB STEP TAB NAME TAB SECONDS. The end of the log of what failed goes to stderr.
"""

import json
import re
import sys

LOG_LINES = 40
CASE = re.compile(r'^\s*(?P<not>not )?ok \d+\s*(?:-\s*)?(?P<name>.*)$')
SKIP = re.compile(r'#\s*skip\S*\s*(.*)$', re.IGNORECASE)


def cases_of(stdout):
    """(outcome, name, reason) of every TAP line."""
    for line in stdout.splitlines():
        match = CASE.match(line)
        if not match:
            continue
        name, skip = match['name'].strip(), SKIP.search(match['name'])
        if skip:
            # The protocol has "ok 1 - name # SKIP reason", cmocka 1.1.5 "not ok 1 # SKIP name".
            before = name[: skip.start()].strip()
            yield 'skip', before or skip[1], skip[1] if before else ''
        else:
            yield 'fail' if match['not'] else 'pass', name, ''


def outcomes_of(test):
    """The same for a whole test, whatever it printed and whatever its exit status."""
    cases = list(cases_of(test.get('stdout', '')))
    result = test['result']
    if result == 'SKIP' and not any(outcome == 'skip' for outcome, _, _ in cases):
        cases.append(('skip', '', last_line(test)))
    elif result not in ('OK', 'SKIP', 'EXPECTEDFAIL'):
        if not any(outcome == 'fail' for outcome, _, _ in cases):
            how = f'{result.lower()}, exit status {test.get("returncode")}'
            cases.append(('fail', '', how))
    elif not cases:
        cases.append(('pass', '', ''))
    return cases


def last_line(test):
    lines = (test.get('stdout', '') + test.get('stderr', '')).strip().splitlines()
    return lines[-1] if lines else ''


def show_log(step, test):
    print(f'-- {step}: {test["name"]}: {test["result"]}, the end of its log:', file=sys.stderr)
    log = test.get('stdout', '').splitlines() + test.get('stderr', '').splitlines()
    log = [line for line in log if not re.match(r'^\s*ok\b', line)]
    for line in log[-LOG_LINES:]:
        print('   ' + line, file=sys.stderr)


def main():
    step, path = sys.argv[1:]
    with open(path, encoding='utf-8', errors='replace') as log:
        for line in log:
            test = json.loads(line)
            outcomes = outcomes_of(test)
            for outcome, name, reason in outcomes:
                full = test['name'] + (f': {name}' if name else '')
                print(outcome, step, full, reason.replace('\t', ' '), sep='\t')
            print('time', step, test['name'], round(test['duration']), sep='\t')
            if any(outcome == 'fail' for outcome, _, _ in outcomes):
                show_log(step, test)


if __name__ == '__main__':
    main()
