#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who includes what: each layer sees those below it, and nothing points the other way. Speaks TAP.

usage: layers.py SOURCE_ROOT ARCHIVE...

In the static libraries no object files use each other's symbols in a circle.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

ROOT = pathlib.Path(sys.argv[1])
ARCHIVES = sys.argv[2:]
PUBLIC = re.compile(r'bsn(_\w+)?\.h')
RDMA = re.compile(r'(infiniband|rdma)/')
VERBS = re.compile(r'infiniband/verbs\.h')
NOTHING = re.compile(r'(?!)')

# The rooms of wqe-dump, the upper ones first: those that each one sees, of its own and of others.
DUMP = 'tools/wqe-dump/'
ROOMS = {
    'scan/': ['forms/', 'bytes/', 'tell/', 'text/'],
    'forms/': ['bytes/', 'explain/', 'tell/', 'text/'],
    'live/': ['tell/', 'command.h'],
    'bytes/': ['tell/'],
    'print/': ['explain/', 'command.h'],
    'tell/': ['explain/'],
    'explain/': ['text/'],
    'text/': [],
}
WQE_DUMP = [(DUMP + room, {**{DUMP + seen: 'all' for seen in (room, *others, 'record.h')},
                           'wqe/causes.h': 'all', 'wqe/': 'public', 'dv/': 'public',
                           'engine/': 'public'}, VERBS) for room, others in ROOMS.items()]

# Whose headers a folder may include: all of them, or the public ones; and which of rdma-core's.
# Longer names come first. What is not listed (tests/) may include everything.
RULES = [
    *WQE_DUMP,
    # It builds WQEs place by place.
    (DUMP + 'build.c', {'tools/': 'all', 'wqe/places.h': 'all', 'wqe/': 'public'}, RDMA),
    ('tools/softcx/os/', {'tools/softcx/os/': 'all'}, NOTHING),
    ('tools/softcx/nic/', {'tools/softcx/nic/': 'all', 'tools/softcx/datasheet.h': 'all',
                           'tools/softcx/os/': 'all', 'wqe/': 'all'}, RDMA),
    ('tools/softcx/kernel/', {'tools/softcx/kernel/': 'all', 'tools/softcx/nic/': 'all',
                              'tools/softcx/datasheet.h': 'all', 'tools/softcx/os/': 'all',
                              'wqe/': 'public'}, RDMA),
    ('tools/softcx/', {'tools/softcx/': 'all', 'wqe/': 'all'}, RDMA),
    # The model runs the library's own pool.
    ('tools/bsn-perf/dc/model/',
     {'tools/bsn-perf/': 'all', 'engine/': 'all', 'dv/': 'all', 'wqe/': 'all'}, RDMA),
    ('tools/', {'tools/': 'all', 'wqe/': 'public', 'dv/': 'public', 'engine/': 'public'}, RDMA),
    ('engine/', {'engine/': 'all', 'dv/': 'all', 'wqe/': 'all'}, VERBS),
    ('dv/', {'dv/': 'all', 'wqe/': 'all'}, RDMA),
    ('wqe/', {'wqe/': 'all'}, NOTHING),
]

# A path is chosen where a device is opened or a queue pair is attached.
PATHS = re.compile(r'\b(?:direct|verbs)_path\b')
CHOOSE_PATHS = re.compile(r'engine/(device\.c|attach\.c|path\.h|direct/|verbs/)')

# Only one place of the library calls mlx5dv, in two files; so may softcx's shim, and the tools that
# measure libmlx5.
MLX5DV = re.compile(r'dv/provider(_handshake)?\.c|tools/')


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


def check_paths_are_chosen_in_two_places():
    return [name(path) for path in sources() if name(path).startswith('engine/') and
            not CHOOSE_PATHS.match(name(path)) and PATHS.search(path.read_text(encoding='utf-8'))]


def check_public_headers_include_public_ones():
    return [f'{name(path)}: "{header}"' for path in sources() if PUBLIC.fullmatch(path.name)
            for quoted, header in includes(path) if quoted and not PUBLIC.fullmatch(header)]


# -- symbols -------------------------------------------------------------------------------------

def uses_of(archive):
    """{object: {object whose symbols it uses: their names}}, each by the name of its file."""
    out = tap.said('nm', '-A', '-g', '--format=posix', archive)
    found = re.findall(r'\[(?:.*/)?(.+)\]: (\S+) (\w)', out)
    homes = {symbol: home for home, symbol, kind in found if kind not in 'Uw'}
    uses = {home: {} for home in homes.values()}
    for user, symbol, kind in found:
        if kind in 'Uw' and homes.get(symbol, user) != user:
            uses.setdefault(user, {}).setdefault(homes[symbol], []).append(symbol)
    return uses


def circles_of(uses):
    """What remains when each is removed that uses none of the rest, or that none uses."""
    while True:
        used = {home for homes in uses.values() for home in homes}
        kept = {user: {home: names for home, names in homes.items() if uses.get(home)}
                for user, homes in uses.items() if homes and user in used}
        if kept == uses:
            return kept
        uses = kept


def check_no_files_call_each_other_in_a_circle():
    return [f'{user} -> {home}: {", ".join(names)}' for archive in ARCHIVES
            for user, homes in circles_of(uses_of(archive)).items()
            for home, names in homes.items()]


sys.exit(tap.report_checks(globals()))
