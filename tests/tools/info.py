#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bsn-info. usage: info.py PROGRAM"""

import sys

from harness import check, has, main

INFO = sys.argv[1]


def device_of(bench, **more):
    devices = bench.json(INFO, **more)['devices']
    check(len(devices) == 1, devices)
    return devices[0]


def test_text(bench):
    has(bench.run(INFO)[0], 'mlx5_0\n', 'libmlx5 drives this device', 'InfiniBand', 'max_qp',
        'feature', 'GID 0')


def test_json(bench):
    device = device_of(bench)
    check(device['name'] == 'mlx5_0' and device['direct'] is True and device['store'], device)
    check(device['link_layer'] == 'InfiniBand' and device['port'] == 1, device)
    check(all(value > 0 for value in device['limits'].values()), device)
    check(len(device['features']) > 3, device)
    for feature in device['features']:
        check(feature['available'] == (feature['why_not'] is None), feature)
    check([gid['type'] for gid in device['gids']] == ['IB'] * len(device['gids']), device)


def test_roce(bench):
    device = device_of(bench, SOFTCX_LINK='roce')
    check(device['link_layer'] == 'Ethernet', device)
    check({gid['type'] for gid in device['gids']} == {'RoCE v1', 'RoCE v2'}, device)
    chosen = [gid for gid in device['gids'] if gid['index'] == device['gid_index']]
    check(chosen and chosen[0]['type'] == 'RoCE v2', device)


def test_order_of_atomics(bench):
    plain = 'results of 8 bytes are big-endian'
    for wanted in False, True:
        order = {'SOFTCX_BIG_ENDIAN_ATOMICS': str(int(wanted))}
        device = device_of(bench, **order)
        check(device['atomics_are_big_endian'] is wanted, device)
        features = {feature['name']: feature['available'] for feature in device['features']}
        check(features['masked-atomics'] and features['atomics'] is not wanted, features)
        check((plain in bench.run(INFO, **order)[0]) is wanted, 'the text says otherwise')


def test_plain_verbs_says_why(bench):
    device = device_of(bench, BSN_PATH='verbs')
    check(device['direct'] is False and 'asked for' in device['why'], device)
    check(device['store'] is None, device)


def test_one_device(bench):
    quiet = {'BSN_STORE': '8x8'}  # otherwise the store is measured, and may differ
    check(bench.run(INFO, '--device', 'mlx5_0', **quiet)[0] == bench.run(INFO, **quiet)[0],
          'differs')
    bench.complains('no RDMA device nix_0', INFO, '--device', 'nix_0')


def test_misspelt_variable(bench):
    check('BSN_CHEK is no variable' in bench.run(INFO, BSN_CHEK='1')[1], 'nothing is said')
    check(not bench.run(INFO, BSN_LOG='0', BSN_STORE='8x8', BSNX='1')[1], 'of one that is known')


def test_usage(bench):
    bench.complains('--frob: unknown option', INFO, '--frob', status=2)
    bench.complains('x: one argument too many: --device names one', INFO, 'x', status=2)
    check('--json' in bench.run(INFO, '--help')[0], 'no help')
    check(bench.run(INFO, '--version')[0].startswith('bsn-info '), 'no version')


sys.exit(main(globals()))
