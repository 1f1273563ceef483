#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-info --watch and --plot, on softcx and on recorded hosts.

usage: info_watch.py BSN_INFO BSN_PERF SCHEMA WELL_HOST
"""

import json
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import info_host
from harness import check, conforms, main, parse_json, validator_of

INFO, PERF, SCHEMA, WELL = sys.argv[1:5]
WELL_FILES = info_host.files_of(pathlib.Path(WELL).read_text().splitlines())
PORT = 'sys/class/infiniband/mlx5_0/ports/1/'

# As the kernel calls them: core/sysfs.c port_pma_attr_table, hw/mlx5/counters.c.
DATA = {'tx_bytes': 'port_xmit_data', 'rx_bytes': 'port_rcv_data',
        'tx_packets': 'port_xmit_packets', 'rx_packets': 'port_rcv_packets'}
LINK = ['port_xmit_wait', 'port_xmit_discards', 'port_rcv_errors',
        'port_rcv_remote_physical_errors', 'symbol_error', 'link_error_recovery', 'link_downed',
        'local_link_integrity_errors', 'excessive_buffer_overrun_errors', 'VL15_dropped']
REQUESTS = ['rx_write_requests', 'rx_read_requests', 'rx_atomic_requests', 'rx_dct_connect']
ERRORS = ['out_of_buffer', 'out_of_sequence', 'duplicate_request', 'rnr_nak_retry_err',
          'packet_seq_err', 'implied_nak_seq_err', 'local_ack_timeout_err',
          'resp_local_length_error', 'resp_cqe_error', 'req_cqe_error',
          'req_remote_invalid_request', 'req_remote_access_errors', 'resp_remote_access_errors',
          'resp_cqe_flush_error', 'req_cqe_flush_error', 'req_transport_retries_exceeded',
          'req_rnr_retries_exceeded', 'roce_adp_retrans', 'roce_adp_retrans_to',
          'roce_slow_restart', 'roce_slow_restart_cnps', 'roce_slow_restart_trans']
CONGESTION = ['np_ecn_marked_roce_packets', 'np_cnp_sent', 'rp_cnp_handled', 'rp_cnp_ignored']
PFC = [f'pfc_{way}_{priority}' for way in ('sent', 'received') for priority in range(8)]
PAUSE = ['pause_sent', 'pause_received']
FINDINGS = LINK + ERRORS + CONGESTION + PFC + PAUSE


def set_counters(root, value):
    """Each counter of the port is that."""
    for folder, names in (('counters', [*DATA.values(), *LINK]),
                          ('hw_counters', REQUESTS + ERRORS + CONGESTION)):
        for name in names:
            info_host.write(root, f'{PORT}{folder}/{name}', f'{value}\n'.encode())
    info_host.write(root, 'netlink/eth0.dcb', info_host.dcb(8, [value] * 8, [value] * 8))
    info_host.write(root, 'netlink/eth0.pause', info_host.pause(0, 0, value))


def host():
    return info_host.host(WELL_FILES)


def start(bench, *args, **more):
    return bench.start(INFO, '--watch=0.02', '--json', *args, **more)


def next_line(process):
    return parse_json(process.stdout.readline())


def watch_until(process, names):
    """What rose, once each of them has."""
    seen = {}
    for _ in range(1000):
        seen.update({rising['counter']: rising for rising in next_line(process)['rising']})
        if set(names) <= set(seen):
            return seen
    raise AssertionError(f'never rose: {set(names) - set(seen)}')


def test_each_finding_is_told_when_its_counter_rises(bench):
    with host() as root:
        set_counters(root, 0)
        process = start(bench, '--root', root, device=False)
        line = next_line(process)
        check(set(line['rates']) == {*DATA, *REQUESTS, *FINDINGS}, line)
        check(line['device'] == 'mlx5_0' and line['port'] == 1 and line['netdev'] == 'eth0', line)
        check(not line['rising'], line)
        set_counters(root, 7)
        seen = watch_until(process, FINDINGS)
        check(set(seen) == set(FINDINGS), set(seen) ^ set(FINDINGS))
    for finding in seen.values():
        check(finding['means'] and finding['expected'] and finding['source'], finding)


def changed(bench, name, before, after):
    """The first rate that is not 0 when a counter goes from one value to the other, by interval."""
    with host() as root:
        info_host.write(root, PORT + name, f'{before}\n'.encode())
        process = start(bench, '--root', root, device=False)
        file = name.split('/')[1]
        key = {file: key for key, file in DATA.items()}.get(file, file)
        next_line(process)
        info_host.write(root, PORT + name, f'{after}\n'.encode())
        for _ in range(1000):
            line = next_line(process)
            rate = line['rates'][key]
            if rate != 0:
                return None if rate is None else round(rate * line['seconds'])
    raise AssertionError(f'{name} did not change')


def test_rates(bench):
    for why, name, before, after, want in (
            ('words of four bytes', 'counters/port_xmit_data', 100, 1100, 4000),
            ('packets', 'counters/port_rcv_packets', 100, 1100, 1000),
            ('a wrap at 32 bits', 'hw_counters/out_of_sequence', 2**32 - 2, 3, 5),
            ('of 64 bits', 'hw_counters/np_cnp_sent', 2**40, 2**40 + 9, 9),
            ('a reset', 'hw_counters/out_of_sequence', 5000, 0, None),
            ('a reset', 'counters/symbol_error', 65535, 0, None)):
        check(changed(bench, name, before, after) == want, f'{name}: {why}')


def test_counters_of_a_device(bench):
    with host() as root:
        info_host.write(root, 'sys/class/infiniband/mlx5_0/hw_counters/out_of_buffer', b'1')
        out, _ = bench.run(INFO, '--watch=0.01', '--count=1', '--json', '--root', root,
                           device=False)
    lines = [parse_json(line) for line in out.splitlines()]
    check([line['port'] for line in lines] == [0, 1], lines)
    check(list(lines[0]['rates']) == ['out_of_buffer'] and lines[0]['netdev'] is None, lines)


def test_text(bench):
    with host() as root:
        process = bench.start(INFO, '--watch', '0.02', '--root', root, device=False)
        check('mlx5_0/1' in process.stdout.readline(), 'no line of the port')
        info_host.write(root, PORT + 'hw_counters/out_of_sequence', b'9')
        text = ''
        while 'out_of_sequence' not in text:
            text = process.stdout.readline()
            check(text, 'it has ended')
        check('should be: 0; Linux' in text, text)


def test_a_port_that_goes(bench):
    with host() as root:
        process = start(bench, '--root', root, device=False)
        next_line(process)
        shutil.rmtree(pathlib.Path(root, 'sys/class/infiniband/mlx5_0/ports'))
        for path in pathlib.Path(root, 'netlink').iterdir():
            path.unlink()
        _, err = bench.finish(process, 1)
    check('mlx5_0/1 has no counters any more' in err, err)


def test_softcx(bench):
    """What its plans make go wrong rises."""
    process = start(bench)
    next_line(process)
    for plan, names in (('nth=3 drop', ['local_ack_timeout_err']),
                        ('nth=2 rnr', ['rnr_nak_retry_err'])):
        bench.run(PERF, 'bw', '--iters', '40', SOFTCX_FAULT=plan)
        seen = watch_until(process, names)
        check(set(seen) == set(names), seen)


def test_softcx_traffic(bench):
    process = start(bench)
    next_line(process)
    perf = bench.start(PERF, 'bw', '--iters', '2000')
    while not (line := next_line(process))['rates']['tx_bytes']:
        check(not line['rising'], line)
    check(line['rates']['tx_packets'] > 0, line)
    bench.finish(perf)


def test_schema(bench):
    validator = validator_of(SCHEMA)
    with host() as root:
        set_counters(root, 5)
        process = start(bench, '--root', root, device=False)
        next_line(process)
        set_counters(root, 6)
        while not (line := next_line(process))['rising']:
            pass
    conforms(validator, line)
    line['rates']['tx_bytes'] = 'fast'
    check(list(validator.iter_errors(line)), 'a rate that is none is taken')


def test_usage(bench):
    for text, *args in (
            ('--watch takes seconds', '--watch=x'), ('--watch takes seconds', '--watch=0'),
            ('--watch takes seconds', '--watch=nan'), ('--watch takes seconds', '--watch=1e9'),
            ('--count needs --watch', '--count=1'), ('--count is', '--watch', '--count=-1'),
            ('use one of', '--check', '--watch'), ('use one of', '--plot=x', '--watch'),
            ('--plot takes no other', '--plot=x', '--json'),
            ('5: one argument too many: --device names one', '--watch=1', '5')):
        bench.complains(text, INFO, *args, status=2)
    bench.complains('no RDMA device', INFO, '--watch', '--count=1', device=False)
    bench.complains('no RDMA device nix_0', INFO, '--watch', '--device=nix_0')


# -- plots ----------------------------------------------------------------------------------------

def line_of(time, rates, device='mlx5_0'):
    return json.dumps({'time': time, 'seconds': 1, 'device': device, 'port': 1, 'netdev': None,
                       'rates': rates, 'rising': []}) + '\n'


def plot(bench, recording):
    out, _ = bench.run(INFO, '--plot', bench.file(recording), device=False)
    svg, name = ElementTree.fromstring(out), '{http://www.w3.org/2000/svg}'
    return ([''.join(text.itertext()) for text in svg.iter(name + 'text')],
            [line.get('points').split() for line in svg.iter(name + 'polyline')])


def test_plot(bench):
    texts, lines = plot(bench, ''.join(
        line_of(1000.5 + t, {'tx_bytes': 1e9 * (t % 3), 'rx_bytes': 0.0, 'rnr_nak_retry_err': 0.0,
                             'out_of_sequence': 50.0 if t == 4 else 0.0}) for t in range(10)))
    check('traffic, Gb/s' in texts and 'out_of_sequence' in texts, texts)
    check('rnr_nak_retry_err' not in texts, 'one that did not rise has a panel')
    check('16' in texts and '50/s' in texts and '9 s' in texts, texts)
    check([len(line) for line in lines] == [10, 10], lines)
    heights = [float(point.split(',')[1]) for point in lines[1]]
    check(heights.index(min(heights)) == 4, 'the peak is elsewhere')


def test_plot_of_a_recording(bench):
    with host() as root:
        out, _ = bench.run(INFO, '--watch=0.01', '--count=3', '--json', '--root', root,
                           device=False)
    texts, _ = plot(bench, out)
    check(texts == ['no traffic, and no counter rose'], texts)


def test_plot_of_a_pipe(_bench):
    run = subprocess.run([INFO, '--plot', '-'], input=line_of(1, {'tx_bytes': 5}), check=True,
                         capture_output=True, text=True, timeout=30)
    check('traffic, Gb/s' in run.stdout, run.stdout)


def test_plot_of_what_is_none(bench):
    good = line_of(1, {'tx_bytes': 5.0, 'out_of_sequence': 1e300, 'pfc_sent_3': -1}, 'a<b>&"\x1b')
    texts, _ = plot(bench, good + line_of(1, {'tx_bytes': None}))
    check(not any('<' in text or '\x1b' in text for text in texts), texts)
    for bad in ('', 'x\n', '[]\n', '{}\n', good[:40] + '\n', good + '5\n', '{"time": 1e999}\n',
                good.replace('"port": 1', '"port": 999'), '\0\n', '[' * 5000 + '\n'):
        file = bench.file(bad)
        wanted = 'the recording is empty' if not bad else 'not a line of bsn-info'
        bench.complains(f'{file}:{bad.count(chr(10))}: {wanted}', INFO, '--plot', file,
                        device=False)
    bench.complains('No such file', INFO, '--plot', '/nowhere/x', device=False)
    bench.complains('Is a directory', INFO, '--plot', '/', device=False)


sys.exit(main(globals()))
