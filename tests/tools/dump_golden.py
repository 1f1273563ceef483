#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What wqe-dump finds in logs: every NAME.log gives NAME.json, without what explain adds.

usage: dump_golden.py PROGRAM SCHEMA FOLDER... [--write]
"""

import json
import pathlib
import sys

import dump_rig
from harness import check, conforms, main, parse_json, validator_of

SCHEMA, *FOLDERS = (arg for arg in sys.argv[2:] if arg != '--write')
NUMBERS = ['syndrome', 'vendor_syndrome', 'hw_syndrome', 'opcode', 'qpn', 'wqe_index', 'signature']
PATIENCE = 40  # after so many lines no form waits for more


def look(data):
    """What is found, without names of files and what is explained."""
    done = dump_rig.run(data, '--json')
    check(done.returncode in (0, 1), f'exit status {done.returncode}: {done.stderr.decode()}')
    report = parse_json(done.stdout)
    check((done.returncode == 0) == bool(report['records']), f'exit status {done.returncode}')
    for record in report['records']:
        for key in 'file', 'cause', 'confidence':
            record.pop(key, None)
        for key in 'wqe', 'error':
            record.get(key, {}).pop('file', None)
    for unread in report['unread']:
        unread.pop('file', None)
    return report


def text_of(report):
    """A record a line, so that differences can be read."""
    def lines(items):
        return ',\n'.join('  ' + json.dumps(item) for item in items)
    return (f'{{"records": [\n{lines(report["records"])}\n], "unread": [\n'
            f'{lines(report["unread"])}\n]}}\n')


def logs():
    return [log for folder in FOLDERS for log in sorted(pathlib.Path(folder).glob('*.log'))]


def compare(log):
    want = log.with_suffix('.json').read_text().splitlines()
    have = text_of(look(log.read_bytes())).splitlines()
    for ours, theirs in zip(have, want):
        check(ours == theirs, f'{log.name}:\n     {ours}\nnot  {theirs}')
    check(len(have) == len(want), f'{log.name}: {len(have)} lines, not {len(want)}')


def test_every_log_has_its_result(_bench):
    for folder in FOLDERS:
        for result in pathlib.Path(folder).glob('*.json'):
            check(result.with_suffix('.log').exists(), f'{result} without its log')
    check(logs(), 'no logs')


def test_schema(_bench):
    """What is printed is as the schema says, and a record that is not is refused."""
    validator = validator_of(SCHEMA)
    for log in logs():
        report = dump_rig.look('', log)
        conforms(validator, report, log.name)
    report['records'] = [{'file': 'x', 'line': 1, 'source': 'x', 'kind': 'unheard_of',
                          'fields': {}}]
    check(list(validator.iter_errors(report)), 'an unknown kind passes')


# -- lines that are cut ------------------------------------------------------------------------

def is_part_of(part, whole):
    """Whether a record says only what another one says; it may say less, or name the NIC."""
    if whole['kind'] == 'not_mlx5':
        return part.get('status') in (None, whole.get('status'))
    return (all(part[key] == whole.get(key) for key in [*NUMBERS, 'status'] if key in part)
            and part['kind'] in (whole['kind'], 'status'))


def beginnings(line):
    """The beginnings of a line that end between two of its words."""
    return [line[:at] for at in range(1, len(line))
            if line[at - 1:at] != b' ' and line[at:at + 1] in b' ,;)=(']


def look_at_each(lines):
    """The records of lines that have nothing to do with each other, by their index."""
    found = {}
    for record in look(b''.join(line + b'\n' + b'nothing\n' * PATIENCE
                                for line in lines))['records']:
        index, rest = divmod(record['line'] - 1, PATIENCE + 1)
        check(rest == 0, record)
        found.setdefault(index, []).append(record)
    return found


def test_a_cut_line_says_no_wrong_number(_bench):
    """Wherever a line is cut, its record is part of what the whole line says."""
    count = 0
    for log in logs():
        lines = log.read_bytes().splitlines()
        whole = look_at_each(lines)
        cuts = [(index, begin) for index in whole for begin in beginnings(lines[index])]
        for number, parts in look_at_each([begin for _, begin in cuts]).items():
            index, begin = cuts[number]
            for part in parts:
                check(any(is_part_of(part, record) for record in whole[index]),
                      f'{log.name}: {begin}: {part}')
        count += len(cuts)
    print(f'# {count} cut lines')


# -- lines that meet ---------------------------------------------------------------------------

def test_all_at_once(_bench):
    """One log after the other: what each of them has is still found, and at its line."""
    text, want = b'', []
    for log in logs():
        first = text.count(b'\n')
        text += log.read_bytes() + b'nothing\n' * PATIENCE
        want += [(record['line'] + first, record['source'])
                 for record in look(log.read_bytes())['records'] if record['source'] != 'hex']
    have = {(record['line'], record['source']) for record in look(text)['records']}
    lost = [pair for pair in want if pair not in have]
    check(not lost, f'lost: {lost}')


if '--write' in sys.argv:
    for log_file in logs():
        log_file.with_suffix('.json').write_text(text_of(look(log_file.read_bytes())))
else:
    for log_file in logs():
        name = f'test_{log_file.parent.parent.name}_{log_file.stem}'.replace('-', '_')
        globals()[name] = lambda _bench, log=log_file: compare(log)
    sys.exit(main(globals()))
