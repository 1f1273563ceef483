#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that arm64 code has the barriers that dv/ORDERING.md asks for, between the loads and
stores that it names, on each way through each function of the library, and of a program's own
posts, receives and polls, as the cross compiler makes them. This machine need not be arm64. Speaks
TAP.

The compiler's notes for debuggers tell which of the functions named below an instruction comes
from, inlined or not.

usage: fences_arm64.py ROOT
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap

ROOT = pathlib.Path(sys.argv[1])
CC = os.environ.get('CROSS_CC', 'aarch64-linux-gnu-gcc')
OBJDUMP = CC.removesuffix('gcc') + 'objdump'

PROGRAM = """
#include "bsn.h"

#define RUNG (BSN_F_SIGNALED | BSN_F_RING)
#define PROBE(name, call, ...) \\
	__attribute__((visibility("default"))) int name(__VA_ARGS__); \\
	int name(__VA_ARGS__) { return call; }
#define TO struct bsn_ep *ep, const struct bsn_sge *sge, const struct bsn_remote *to
#define TO_INLINE struct bsn_ep *ep, const struct bsn_remote *to, const void *data, uint32_t length

PROBE(write_rung, bsn_write(ep, sge, to, 1, RUNG), TO)
PROBE(write_appended, bsn_write(ep, sge, to, 1, BSN_F_SIGNALED), TO)
PROBE(write_of_4, bsn_write_sgl(ep, sge, 4, to, 1, RUNG), TO)
PROBE(write_inline, bsn_write_inline(ep, data, length, to, 1, RUNG), TO_INLINE)
PROBE(write_inline_64, bsn_write_inline(ep, data, 64, to, 1, RUNG), TO_INLINE)
PROBE(send_of_flags, bsn_send(ep, sge, 1, flags), TO, unsigned flags)
PROBE(send_inline_of_flags, bsn_send_inline(ep, data, length, 1, flags), TO_INLINE, unsigned flags)
PROBE(prepared, bsn_post_prepared(ep, p, 1, RUNG), struct bsn_ep *ep, const struct bsn_prepared *p)
PROBE(ring, bsn_ring(ep), struct bsn_ep *ep)
PROBE(recv, bsn_recv(rq, sge, 1), struct bsn_rq *rq, const struct bsn_sge *sge)
PROBE(recv_of_2, bsn_recv_sgl(rq, sge, 2, 1), struct bsn_rq *rq, const struct bsn_sge *sge)
PROBE(poll_one, bsn_poll(cq, c, 1), struct bsn_cq *cq, struct bsn_completion *c)
PROBE(poll_many, bsn_poll(cq, c, 16), struct bsn_cq *cq, struct bsn_completion *c)
"""

# Which loads and stores the rules speak of, by the functions that make them.
STORES = {'bsn_store_wqe': 'wqe', 'bsn_store_wqe_v2': 'wqe', 'bsn_store_index': 'record',
          'bsn_store_record': 'cq record', 'bsn_store_mmio': 'register',
          'bsn_store_mmio_v2': 'register', 'bsn_route_done': 'done'}
LOADS = {'bsn_cq_op_own': 'owner', 'bsn_cqe_tail_decode': 'owner',
         **dict.fromkeys(['bsn_cq_raw_who', 'bsn_cq_byte_count', 'bsn_cq_wqe_index',
                          'bsn_load_be16', 'bsn_load_be32', 'bsn_load_be64'], 'cqe')}
BARRIERS = {'dmb\toshst': ('wqe',), 'dmb\toshld': ('owner', 'cqe'),
            'dsb\tst': ('wqe', 'record', 'register')}

# At which event something must have been ordered by its barrier, and by which rules. Receives are
# like sends (O7), the record that arms a CQ is like a doorbell's (O8).
RULES = {'record': ('wqe', 'O1, O7'), 'register': ('record', 'O2, O8'),
         'end': ('register', 'O3, O8'), 'cqe': ('owner', 'O4'), 'cq record': ('cqe', 'O5')}

# What must be there on some way, else nothing was checked: of functions of the program and of the
# library, and of all those of a file that nobody calls by name.
RINGS, RECEIVES = ('record', 'register', 'end'), ('record', 'acquire')
POLLS = ('cqe', 'cq record', 'done')
WANTED = {
    **dict.fromkeys(['write_rung', 'write_appended', 'write_of_4', 'write_inline',
                     'write_inline_64', 'send_of_flags', 'send_inline_of_flags', 'prepared',
                     'bsn_write', 'bsn_write_sgl', 'bsn_write_inline', 'bsn_send',
                     'bsn_send_inline', 'bsn_post', 'bsn_post_prepared'], (*RINGS, 'acquire')),
    **dict.fromkeys(['ring', 'bsn_ring', 'bsn_ring_many'], RINGS),
    **dict.fromkeys(['recv', 'recv_of_2', 'bsn_recv'], RECEIVES[:1]),
    **dict.fromkeys(['poll_one', 'poll_many', 'bsn_poll'], POLLS),
    **dict.fromkeys(['bsn_cq_poll_rest', 'bsn_cq_drop', 'bsn_cq_remove'], ('cqe',)),
    'bsn_cq_arm': ('cq record', 'register', 'end'),
}
OF_FILES = {'dv/rq.c': RECEIVES, 'dv/srq.c': (*RECEIVES, 'release'), 'dv/cq.c': ('release',)}


def compile_all(out):
    """The data path in one piece, disassembled, with the functions that instructions come from."""
    (out / 'infiniband').symlink_to('/usr/include/infiniband')
    (out / 'program.c').write_text(PROGRAM, encoding='ascii')
    objects = []
    # Not store.c, whose stores have their barriers around them, and what needs a device.
    left_out = {'store', 'provider', 'provider_handshake'}
    sources = [path for path in (ROOT / 'dv').glob('*.c') if path.stem not in left_out]
    flags = ['-std=gnu11', '-O2', '-g', '-fno-jump-tables', '-fPIC', '-fvisibility=hidden',
             '-D_GNU_SOURCE', '-isystem', out,
             '-Dnoplt=']  # calls by stubs, which name whom they call
    flags += [f'-I{ROOT / layer}' for layer in ('wqe', 'dv', 'engine')]
    for source in [*sources, ROOT / 'engine/post.c', out / 'program.c']:
        objects.append(out / f'{source.parent.name}_{source.stem}.o')
        subprocess.run([CC, *flags, '-c', source, '-o', objects[-1]], check=True)
    subprocess.run([CC, '-shared', '-nostdlib', '-Wl,--unresolved-symbols=ignore-all', *objects,
                    '-o', out / 'all'], check=True)
    return subprocess.run([OBJDUMP, '-dl', '--inlines', '--no-show-raw-insn', out / 'all'],
                          check=True, capture_output=True, text=True).stdout


class Code:
    """Instructions by their addresses: text, the functions it comes from, the next address;
    functions by name, and their files."""

    def __init__(self, listing):
        self.at, self.functions, self.files, stubs = {}, {}, {}, {}
        sources, last, function = [], None, None
        for line in listing.splitlines():
            if symbol := re.match(r'([0-9a-f]+) <(.+)>:$', line):
                function = symbol[2]
                (stubs if '@plt' in function else self.functions)[function] = int(symbol[1], 16)
                sources, last = [], None
            elif named := re.match(r'([A-Za-z_]\w*)\(\):$', line):
                sources = [named[1]]
            elif around := re.match(r'inlined by .* \((\w+)\)$', line):
                sources = [*sources, around[1]]
            elif placed := re.match(r'/.*/(\w+/\w+\.c):', line):
                self.files.setdefault(function, placed[1])
            elif instruction := re.match(r' +([0-9a-f]+):\t(.*)', line):
                address = int(instruction[1], 16)
                if last is not None:
                    self.at[last][2] = address
                self.at[address] = [instruction[2].split(' //')[0].strip(), sources, None]
                last, sources = address, sources[:1]
        self.named = {address: name for name, address in self.functions.items()}
        for name, address in stubs.items():
            self.named[address] = name.removesuffix('@plt')
        targets = (re.match(r'bl?\t([0-9a-f]+) ', text) for text, _, _ in self.at.values())
        self.called = {self.callee(int(target[1], 16)) for target in targets if target}

    def callee(self, address):
        """Where a call leads to, or None: out of this code."""
        name = self.named.get(address)
        return self.functions.get(name) if name else address


class Walk:
    """Every way through functions, and through those that they call. A state says of each kind what
    was done last: None: nothing; False: it is not ordered; True: a barrier came after it."""

    KINDS = ('wqe', 'record', 'register', 'owner', 'cqe')
    START = (False, None, None, None, False)  # a caller appended WQEs and polled CQEs
    WITHIN = (False, None, None, True, False)  # of a CQE whose owner bit it has looked at

    def __init__(self, code, before):
        """@before: the ends that an earlier walk found, for functions that call themselves."""
        self.code, self.before, self.ends, self.had, self.wrong = code, before, {}, {}, {}

    def event(self, state, what, had, where):
        if what in RULES:
            kind, rules = RULES[what]
            ordered = state[self.KINDS.index(kind)]
            if ordered is False:
                self.wrong[where] = f'{rules}: the last {kind} is not ordered before this {what}'
            if ordered:
                had.add(what)
        if what == 'owner' and state[self.KINDS.index('owner')]:
            return state  # of a CQE that was looked at, once more
        # A register is told what is in either record.
        return tuple(False if what in (kind, f'cq {kind}') else each
                     for kind, each in zip(self.KINDS, state))

    def barrier(self, state, kinds):
        return tuple(True if kind in kinds and each is not None else each
                     for kind, each in zip(self.KINDS, state))

    def step(self, state, text, sources, had, where):
        """The state after an instruction that is no branch."""
        mnemonic = text.split('\t')[0]
        if text in BARRIERS:
            return self.barrier(state, BARRIERS[text])
        had |= {'release'} if mnemonic.startswith('stl') else set()
        had |= {'acquire'} if mnemonic.startswith('lda') else set()
        kinds = {'st': STORES, 'ld': LOADS}.get(mnemonic[:2], {})
        kind = next((kinds[source] for source in reversed(sources) if source in kinds), None)
        if kind != 'done':
            return self.event(state, kind, had, where)
        had.add('done')
        if not mnemonic.startswith('stl'):
            self.wrong[where] = 'O6: this is no release store'
        return state

    def function(self, entry, state):
        """The states in which it may end; self.had: what ways of it have."""
        key = entry, state
        if key in self.ends:
            return self.ends[key]
        ends = self.ends[key] = set(self.before.get(key, ()))
        had = self.had[key] = set()
        seen, todo = set(), [(entry, state)]
        while todo:
            if (here := todo.pop()) in seen:
                continue
            seen.add(here)
            address, now = here
            text, sources, after = self.code.at[address]
            now = self.step(now, text, sources, had, (' in '.join(sources), hex(address)))
            todo += self.after(text, after, now, had, ends)
        return ends

    def call(self, target, state, had):
        """The states after a call."""
        entry = self.code.callee(target)
        if entry is None:
            return {state}
        ends = self.function(entry, state)
        had |= self.had[entry, state]
        return ends

    def after(self, text, after, state, had, ends):
        """Where it goes on, and how."""
        mnemonic = text.split('\t')[0]
        target = re.search(r'\b([0-9a-f]+) <', text)
        if mnemonic == 'bl':
            return [(after, each) for each in self.call(int(target[1], 16), state, had)]
        if mnemonic in ('ret', 'br', 'brk', 'udf'):  # br: into a path's function, and not back
            ends.add(state)
            return []
        if mnemonic == 'b' and int(target[1], 16) in self.code.named:
            ends |= self.call(int(target[1], 16), state, had)
            return []
        jump = [(int(target[1], 16), state)] if re.match(r'b$|b\.|[ct]bn?z', mnemonic) else []
        return jump if mnemonic == 'b' else [*jump, (after, state)]


def check(code, names, start, wanted):
    """Complaints about some functions, which have all that is @wanted between them."""
    walk, before = None, None
    while walk is None or walk.ends != before:
        before = walk.ends if walk else {}
        walk, had = Walk(code, before), set()
        for name in names:
            entry = code.functions[name]
            for end in walk.function(entry, start):
                walk.event(end, 'end', walk.had[entry, start], ('the end', name))
            had |= walk.had[entry, start]
    wrong = [f'{source} at {at}: {what}' for (source, at), what in walk.wrong.items()]
    return wrong + [f'nothing to check: {what}' for what in sorted(set(wanted) - had)]


def results(code):
    for name, wanted in WANTED.items():
        yield name, check(code, [name] if name in code.functions else [], Walk.START, wanted)
    others = {name: code.files.get(name, '') for name, entry in code.functions.items()
              if entry not in code.called}
    for file in sorted(set(others.values())):
        if file.startswith('dv/'):
            names = [name for name, each in others.items() if each == file]
            yield f'all of {file}', check(code, names, Walk.WITHIN, OF_FILES.get(file, ()))


def main():
    if not shutil.which(CC) or not shutil.which(OBJDUMP):
        print(f'1..0 # SKIP no {CC}')
        return 0
    if not os.path.isdir('/usr/include/infiniband'):
        print('1..0 # SKIP no headers of libibverbs')
        return 0
    with tempfile.TemporaryDirectory() as out:
        return tap.report(results(Code(compile_all(pathlib.Path(out)))))


sys.exit(main())
