#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wqe-dump explain. usage: dump_explain.py PROGRAM SCHEMA"""

import json
import pathlib
import sys

from harness import check, main

DUMP, SCHEMA = sys.argv[1], pathlib.Path(sys.argv[2])


def records_of(bench, *args):
    return json.loads(bench.run(DUMP, 'explain', '--json', *args)[0])['records']


def test_text(bench):
    out, err = bench.run(DUMP, 'explain', 'local', 'protection', '0x52')
    for text in ('syndrome 0x04', 'vendor syndrome 0x52 (82)', 'detected by  requester',
                 'local gather', 'causes    1. ', '2. ', 'try ', 'sure         high', 'lkey'):
        check(text in out, f'{text} is not in\n{out}')
    check(not err and max(map(len, out.splitlines())) <= 120, out)


def test_json(bench):
    record, = records_of(bench, '0x88')
    check(record['kind'] == 'status' and record['source'] == 'explain', record)
    check(record['vendor_syndrome'] == 0x88 and record['side'] == 'requester', record)
    check('syndrome' not in record and record['confidence'] == 'high', record)
    explanation = record['explanation']
    causes = explanation['causes']
    check(explanation['detected_by'] == 'responder', explanation)
    check(len(causes) > 2 and 'rkey' in causes[0]['cause'], causes)
    check(causes[0]['cause'] in record['cause'], record)
    check(all(cause['tell'] for cause in causes), causes)
    record, = records_of(bench, 'status', '12')
    check(record['status'] == 'transport retry counter exceeded', record)
    check(record['syndrome'] == 0x15 and record['confidence'] == 'medium', record)


def test_json_is_as_its_schema_says(bench):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        return 'SKIP jsonschema is not installed: tools/setup --all'
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    for question in [*map(hex, range(0, 256, 3)), '0x1ff', '81', '12 129', 'health 8', 'command 3',
                     'synd 0x13 vend 0x88 hw_synd 2', 'general error', 'remote']:
        report = json.loads(bench.run(DUMP, 'explain', '--json', question)[0])
        for error in validator.iter_errors(report):
            check(False, f'{question}: {list(error.absolute_path)}: {error.message}')
    return None


def test_decimal(bench):
    check(records_of(bench, '--decimal', '129')[0]['vendor_syndrome'] == 0x81, 'not 0x81')
    check(records_of(bench, '-d', '81')[0]['vendor_syndrome'] == 0x51, 'not 0x51')
    check(records_of(bench, '--hex', '81')[0]['vendor_syndrome'] == 0x81, 'not 0x81')


def test_ambiguity_is_said(bench):
    out, _ = bench.run(DUMP, 'explain', '81')
    check('read in 2 ways' in out and '0x51 (81)' in out and '0x81 (129)' in out, out)
    check([r['vendor_syndrome'] for r in records_of(bench, '81')] == [0x81, 0x51], 'not both')


def test_the_side_may_be_said(bench):
    record, = records_of(bench, '--side', 'responder', 'local length')
    check(record['side'] == 'responder' and 'receive WQE' in record['cause'], record)
    bench.complains('--side both is neither', DUMP, 'explain', '--side', 'both', '1', status=2)


def test_kinds(bench):
    check(records_of(bench, 'health', '8')[0]['kind'] == 'health', 'no health')
    check(records_of(bench, 'command', '3')[0]['kind'] == 'command', 'no command')


def test_no_error_has_this_name(bench):
    bench.complains('no error has this name', DUMP, 'explain', 'zzz')


def test_usage(bench):
    bench.complains('say what', DUMP, 'explain', status=2)
    bench.complains('exclude each other', DUMP, 'explain', '-d', '-x', '1', status=2)
    bench.complains('--frob: unknown option', DUMP, 'explain', '--frob', status=2)
    out, _ = bench.run(DUMP, 'explain', '--help')
    for option in '--decimal', '--hex', '--side', '--json':
        check(option in out, f'{option} is not in\n{out}')


sys.exit(main(globals()))
