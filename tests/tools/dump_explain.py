#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wqe-dump explain. usage: dump_explain.py PROGRAM"""

import json
import sys

from harness import check, main

DUMP = sys.argv[1]


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
    check(record['detected_by'] == 'responder' and record['confidence'] == 'high', record)
    check(len(record['causes']) > 2 and 'rkey' in record['causes'][0]['cause'], record)
    check(all(cause['tell'] for cause in record['causes']), record)
    check(record['causes'][0]['cause'] in record['cause'], record)


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


def test_nothing_is_called_that(bench):
    bench.complains('no error is called that', DUMP, 'explain', 'zzz')


def test_usage(bench):
    bench.complains('say what', DUMP, 'explain', status=2)
    bench.complains('exclude each other', DUMP, 'explain', '-d', '-x', '1', status=2)
    bench.complains('--frob: unknown option', DUMP, 'explain', '--frob', status=2)
    out, _ = bench.run(DUMP, 'explain', '--help')
    for option in '--decimal', '--hex', '--side', '--json':
        check(option in out, f'{option} is not in\n{out}')


sys.exit(main(globals()))
