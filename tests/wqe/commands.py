#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The layouts of commands against the installed kernel header mlx5_ifc.h, bit by bit. Speaks TAP.

usage: commands.py LAYOUT_MD

Fields that have another name in the kernel are listed here; fields that it lacks are counted.
"""

import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

HEADER = 'linux-headers-*/include/linux/mlx5/mlx5_ifc.h'

# Ours, the kernel's, and where ours begins in it, bytes.
PAIRS = [
    ('cmd_in', 'create_mkey_in', 0),
    ('cmd_out', 'create_mkey_out', 0),
    ('create_mkey_flags', 'create_mkey_in', 8),
    ('cmd_object', 'destroy_mkey_in', 8),
    ('cmd_object', 'create_mkey_out', 8),
    ('cmd_object', 'create_cq_out', 8),
    ('cmd_object', 'rst2init_qp_in', 8),
    ('cmd_object', 'alloc_pd_out', 8),
    ('cmd_ring', 'create_cq_in', 80),
    ('cmd_ring', 'create_qp_in', 256),
    ('cqc', 'cqc', 0),
    ('cmd_select', 'modify_cq_in', 12),
    ('rmpc', 'rmpc', 0),
    ('cmd_wq', 'wq', 0),
    ('cmd_wq', 'rmpc', 48),
    ('dctc', 'dctc', 0),
    ('dctc', 'create_dct_in', 16),
    ('cmd_object', 'create_dct_out', 8),
    ('cmd_object', 'create_rmp_out', 8),
    ('qpc_shape', 'qpc', 0),
    ('ads', 'ads', 0),
    ('ads', 'qpc', 24),
    ('qpc_work', 'qpc', 112),
    ('qpc_record', 'qpc', 176),
    ('cmd_options', 'init2rtr_qp_in', 16),
    ('cmd_vport', 'query_hca_vport_context_in', 8),
    ('vport_state', 'hca_vport_context', 0),
    ('vport_address', 'hca_vport_context', 64),
    ('mkey_ctx', 'mkc', 0),
    ('lag', 'lagc', 0),
    ('cap_gen_0', 'cmd_hca_cap', 0),
    ('cap_gen_1', 'cmd_hca_cap', 64),
    ('cap_gen_2', 'cmd_hca_cap', 128),
    ('cap_gen_3', 'cmd_hca_cap', 192),
    ('cap_odp', 'odp_cap', 0),
    ('cap_atomics', 'atomic_caps', 0),
]
NUMBERS = {'destroy_mkey_in': 'mkey_index', 'create_mkey_out': 'mkey_index', 'create_cq_out': 'cqn',
           'rst2init_qp_in': 'qpn', 'alloc_pd_out': 'pd', 'create_dct_out': 'dctn',
           'create_rmp_out': 'rmpn'}
RENAMED = {
    ('cmd_ring', 'umem_valid'): {'create_cq_in': 'cq_umem_valid', 'create_qp_in': 'wq_umem_valid'},
    ('cmd_object', 'number'): NUMBERS,
    ('mkey_ctx', 'relaxed_write'): 'relaxed_ordering_write',
    ('mkey_ctx', 'relaxed_read'): 'relaxed_ordering_read',
    ('mkey_ctx', 'small_fence'): 'small_fence_on_rdma_read_response',
    ('mkey_ctx', 'sigerr_count'): 'expected_sigerr_count',
    ('lag', 'state'): 'lag_state',
    ('cap_atomics', 'endianness_mode_8b'): 'atomic_req_8B_endianness_mode',
    ('cap_atomics', 'endianness_mode_1_8b'): 'supported_atomic_req_8B_endianness_mode_1',
    ('cap_atomics', 'operations'): 'atomic_operations',
    ('cap_atomics', 'size_qp'): 'atomic_size_qp',
    ('cap_atomics', 'size_dc'): 'atomic_size_dc',
}
FEWEST = 280  # fields that must be found


def kernel_structs(text):
    """
    {name: {field: (first bit, bits)}}, with the fields of nested structures. If a field comes
    twice, as in two paths, the first one counts.
    """
    bodies = dict(re.findall(r'struct mlx5_ifc_(\w+)_bits \{\n(.*?)\n\};', text, re.DOTALL))

    def lay_out(name):
        at, fields = 0, {}
        for field, size, inner in re.findall(
                r'^\tu8\s+(\w+)((?:\[\w+\])+);|^\tstruct mlx5_ifc_(\w+)_bits \w+;|^\tunion',
                bodies[name], re.MULTILINE):
            if inner:
                for part, (first, bits) in lay_out(inner)[0].items():
                    fields.setdefault(part, (at + first, bits))
                at += lay_out(inner)[1]
            elif not field:
                break
            else:
                bits = math.prod(int(n, 0) for n in re.findall(r'\w+', size))
                fields.setdefault(field, (at, bits))
                at += bits
        return fields, at

    return {name: lay_out(name)[0] for _, name, _ in PAIRS}


def our_fields(text, segment):
    """(name, first bit, bits) of each, by LAYOUT.md."""
    body = re.search(rf'### struct bsn_{segment}\n(.*?)(?=\n###|\n## )', text, re.DOTALL)[1]
    for byte, bits, name in re.findall(r'^\| (\d+) \| ([\d:]+) \| `(\w+)`', body, re.MULTILINE):
        most, least = (int(bit) for bit in (bits.split(':') * 2)[:2])
        word = 64 if most > 31 else 32
        yield name, 8 * int(byte) + word - 1 - most, most - least + 1


def main(layout):
    headers = sorted(pathlib.Path('/usr/src').glob(HEADER))
    if not headers:
        print('1..0 # SKIP no headers of the kernel: install linux-headers-amd64, or -arm64')
        return 0
    kernel = kernel_structs(headers[-1].read_text(encoding='utf-8'))
    text = pathlib.Path(layout).read_text(encoding='utf-8')
    seen, results = 0, []
    for segment, struct, start in PAIRS:
        wrong = []
        for name, first, bits in our_fields(text, segment):
            other = RENAMED.get((segment, name), name)
            theirs = kernel[struct].get(other[struct] if isinstance(other, dict) else other)
            seen += theirs is not None
            if theirs and theirs != (8 * start + first, bits):
                wrong.append(f'{name}: bit {8 * start + first}, {bits} wide; kernel: {theirs}')
        results.append((f'{segment} is {struct} from byte {start}', wrong))
    enough = [] if seen >= FEWEST else [f'less than {FEWEST}']
    return tap.report([*results, (f'the kernel has {seen} of the fields', enough)])


sys.exit(main(sys.argv[1]))
