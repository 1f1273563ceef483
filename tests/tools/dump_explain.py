#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wqe-dump explain. usage: dump_explain.py PROGRAM SCHEMA"""

import sys

from harness import check, conforms, has, main, validator_of

DUMP, SCHEMA = sys.argv[1:]


def records_of(bench, *args):
    return bench.json(DUMP, 'explain', *args)['records']


def test_text(bench):
    out, err = bench.run(DUMP, 'explain', 'local', 'protection', '0x52')
    has(out, 'syndrome 0x04', 'vendor syndrome 0x52 (82)', 'detected by  requester', 'local gather',
        'causes    1. ', '2. ', 'try ', 'sure         high', 'lkey')
    check(not err and max(map(len, out.splitlines())) <= 120, out)


def test_json(bench):
    record, = records_of(bench, '0x88')
    want = {'kind': 'status', 'source': 'explain', 'vendor_syndrome': 0x88, 'side': 'requester',
            'confidence': 'high'}
    check(want.items() <= record.items() and 'syndrome' not in record, record)
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
    validator = validator_of(SCHEMA)
    for question in [*map(hex, range(0, 256, 3)), '0x1ff', '81', '12 129', 'health 8', 'command 3',
                     'synd 0x13 vend 0x88 hw_synd 2', 'general error', 'remote']:
        conforms(validator, bench.json(DUMP, 'explain', question), question)


def test_decimal(bench):
    for base, number, want in ('--decimal', '129', 0x81), ('-d', '81', 0x51), ('--hex', '81', 0x81):
        check(records_of(bench, base, number)[0]['vendor_syndrome'] == want, (base, number))


def test_ambiguity_is_said(bench):
    out, _ = bench.run(DUMP, 'explain', '81')
    has(out, 'read in 2 ways', '0x51 (81)', '0x81 (129)')
    check([r['vendor_syndrome'] for r in records_of(bench, '81')] == [0x81, 0x51], 'not both')


def test_the_side_may_be_said(bench):
    record, = records_of(bench, '--side', 'responder', 'local length')
    check(record['side'] == 'responder' and 'receive WQE' in record['cause'], record)
    bench.complains('--side both is neither', DUMP, 'explain', '--side', 'both', '1', status=2)


def test_kinds(bench):
    for kind, number in ('health', '8'), ('command', '3'):
        check(records_of(bench, kind, number)[0]['kind'] == kind, kind)


def test_no_error_has_this_name(bench):
    bench.complains('no error has this name', DUMP, 'explain', 'zzz')


def test_usage(bench):
    bench.complains('say what', DUMP, 'explain', status=2)
    bench.complains('exclude each other', DUMP, 'explain', '-d', '-x', '1', status=2)
    bench.complains('--frob: unknown option', DUMP, 'explain', '--frob', status=2)
    has(bench.run(DUMP, 'explain', '--help')[0], '--decimal', '--hex', '--side', '--json')


sys.exit(main(globals()))
