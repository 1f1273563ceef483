#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The network interface behind a RoCE port, as ip(8) shows it and as programs find it. Speaks TAP.

usage: netdev.py SOFTCX
"""

import ipaddress
import json
import os
import re
import sys

from cases import Case, Tap, check
from harness import free_port, has, need
from tap import said

SOFTCX = os.path.abspath(sys.argv[1])
PORT = '/sys/class/infiniband/mlx5_0/ports/1'


def require(wanted, found):
    check(wanted == found, f'{found}, not {wanted}')


def interface():
    """That of the default route, with what it has."""
    routes = json.loads(said('ip', '-j', '-4', 'route', 'show', 'default') or '[]')
    need(routes, 'there is no default route')
    links = json.loads(said('ip', '-j', 'address', 'show', 'dev', routes[0]['dev']))
    need(links[0]['link_type'] == 'ether', f'{routes[0]["dev"]} is no Ethernet')
    return links[0]


def gids(case, *options):
    """The table: (GID, version)"""
    out = case.run(['ibv_devinfo', '-v'], *options)
    return [(ipaddress.ip_address(gid), version)
            for gid, version in re.findall(r'GID\[ *\d+\]:\s+(\S+), RoCE (v\d)', out)]


def mapped(address):
    address = ipaddress.ip_address(address)
    return address if address.version == 6 else ipaddress.ip_address(f'::ffff:{address}')


def of_mac(mac):
    """The EUI-64 in a link-local address (RFC 4291)."""
    byte = [int(part, 16) for part in mac.split(':')]
    raw = bytes([0xfe, 0x80, *[0] * 6, byte[0] ^ 2, *byte[1:3], 0xff, 0xfe, *byte[3:]])
    return ipaddress.ip_address(raw)


def check_gids(case):
    link = interface()
    addresses = [of_mac(link['address'])]
    for family in ('inet', 'inet6'):
        addresses += [mapped(entry['local']) for entry in link['addr_info']
                      if entry['family'] == family]
    unique = list(dict.fromkeys(addresses))[:8]
    require([(address, version) for address in unique for version in ('v1', 'v2')], gids(case))


def check_files(case):
    link = interface()
    count = len(gids(case))
    out = case.run(['sh', '-c', f'cat {PORT}/gid_attrs/ndevs/*'])
    require([link['ifname']] * count, out.split())
    out = case.run(['cat', f'/sys/class/infiniband/mlx5_0/device/net/{link["ifname"]}/address'])
    require(link['address'], out.strip())


def check_netlink(case):
    link = interface()
    found = json.loads(case.run(['rdma', '-j', 'link']))
    require((link['ifname'], link['ifindex']),
            (found[0].get('netdev'), found[0].get('netdev_index')))


def check_none(case):
    table = gids(case, '--netdev=none')
    require(4, len(table))
    require(('fe80:0000:0000:0000:005c:c5ff', ipaddress.ip_address('::ffff:192.0.2.1')),
            (table[0][0].exploded[:29], table[2][0]))
    has(case.run(['ls', f'{PORT}/gid_attrs/ndevs'], '--netdev=none', status=2), 'No such file')


def check_lo(case):
    need('UP' in said('ip', 'link', 'show', 'dev', 'lo').split('>')[0], 'lo is down')
    require((mapped('127.0.0.1'), 'v2'), gids(case, '--netdev=lo')[3])


def check_refusals(case):
    for options, wanted in ((['--netdev=no-such-one'], 'no Ethernet interface of that name'),
                            (['--netdev='], 'is no interface'),
                            (['--link=ib', '--netdev=lo'], 'only an Ethernet port')):
        has(case.run(['true'], *options, status=2), wanted)


def check_agreement(case):
    """Programs of a fabric have one interface; who names none takes what is there."""
    look = f'cat {PORT}/gids/2; "$0" run -f "$1" -l roce -- cat {PORT}/gids/2; "$0" list; ' \
           '! "$0" run -f "$1" -l roce -n none -- true'
    script = f'exec 3<{PORT}/link_layer; {look}'
    out = case.run(['sh', '-c', script, SOFTCX, case.fabric], '--netdev=lo')
    lines = out.splitlines()
    require([lines[0]] * 2, lines[:2])
    check(re.search(r'on roce, lo: process \d+', out), out)
    has(out, 'its interface is lo for process')


def check_counters(case):
    """200 messages of 4096 bytes each way, of 4 packets each."""
    port = free_port()
    pair = f'ibv_rc_pingpong -g 3 -n 200 -m 1024 -p {port} >&2 & sleep 0.5; ' \
           f'ibv_rc_pingpong -g 3 -n 200 -m 1024 -p {port} 127.0.0.1 >&2 || exit 1; wait'
    files = ' '.join(f'{PORT}/counters/{name}' for name in
                     ('port_xmit_data', 'port_rcv_data', 'port_xmit_packets', 'unicast_rcv_packets',
                      'multicast_xmit_packets', 'symbol_error'))
    script = f'exec 3<{PORT}/link_layer; ({pair}) 2>/dev/null; cat {files}'
    words = 400 * 4096 // 4
    require([words, words, 1600, 1600, 0, 0],
            [int(word) for word in case.run(['sh', '-c', script]).split()])


def check_statistic(case):
    out = case.run(['rdma', 'statistic', 'show', 'link', 'mlx5_0/1'])
    check(re.search(r'mlx5_0/1 rx_write_requests 0 .*out_of_buffer 0', out), out)


def check_pci(case):
    device = '/sys/bus/pci/devices/5cc5:00:00.0'
    out = case.run(['cat', *(f'{device}/{name}' for name in
                             ('subsystem_vendor', 'subsystem_device', 'class', 'uevent'))])
    has(out, '0x15b3\n0x0008\n0x020000\n', 'PCI_SLOT_NAME=5cc5:00:00.0', 'DRIVER=mlx5_core')
    require(6, len(case.run(['cat', f'{device}/resource']).splitlines()))
    require('mlx5_core', os.path.basename(case.run(['readlink', f'{device}/driver']).strip()))


CASES = [
    ('addresses of the interface of the default route', check_gids),
    ('sysfs names the interface', check_files),
    ('netlink names the interface', check_netlink),
    ('no interface', check_none),
    ('loopback', check_lo),
    ('what is refused', check_refusals),
    ('programs of a fabric agree', check_agreement),
    ('counters of what the port carries', check_counters),
    ('rdma statistic', check_statistic),
    ('PCI files', check_pci),
]


def main():
    tap = Tap()
    for name, function in CASES:
        tap.run(name, Case(SOFTCX, tap.count + 1, ['--link=roce'], {}), function)
    return tap.end()


sys.exit(main())
