#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`tests/device/run` itself, on the software ConnectX: its report, and what it says where something
is wrong. Speaks TAP.

usage: rehearsal.py BUILD_ROOT [--only=CASE...]
"""

import html.parser
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'tools'))
import harness  # noqa: E402
from harness import check, conforms, free_port, need, validator_of  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
RUN = HERE / 'run'
DEADLINE_S = 240
STATUS_PASSED, STATUS_FAILED, STATUS_USAGE, STATUS_SKIPPED = 0, 1, 2, 77


class Page(html.parser.HTMLParser):
    """Checks that a page is complete, and refers to nothing outside."""
    EMPTY = {'meta'}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ''

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        outside = {'src', 'href', 'xlink:href', 'action'} & {name for name, _ in attrs}
        check(not outside, f'<{tag}> refers to something outside')
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f'</{tag}> closes something else')

    def handle_data(self, data):
        self.text += data


class Bench(harness.Bench):
    """One case, which starts `run`, as a rule on a model."""

    @property
    def out(self):
        return self.folder / 'out'

    def start(self, *args, model=True, fault='', build=BUILD, **environment):
        softcx = [BUILD / 'tools/softcx', 'run', '--fabric', self.fabric, f'--fault={fault}', '--']
        return self.begin(
            [*(softcx if model else []), RUN, '--build', build, '--out', self.out, *args],
            dict(harness.clean_environment(), **environment))

    def run(self, *args, status=STATUS_PASSED, **more):
        return self.finish(self.start(*args, **more), status, DEADLINE_S)

    def refuses(self, text, *args, status=STATUS_FAILED, **more):
        """One line that has the text."""
        _, err = self.run(*args, status=status, **more)
        check(text in err and err.count('\n') == 1, f'said {err!r}, not {text!r}')

    def complains(self, text, *args, **more):
        """The same; returns the report of what was tested all the same."""
        self.refuses(text, *args, **more)
        report = self.report()
        check(any(text in problem for problem in report['problems']), report['problems'])
        return report

    def report(self):
        report = json.loads((self.out / 'report.json').read_text())
        conforms(validator_of(HERE / 'report.schema.json'), report)
        return report

    def page(self):
        page = Page()
        text = (self.out / 'report.html').read_text()
        check(not re.search(r'https?:|url\(|@import', text), 'the page refers to something outside')
        page.feed(text)
        page.close()
        check(not page.open, f'never closed: {page.open}')
        return page

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()  # it ends what it started
                process.communicate()
        super().end()


def stub_build(bench, program, script):
    """A build whose one program is a script."""
    build = bench.folder / 'build'
    for folder in ('tools', 'tests'):
        (build / folder).mkdir(parents=True)
        for path in (BUILD / folder).iterdir():
            if f'{folder}/{path.name}' != program:
                (build / folder / path.name).symlink_to(path)
    (build / program).write_text(script)
    (build / program).chmod(0o755)
    return build


def impostor(answer):
    """The port where a connection is answered with these bytes, and read until it is closed."""
    listener = socket.create_server(('127.0.0.1', 0))

    def serve_one():
        connection, _ = listener.accept()
        with connection, listener:
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

    threading.Thread(target=serve_one, daemon=True).start()
    return str(listener.getsockname()[1])


def hello(protocol):
    said = {'bunsen': 'device', 'protocol': protocol, 'device': 'mlx5_0'}
    return json.dumps(said).encode() + b'\n'


NOTHING_ELSE = ('--quick', '--only', 'machine')


# -- the whole

def test_the_whole_of_it(bench):
    bench.run('--softcx', '--quick', model=False)
    report, page = bench.report(), bench.page()
    check(report['is_model'] and 'This device was a model' in page.text, 'the model is not named')
    check(report['device']['name'] == 'mlx5_0' and report['made']['quick'], report['made'])
    outcomes = {(row['suite'], row['outcome']) for row in report['tests']}
    check(outcomes >= {('engine', 'pass'), ('conformance', 'pass'), ('device', 'pass')}, outcomes)
    for path in 'direct', 'verbs':
        check(report['features'][path]['RDMA WRITE'] == {'is': 'yes'}, report['features'])
    check(len(report['syndromes']) >= 16, report['syndromes'])
    check(all(row['heard'] == row['expected'] for row in report['syndromes']), report['syndromes'])
    ways = {'Bunsen', 'Bunsen on verbs', 'perftest'}
    for part in 'latency', 'bandwidth':
        check({row['way'] for row in report[part]} == ways, report[part])
    check(page.seen.count('svg') >= 3, f'{page.seen.count("svg")} pictures')
    names = {row['name'] for row in report['machine']}
    check(names >= {'link', 'GIDs', 'hugepages', 'locked memory', 'write combining', 'PCIe', 'NUMA',
                    'frequency governor', 'kernel', 'firmware', 'libibverbs1'}, names)
    checked = {row['check'] for row in report['checks']}
    check(checked >= {'memlock', 'pcie-link', 'port-state', 'mtu'}, checked)
    check('What bsn-info --check finds' in page.text, 'the page does not tell of the host')
    check(not list(bench.out.glob('*.new')), 'half a report is left')


def test_what_differs_is_a_finding_and_what_fails_is_named(bench):
    """The first request of every program fails, in a way that no table expects."""
    bench.run('--quick', '--only', 'tests', status=STATUS_FAILED, fault='nth=1 fail 0x4 0x77')
    report, page = bench.report(), bench.page()
    found = [row for row in report['syndromes'] if row['heard'] != row['expected']]
    check([0x04, 0x77] in [row['heard'] for row in found], report['syndromes'])
    check('finding' in page.text, 'the page does not tell')
    failed = [row for row in report['tests'] if row['outcome'] == 'fail']
    check(failed and all(row['reason'] for row in failed), failed)
    check(any(row['outcome'] == 'pass' for row in report['tests']), 'nothing went on')


def test_an_interrupted_run_reports_what_it_has(bench):
    process = bench.start('--quick', '--only', 'tests')
    while not process.stdout.readline().startswith('engine, datagrams'):
        check(process.poll() is None, 'it has ended')
    process.terminate()
    _, err = bench.finish(process, STATUS_FAILED, DEADLINE_S)
    check(err == 'tests/device/run: interrupted; what came before is in the report\n', err)
    report = bench.report()
    check({row['program'] for row in report['tests']} == {'datagrams'}, report['tests'])


# -- no device, or one that cannot be used

def test_no_device_is_a_skip(bench):
    need(not os.path.exists('/sys/class/infiniband'), 'this machine has RDMA devices')
    out, err = bench.run(status=STATUS_SKIPPED, model=False)
    check('no RDMA device' in out and '--softcx' in out and not err, out + err)
    check(not bench.out.exists(), 'a report of nothing')


def test_no_device_of_that_name(bench):
    report = bench.complains('no RDMA device nix_0: bsn-info lists', '--device', 'nix_0')
    check(report['device'] is None and not report['tests'], report)
    bench.page()


def test_no_permission(bench):
    text = 'no permission to open mlx5_0: check the permissions of /dev/infiniband'
    script = f'#!/bin/sh\necho \'{{"devices": []}}\'\necho "bsn-info: {text}" >&2\nexit 1\n'
    report = bench.complains(text, build=stub_build(bench, 'tools/bsn-info', script))
    check(report['device'] is None and len(report['machine']) >= 5, report)


def test_port_down(bench):
    """A shell of the fabric takes the port down, and stays; what it executes would be another."""
    keeper = subprocess.Popen(
        [BUILD / 'tools/softcx', 'run', '--fabric', bench.fabric, '--fault', 'nth=1 port-down',
         '--', 'sh', '-c', f'exec 3</sys/class/infiniband/mlx5_0/fw_ver; '
         f'{BUILD}/tools/bsn-perf lat --iters 1 --timeout 1; echo; cat; exit'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    bench.started.append(keeper)
    keeper.stdout.readline()
    report = bench.complains('port 1 is down: bring the link up')
    check(report['device']['port_state'] == 'down' and not report['tests'], report)
    verdicts = {row['name']: row['verdict'] for row in report['machine']}
    check(verdicts['link'] == 'bad', verdicts)


def test_a_build_that_is_missing(bench):
    bench.refuses('meson setup', model=False, build=bench.folder)


def test_a_report_that_cannot_be_written(bench):
    bench.refuses('/dev/null is no folder', '--out', '/dev/null/report', model=False)


def test_wrong_usage(bench):
    for text, *args in [('--ssh needs --peer', '--ssh', '.'), ('--only frob', '--only', 'frob'),
                        ('unrecognized arguments: --frob', '--frob'), ('--port', '--port', 'x')]:
        _, err = bench.run(*args, status=STATUS_USAGE, model=False)
        check(text in err, err)


# -- two hosts

def test_two_hosts(bench):
    """The other end is started by ssh; here a script stands in for ssh."""
    ssh = bench.folder / 'ssh'
    ssh.write_text('#!/bin/sh\nfor command; do :; done\n'
                   f'exec sh -c "$command --build {BUILD}"\n')
    ssh.chmod(0o755)
    port = free_port()
    bench.run(*NOTHING_ELSE, '--peer', 'localhost', '--port', port, '--ssh', HERE.parent.parent,
              PATH=f'{bench.folder}:{os.environ["PATH"]}')
    report = bench.report()
    check(report['peer']['reached'] and report['peer']['device'] == 'mlx5_0', report['peer'])
    for part in 'latency', 'bandwidth':
        check(report[part] and all(row['where'] == 'localhost' for row in report[part]), part)
    check('to localhost' in bench.page().text, 'the page does not tell')


def complains_of_peer(bench, text, answer):
    report = bench.complains(text, *NOTHING_ELSE, '--peer', '127.0.0.1', '--port', impostor(answer))
    check(any(row['name'] == 'write combining' for row in report['machine']), 'nothing was tested')
    return report


def test_peer_not_reached(bench):
    port = free_port()
    report = bench.complains(f'start it there: tests/device/run --serve --port {port}',
                             *NOTHING_ELSE, '--peer', '127.0.0.1', '--port', port)
    check(report['peer'] == {'host': '127.0.0.1', 'reached': False}, report['peer'])


def test_peer_of_another_version(bench):
    report = complains_of_peer(bench, 'speaks version 2 of this protocol, this is version 1',
                               hello(2))
    check(not report['peer']['reached'], report['peer'])


def test_peer_that_is_something_else(bench):
    complains_of_peer(bench, 'this is no tests/device/run --serve', b'HTTP/1.1 400 Bad Request\r\n')


def test_peer_that_goes_away(bench):
    report = complains_of_peer(bench, 'closed the connection', hello(1))
    check(report['peer']['reached'], report['peer'])


def serve(bench, said):
    """What the server answers to a client that said this, and how the server ended."""
    port = free_port()
    server = bench.start('--serve', '--port', port)
    check(server.stdout.readline().startswith('serving mlx5_0'), 'it does not serve')
    with socket.create_connection(('127.0.0.1', int(port)), timeout=30) as client:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        heard = client.makefile('rb').read().decode()
    out, err = server.communicate(timeout=DEADLINE_S)
    return heard.splitlines(), out + err, server.returncode


def test_client_of_another_version(bench):
    _, said, status = serve(bench, hello(2))
    check('speaks version 2' in said and said.count('\n') == 1 and status == STATUS_FAILED, said)


def test_nothing_else_can_be_started_from_afar(bench):
    request = {'program': 'bsn-perf', 'path': 'direct', 'test': 'lat', 'op': 'write', 'size': 8,
               'iters': 5}
    wrong = [dict(request, program='sh'), dict(request, test='lat; id'), dict(request, size='8'),
             dict(request, iters=0), dict(request, path='../x'), {}, None]
    lines = [json.dumps({'start': one}).encode() + b'\n' for one in wrong] + [b'{"frob": 1}\n']
    heard, said, status = serve(bench, hello(1) + b''.join(lines))
    check(len(heard) == 1 + len(lines) and all('error' in line for line in heard[1:]), heard)
    check(status == STATUS_PASSED, said)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
harness.Bench = Bench  # which main() makes for each case
sys.exit(harness.main(globals()))
