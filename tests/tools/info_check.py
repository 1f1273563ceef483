#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-info --check, on recorded hosts and on softcx.

usage: info_check.py PROGRAM SCHEMA WELL_HOST SICK_CASES SOURCE...
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import info_host
from harness import check, conforms, has, main, need, parse_json, validator_of

INFO, SCHEMA, WELL, SICK = sys.argv[1:5]
SOURCES = sys.argv[5:]
WELL_FILES = info_host.files_of(pathlib.Path(WELL).read_text().splitlines())
# Root reads what nobody may, but for want of these.
UNPRIVILEGED = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search']
SEEN = set()  # the texts of all findings, of all tests


def report_of(bench, *args, program=(INFO,), **more):
    """Of a host, whose exit status depends on what it is."""
    process = bench.start(*program, '--check', '--json', *args, **more)
    out, err = process.communicate(timeout=30)
    report = parse_json(out)
    wanted = 3 if report['counts']['wrong'] else 0
    check(process.returncode == wanted and not err, (process.returncode, wanted, err))
    for name, count in report['counts'].items():
        check(sum(f['status'] == name for f in report['findings']) == count, report['counts'])
    SEEN.update(finding['found'] for finding in report['findings'])
    return report


def findings_of(bench, *args, **more):
    return report_of(bench, *args, **more)['findings']


def find(findings, name, subject):
    """The findings of one check."""
    return [f for f in findings if f['check'] == name and f['subject'] == subject]


def is_found(findings, name, status, text, subject='mlx5_0/1'):
    """The first finding of a check is of this status, if any, and says that; '^': begins so."""
    first = find(findings, name, subject)[0]
    check(status in (None, first['status']) and text in '^' + first['found'], first)


def wrong_of(findings):
    return [(f['check'], f['subject'], f['found']) for f in findings if f['status'] == 'wrong']


def test_a_well_host_has_no_finding(bench):
    with info_host.host(WELL_FILES) as root:
        findings = findings_of(bench, '--root', root, device=False)
    check(not wrong_of(findings), wrong_of(findings))
    check(sum(f['status'] == 'ok' for f in findings) > 18, findings)


def may_be_locked():
    """Whether there is a way to have a file that this user may not read."""
    if os.geteuid():
        return True
    return bool(shutil.which('setpriv')) and not subprocess.run(
        [*UNPRIVILEGED, 'true'], check=False, capture_output=True).returncode


def test_each_sick_host_has_its_finding(bench):
    wrong, skipped = [], []
    for status, name, subject, text, files in info_host.cases_of(
            pathlib.Path(SICK).read_text().splitlines()):
        is_locked = '!locked' in files.values()
        if is_locked and not may_be_locked():
            skipped.append(text)
            continue
        text, more, _ = text.partition(' and more')
        program = [*UNPRIVILEGED, INFO] if is_locked and not os.geteuid() else [INFO]
        with info_host.host({**WELL_FILES, **files}) as root:
            run = subprocess.run([*program, '--check', '--json', '--root', root], check=False,
                                 capture_output=True, text=True, timeout=30)
        findings = parse_json(run.stdout)['findings']
        SEEN.update(finding['found'] for finding in findings)
        if not any(f['status'] == status and text in f['found']
                   for f in find(findings, name, subject)):
            wrong.append(f'[{status} {name} {subject}] {text}: {find(findings, name, subject)}')
        others = [w for w in wrong_of(findings) if w[:2] != (name, subject)]
        if others and not more:
            wrong.append(f'[{status} {name} {subject}] {text}: also {others}')
        if run.returncode != (3 if wrong_of(findings) else 0) or run.stderr:
            wrong.append(f'{text}: exit status {run.returncode}, {run.stderr}')
    check(not wrong, '\n'.join(wrong))
    need(not skipped, f'nobody can be kept from reading: {skipped}')


def test_softcx_roce(bench):
    findings = findings_of(bench, SOFTCX_LINK='roce', SOFTCX_NETDEV='lo')
    is_found(findings, 'mtu', None, '^4096 B')
    is_found(findings, 'default-gid', 'ok', 'RoCE v2')
    # The kernel has answered, of an interface that has neither.
    is_found(findings, 'pfc', None, 'the driver of lo has no DCB')


def test_softcx_ib(bench):
    findings = findings_of(bench)
    is_found(findings, 'port-state', 'ok', '')
    is_found(findings, 'default-gid', None, 'index 0')


def test_softcx_link(bench):
    """A plan narrows the link: its lanes, and its MTU, which the file and the device tell."""
    findings = findings_of(bench, SOFTCX_FAULT='mtu 1024; lanes 1')
    is_found(findings, 'link-width', 'wrong', '^50 Gb/sec (1X HDR)')
    is_found(findings, 'mtu', 'wrong', '^1024 B')


def test_softcx_gids(bench):
    """A plan gives the port RoCE v1 alone, and addresses that no router passes on."""
    for plan, status, text in (
            ('gids 10.0.0.1/v1', 'wrong', 'is of IB/RoCE v1'),
            ('gids fe80::1/v2', 'note', 'link-local')):
        findings = findings_of(bench, SOFTCX_LINK='roce', SOFTCX_FAULT=plan,
                               SOFTCX_FABRIC=f'{bench.fabric}-{status}')
        is_found(findings, 'default-gid', status, text)


def test_peers(bench):
    for peer, status, text in ((['--peer', '127.0.0.1'], 'ok', ''), ([], 'skipped', ''),
                               (['--peer', 'nowhere'], None, 'not an IP address')):
        is_found(findings_of(bench, *peer), 'path-mtu', status, text, 'host')


def alone(mtu):
    """Words that run a program in a network of its own, with nothing but a loopback of that MTU."""
    return ['unshare', '-n' if not os.geteuid() else '-rn', 'sh', '-c',
            f'ip link set lo mtu {mtu} up && exec "$@"', 'sh']


def may_be_alone():
    return bool(shutil.which('unshare')) and not subprocess.run(
        [*alone(1500), 'true'], check=False, capture_output=True).returncode


def test_narrow_path(bench):
    need(may_be_alone(), 'no network namespaces here')
    findings = findings_of(bench, '--peer', '127.0.0.1', program=[*alone(1500), INFO])
    is_found(findings, 'path-mtu', 'wrong', 'packets of 1500 B', 'host')


def test_text_says_what_json_says(bench):
    with info_host.host({**WELL_FILES, 'sys/class/net/eth0/mtu': '1500'}) as root:
        out, _ = bench.run(INFO, '--check', '--root', root, status=3, device=False)
        findings = findings_of(bench, '--root', root, device=False)
    for finding in findings:
        check(finding['found'] in out and (finding['mend'] or '') in out, (finding, out))
    check('ip link set eth0 mtu 4200' in out, out)
    check('1 wrong, ' in out.splitlines()[-1], out)


def test_schema(bench):
    """What is printed is as the schema says, and a report that is not is refused."""
    validator = validator_of(SCHEMA)
    for args, more in (((), {'SOFTCX_FABRIC': bench.fabric + 'ib'}),
                       (('--device', 'mlx5_0'), {'SOFTCX_LINK': 'roce'})):
        report = report_of(bench, *args, **more)
        conforms(validator, report)
    report['findings'][0].update(status='wrong', mend=None)
    check(list(validator.iter_errors(report)), 'a finding without a remedy is taken')


def test_no_device(bench):
    _, err = bench.run(INFO, '--check', status=1, device=False)
    has(err, 'no RDMA device in /sys/class/infiniband')
    _, err = bench.run(INFO, '--check', '--device', 'nix_0', status=1)
    has(err, 'no RDMA device nix_0')
    with info_host.host() as root:
        _, err = bench.run(INFO, '--check', '--root', root, status=1, device=False)
    has(err, 'no RDMA device')


def test_usage(bench):
    bench.complains('--root needs --check', INFO, '--root', '/', status=2)
    bench.complains('--peer needs --check', INFO, '--peer', '::1', status=2)


HOSTILE = [b'', b'\0' * 5000, b'\xff' * 70, b'%s%n%s' * 10, b'\x1b[2J\x07', b'-1', b'9' * 400,
           b'0x10', b'0-8191', b'0-99999', b'8191-0', b',,,', b'1-', b'4' * 4096, b'\n' * 100]


def test_hostile_files(bench):
    """Whatever is in them, or in their place: an answer, nothing that a terminal would act on."""
    for number, data in enumerate(HOSTILE):
        with info_host.host() as root:
            for path in WELL_FILES:
                info_host.write(root, path, data)
            out, err = run_any(INFO, root)
            check('\x1b' not in out + err and '\xff' not in out + err, (number, out))
            out, err = run_any(INFO, root, '--json')
            parse_json(out)


def test_hostile_trees(bench):
    """Folders for files, pipes that nobody writes to, links in a circle, names of every kind."""
    makers = [lambda file: file.mkdir(), os.mkfifo, lambda file: file.symlink_to(file.name),
              lambda file: file.symlink_to('/dev/zero')]
    for make in makers:
        with info_host.host() as root:
            for path in WELL_FILES:
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                make(file)
            devices = pathlib.Path(root, 'sys/class/infiniband')
            for name in ('a b', '\x1b[2J', 'x' * 250, '%s%n'):
                (devices / name).mkdir()
            ports = devices / 'mlx5_0/ports'
            for name in ('0', '-1', '256', '99999999999999999999', '1x'):
                (ports / name).mkdir()
            out, err = run_any(INFO, root)
            check('\x1b' not in out + err, out)


def test_cut_netlink(bench):
    """Each reply, cut short in many places, and with some of its first bytes changed."""
    for path, reply in (('netlink/eth0.dcb', info_host.dcb(8)),
                        ('netlink/eth0.pause', info_host.pause(1, 0))):
        with info_host.host(WELL_FILES) as root:
            for length in range(0, len(reply), 7):
                info_host.write(root, path, reply[:length])
                run_any(INFO, root)
            for at in range(0, min(len(reply), 64), 2):
                info_host.write(root, path, reply[:at] + b'\xff' + reply[at + 1:])
                run_any(INFO, root)


def run_any(program, root, *args):
    """It ends by itself, with one of its statuses."""
    run = subprocess.run([program, '--check', *args, '--root', root], check=False,
                         capture_output=True, text=True, errors='surrogateescape', timeout=30)
    check(run.returncode in (0, 1, 3), (run.returncode, run.stderr))
    return run.stdout, run.stderr


def test_manual_has_each_check(bench):
    page = pathlib.Path(SOURCES[0]).with_name('bsn-info.1').read_text().replace('\\-', '-')
    names = {finding['check'] for finding in findings_of(bench)}
    missing = [name for name in names if not re.search(rf'\b{name}\b', page)]
    check(len(names) > 20 and not missing, missing)


# -- every finding is seen -----------------------------------------------------------------------

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)


def arguments_of(call):
    """The top-level arguments of the text of a call, which begins behind its parenthesis."""
    parts, depth = [''], 0
    for token in TOKEN.findall(call):
        depth += {'(': 1, ')': -1}.get(token, 0)
        if depth < 0:
            break
        if token == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += token
    return parts


def pattern_of(text):
    """What a format prints, as an expression; of conversions at least one character."""
    text = re.sub(r'" ?PRI\w+ ?"', 's', text)
    text = ''.join(LITERAL.findall(text))
    parts = re.split(r'%[-0-9.]*[a-z]+', text)
    return '.*'.join(re.escape(part) for part in parts)


def formats():
    """The text of each finding in the sources, as an expression."""
    for source in SOURCES:
        text = pathlib.Path(source).read_text()
        for found in re.finditer(r'\bfound\(check, ', text):
            args = arguments_of(text[found.end():])
            if '"%s"' == args[2].strip():  # one of several texts
                for literal in LITERAL.findall(re.sub(r'strcmp\([^)]*\)', '', args[3])):
                    yield re.escape(literal)
            else:
                yield pattern_of(args[2])


def test_every_finding_was_seen(_bench):
    need(may_be_locked() and may_be_alone(), 'some could not be tried')
    every = set(formats())
    check(len(every) > 60, every)
    missed = [p for p in every if not any(re.fullmatch(p, text) for text in SEEN)]
    check(not missed, 'never seen:\n' + '\n'.join(missed))


sys.exit(main(globals()))
