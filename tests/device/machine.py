# SPDX-License-Identifier: BSD-2-Clause
"""Checks what decides how fast a NIC can be here, and whether it works at all. Changes nothing."""

import json
import os
import pathlib
import platform
import re
import resource
import subprocess

from tools import last_line

SYS = pathlib.Path('/sys')
WANTED_MEMLOCK_KB = 64 * 1024
PACKAGES = ('libibverbs1', 'ibverbs-providers', 'perftest')


def read(path):
    """The text of a small file of the kernel's, or None."""
    try:
        return pathlib.Path(path).read_text(encoding='ascii', errors='replace').strip()
    except OSError:
        return None


def check(name, value, verdict, advice=''):
    """One line of the report; verdict: ok, advice (it could be better), bad, unknown."""
    return {'name': name, 'value': str(value), 'verdict': verdict,
            'advice': advice if verdict != 'ok' else ''}


def unknown(name, why):
    return check(name, 'not known', 'unknown', why)


# -- the computer

def cpu_model():
    match = re.search(r'^(?:model name|Model)\s*:\s*(.*)$', read('/proc/cpuinfo') or '', re.M)
    return match[1] if match else platform.machine()


def cpus():
    return sorted(os.sched_getaffinity(0))


def expand(cpulist):
    """The numbers of '0-3,8'."""
    numbers = set()
    for part in filter(None, (cpulist or '').split(',')):
        first, _, last = part.partition('-')
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def check_governor():
    files = (SYS / f'devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor' for cpu in cpus())
    governors = sorted({governor for governor in map(read, files) if governor})
    if not governors:
        return unknown('frequency governor', 'the kernel offers none here')
    return check('frequency governor', ', '.join(governors),
                 'ok' if governors == ['performance'] else 'advice',
                 'latencies vary: cpupower frequency-set -g performance')


def check_hugepages():
    found = dict(re.findall(r'^(HugePages_Total|HugePages_Free|Hugepagesize):\s+(\d+)',
                            read('/proc/meminfo') or '', re.MULTILINE))
    if len(found) < 3:
        return unknown('hugepages', '/proc/meminfo does not tell')
    value = (f'{found["HugePages_Free"]} of {found["HugePages_Total"]} free, '
             f'{int(found["Hugepagesize"]) // 1024} MiB each')
    return check('hugepages', value, 'ok' if int(found['HugePages_Free']) else 'advice',
                 'large buffers miss the TLB: sysctl vm.nr_hugepages=64')


def check_memlock():
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit == resource.RLIM_INFINITY or os.geteuid() == 0:
        return check('locked memory', 'unlimited', 'ok')
    return check('locked memory', f'{limit // 1024} KiB',
                 'ok' if limit // 1024 >= WANTED_MEMLOCK_KB else 'bad',
                 'registering memory will fail: ulimit -l unlimited, or limits.conf(5)')


def check_package(name):
    try:
        out = subprocess.run(['dpkg-query', '-W', '-f', '${Version}', name], text=True, timeout=30,
                             capture_output=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return unknown(name, 'dpkg does not know it')
    return check(name, out, 'ok')


# -- the device

def check_firmware(folder):
    firmware, board, kind = (read(folder / name) for name in ('fw_ver', 'board_id', 'hca_type'))
    if not firmware:
        return unknown('firmware', f'{folder} has no fw_ver')
    value = f'{firmware} ({kind or "unknown type"}, board {board or "unknown"})'
    return check('firmware', value, 'ok')


def check_pcie(folder):
    now, most = ((read(folder / f'device/{which}_link_speed'),
                  read(folder / f'device/{which}_link_width')) for which in ('current', 'max'))
    if None in now:
        return unknown('PCIe', 'the device is not on a PCIe bus that tells')
    return check('PCIe', f'{now[0]}, x{now[1]}; the device can {most[0]}, x{most[1]}',
                 'ok' if now == most else 'advice',
                 'another slot, or the BIOS, may give the device its full width and speed')


def check_numa(folder):
    node = read(folder / 'device/numa_node')
    if node is None or int(node) < 0:
        return unknown('NUMA', 'the device names no node')
    near = expand(read(SYS / f'devices/system/node/node{node}/cpulist'))
    far = [cpu for cpu in cpus() if cpu not in near]
    return check('NUMA', f'the device is on node {node}; {len(far)} of {len(cpus())} CPUs are not',
                 'ok' if not far else 'advice',
                 f'CPUs of another node are slower: numactl --cpunodebind={node} tests/device/run')


def check_port(info):
    value = (f'port {info["port"]}: {info["link_layer"]}, {info["port_state"]}, '
             f'MTU {info["active_mtu"]}')
    advice = ('bring the link up: plug the cable in; Ethernet: ip link set DEVICE up; '
              'InfiniBand: a subnet manager must run')
    return check('link', value, 'ok' if info['port_state'] == 'active' else 'bad', advice)


def check_gids(info):
    mine = [gid for gid in info['gids'] if gid['port'] == info['port']]
    used = next((gid for gid in mine if gid['index'] == info['gid_index']), None)
    value = f'{len(mine)}; used: {used["index"]}, {used["gid"]}, {used["type"]}' if used else 'none'
    good = used and (info['link_layer'] != 'Ethernet' or used['type'] == 'RoCE v2')
    return check('GIDs', value, 'ok' if good else 'bad',
                 'RoCE v2 needs an IP address on the port: ip address add ... dev DEVICE')


def check_write_combining(tools):
    """By the time that a copy into the BlueFlame register takes, beside a plain doorbell's."""
    name = 'write combining'
    status, out, err = tools.run('tests/device/write_combining', tools.device)
    if status != 0:
        return unknown(name, last_line(err, 'the probe failed'))
    told = json.loads(out)
    if not told['copies']:
        return check(name, 'the kernel gives no BlueFlame register', 'advice',
                     'PAT must be on, and in a virtual machine the host must allow it')
    value = f'a copy takes {told["copy_ns"]:.0f} ns, a doorbell {told["doorbell_ns"]:.0f}'
    return check(name, value, 'ok' if told['combined'] else 'bad',
                 'the page is not write-combining: is PAT on? BSN_STORE=doorbell will be faster')


def of_computer():
    return [check('CPU', f'{cpu_model()}, {len(cpus())} usable', 'ok'),
            check('kernel', platform.release(), 'ok'), check_governor(), check_hugepages(),
            check_memlock(), *map(check_package, PACKAGES)]


def of_device(info):
    folder = SYS / 'class/infiniband' / info['name']
    return [check_port(info), check_gids(info), check_firmware(folder), check_pcie(folder),
            check_numa(folder)]
