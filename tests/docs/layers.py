#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who includes what: each layer sees those below it, and nothing points the other way. Speaks TAP.

usage: layers.py SOURCE_ROOT
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

ROOT = pathlib.Path(sys.argv[1])
PUBLIC = re.compile(r'bsn(_\w+)?\.h')
RDMA = re.compile(r'(infiniband|rdma)/')
VERBS = re.compile(r'infiniband/verbs\.h')
NOTHING = re.compile(r'(?!)')

# Whose headers a folder may include: all of them, or the public ones; and which of rdma-core's.
# Longer names come first. What is not listed (tests/) may include everything.
RULES = [
    ('tools/softcx/nic/', {'tools/softcx/nic/': 'all', 'tools/softcx/model.h': 'all',
                           'wqe/': 'all'}, RDMA),
    ('tools/softcx/kernel/', {'tools/softcx/kernel/': 'all', 'tools/softcx/nic/': 'all',
                              'tools/softcx/model.h': 'all'}, RDMA),
    ('tools/softcx/', {'tools/softcx/': 'all', 'wqe/': 'all'}, RDMA),
    ('tools/', {'tools/': 'all', 'wqe/': 'public', 'dv/': 'public', 'engine/': 'public'}, RDMA),
    ('engine/', {'engine/': 'all', 'dv/': 'all', 'wqe/': 'all'}, VERBS),
    ('dv/', {'dv/': 'all', 'wqe/': 'all'}, RDMA),
    ('wqe/', {'wqe/': 'all'}, NOTHING),
]

# mlx5dv is called in one place; softcx's shim and the tools that measure libmlx5 are others' users.
MLX5DV = re.compile(r'dv/provider\.c|tools/')


def sources():
    for folder in ('wqe', 'dv', 'engine', 'tools'):
        yield from sorted((ROOT / folder).rglob('*.[ch]'))


def name(path):
    return str(path.relative_to(ROOT))


def includes(path):
    """(quoted, header) of each #include."""
    text = path.read_text(encoding='utf-8')
    for quote, header in re.findall(r'^\s*#\s*include\s+(["<])([^">]+)[">]', text, re.MULTILINE):
        yield quote == '"', header


def owners(path, header):
    """The files of the tree that a quoted include may mean: beside it, or on the include path."""
    beside = (path.parent / header).resolve()
    if beside.is_file():
        return [name(beside)]
    folders = ['wqe', 'dv', 'engine', 'tools/softcx', 'tools', 'tools/examples']
    return [f'{folder}/{header}' for folder in folders if (ROOT / folder / header).is_file()]


def rule_of(path):
    return next(rule for rule in RULES if name(path).startswith(rule[0]))


def allowed(folders, owner):
    for folder, kind in folders.items():
        if owner.startswith(folder):
            return kind == 'all' or PUBLIC.fullmatch(owner.rpartition('/')[2])
    return False


def check_layers_see_those_below_them():
    wrong = []
    for path in sources():
        _, folders, _ = rule_of(path)
        for quoted, header in includes(path):
            found = owners(path, header) if quoted else []
            if quoted and not found:
                wrong.append(f'{name(path)}: "{header}" is not of this tree')
            wrong += [f'{name(path)}: {owner}' for owner in found if not allowed(folders, owner)]
    return wrong


def check_rdma_core_is_seen_where_it_may_be():
    return [f'{name(path)}: <{header}>' for path in sources() for quoted, header in includes(path)
            if not quoted and RDMA.match(header) and not rule_of(path)[2].match(header)]


def check_mlx5dv_is_called_in_one_place():
    return [f'{name(path)}: <{header}>' for path in sources() for _, header in includes(path)
            if header == 'infiniband/mlx5dv.h' and not MLX5DV.match(name(path))]


def check_public_headers_include_public_ones():
    return [f'{name(path)}: "{header}"' for path in sources() if PUBLIC.fullmatch(path.name)
            for quoted, header in includes(path) if quoted and not PUBLIC.fullmatch(header)]


sys.exit(tap.report_checks(globals()))
