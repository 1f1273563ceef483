#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What wqe-dump sees of the queues of a process that stands still.

usage: live_queues.py WQE_DUMP LIVE_PROGRAM SCHEMA [LIBBUNSEN LIBBUNSEN_STATIC]
"""

import re
import sys

from harness import check, main
from live_rig import Program, complains, look, numbers, of, run, states


def look_after(bench, *lines):
    program = Program(bench)
    program.do(*lines)
    return program, look('-p', program.pid)


def test_what_is_outstanding(bench):
    program = Program(bench)
    program.do('write 3', 'ring', 'step', 'poll', 'write 2', 'ring', 'write 4')
    report = look('-p', program.pid)
    check(numbers(program, report) == list(range(3, 9)), report)
    check(states(report, 'send queue') == ['outstanding'] * 2 + ['not rung'] * 4, report)
    check(not report['unread'], report)
    want = {'qpn': program.qp, 'transport': 'RC', 'source': 'process',
            'file': f'process {program.pid} (live_program)'}
    check(all(want.items() <= record.items() for record in report['records']), report)


def test_a_ring_that_came_round(bench):
    program = Program(bench)
    for _ in range(40):
        program.do('write 7', 'ring', 'step', 'poll')
    program.do('write 16', 'ring')
    report = look('-p', program.pid)
    check(numbers(program, report) == list(range(280, 296)), report)


def test_completions_that_nobody_polled(bench):
    program = Program(bench)
    program.do('write 5', 'ring', 'step', 'poll', 'write 3', 'ring', 'step')
    report = look('-p', program.pid)
    cqes = of(report, 'completion queue', 'cqe')
    check([record['wqe_index'] for record in cqes] ==
          [record['wqe_index'] for record in of(report, 'send queue')], report)
    check([record['slot'] for record in cqes] == [5, 6, 7], report)
    check(states(report, 'completion queue') == ['not polled'] * 3, report)
    program.do('poll')
    complains('nothing in the 7 queues', '-p', program.pid)


def test_a_completion_queue_that_came_round(bench):
    program = Program(bench)
    for _ in range(52):
        program.do('write 10', 'ring', 'step', 'poll')
    program.do('write 4', 'ring', 'step')
    report = look('-p', program.pid)
    slots = [record['slot'] for record in of(report, 'completion queue')]
    check(slots == [520 % 512 + i for i in range(4)], report)


def test_receives(bench):
    program, report = look_after(bench, 'recv 3', 'srecv 2')
    for queue, slots in (('receive queue', [0, 1, 2]), ('shared receive queue', [0, 1])):
        records = of(report, queue, 'wqe')
        check([record['slot'] for record in records] == slots, report)
        want = {'data.addr': program.target, 'data.byte_count': 64, 'state': 'posted'}
        check(all(want.items() <= record['fields'].items() for record in records), records)


def test_one_qp(bench):
    program = Program(bench)
    program.do('write 2', 'ring', 'recv 1', 'srecv 1')
    report = look('-p', program.pid, '--qp', hex(program.qp))
    check(numbers(program, report) == [0, 1] and len(report['records']) == 2, report)
    report = look('-p', program.pid, '--qp', program.peer)
    check([record['ring'] for record in report['records']] == ['receive queue'], report)
    complains(f'lists no QP 0xabc, but 0x{program.qp:x}, 0x{program.peer:x}', '-p', program.pid,
              '--qp', '0xabc')


def test_a_qp_with_its_shared_receive_queue(bench):
    program = Program(bench)
    program.do('write 2', 'ring', 'recv 1', 'srecv 3', 'share')
    said = run('-p', program.pid, '--qp', '0xabc').stderr
    user = int(re.findall(r'0x[0-9a-f]+', said)[-1], 16)
    check(user not in (program.qp, program.peer), said)
    report = look('-p', program.pid, '--qp', user)
    check([record['ring'] for record in report['records']] == ['shared receive queue'] * 3, report)


def test_why_a_qp_failed(bench):
    program, report = look_after(bench, 'bad', 'step', 'poll', 'write 1', 'ring', 'step')
    first = [record for record in report['records'] if record['kind'] == 'status']
    want = {'qpn': program.qp, 'syndrome': 0x13, 'vendor_syndrome': 0x88, 'wqe_index': 0,
            'side': 'requester'}
    check(len(first) == 1 and want.items() <= first[0].items() and first[0]['cause'], report)
    errors = of(report, 'completion queue', 'error_cqe')
    check([record['syndrome'] for record in errors] == [5], report)


def test_a_qp_that_is_gone(bench):
    program, report = look_after(bench, 'write 2', 'ring', 'recv 1', 'reset')
    check([record['qpn'] for record in report['records']] == [program.peer], report)


def test_a_damaged_wqe_is_no_wqe(bench):
    program, report = look_after(bench, 'write 4', 'ring', 'damage')
    check(numbers(program, report) == [0, 1, 2], report)
    check('slot 4 has no WQE of the index 4' in str(report['unread']), report)


def test_the_verbs_path(bench):
    program = Program(bench, BSN_PATH='verbs')
    program.do('write 2', 'ring')
    report = look('-p', program.pid, status=1)
    check(not report['records'] and len(report['unread']) == 2, report)
    check('on the verbs path' in report['unread'][0]['why'], report)
    program.do('step', 'poll', 'bad', 'step', 'poll')
    report = look('-p', program.pid)
    check([record['kind'] for record in report['records']] == ['status'], report)


sys.exit(main(globals()))
