# SPDX-License-Identifier: BSD-2-Clause
"""Writes the core file of a process that goes on running, with or without some of its memory."""

import os
import struct

from crafted import PAGE, PT_LOAD, PT_NOTE, elf_header, files, note, segment

NT_PRPSINFO = 3
HUGE = 1 << 27  # larger mappings are not dumped: sanitizers' and softcx's


def mappings(pid):
    """(start, end, permissions, offset, path) of each mapping that can be read."""
    with open(f'/proc/{pid}/maps', encoding='utf-8') as maps:
        for line in maps:
            where, rights, offset, _, _, *path = line.split(None, 5)
            start, end = (int(word, 16) for word in where.split('-'))
            if rights[0] == 'r' and not line.rstrip().endswith(('[vvar]', '[vsyscall]')):
                yield start, end, rights, int(offset, 16), (path or [''])[0].strip()


def split(mapping, address):
    """Splits a mapping, so that the page of this address is a mapping of its own."""
    start, end, rights, offset, name = mapping
    if not start <= address < end:
        return [mapping]
    page = address - address % PAGE
    edges = [start, page, page + PAGE, end]
    return [(a, b, rights, offset + a - start, name) for a, b in zip(edges, edges[1:]) if a < b]


def contents(memory, start, end):
    try:
        return os.pread(memory, end - start, start)
    except OSError:
        return b''  # a device's


def write(pid, path, keep, hole):
    """keep(start, rights, offset, path): how many bytes of a mapping are dumped, None for all.

    hole: an address whose page is not dumped.
    """
    memory = os.open(f'/proc/{pid}/mem', os.O_RDONLY)
    loads = []
    for start, end, rights, offset, name in (
            piece for mapping in mappings(pid) for piece in split(mapping, hole)):
        wanted = keep(start, rights, offset, name)
        if start <= hole < end or end - start > HUGE:
            wanted = 0
        upto = end if wanted is None else min(end, start + wanted)
        loads.append((start, end, rights, offset, name, contents(memory, start, upto)))
    os.close(memory)
    mapped = (load for load in loads if load[4].startswith('/'))
    notes = note(NT_PRPSINFO, b'CORE', struct.pack('<8xQIIiiii16s80s', 0, 0, 0, pid, 0, 0, 0,
                                                   b'live_program', b'')) + files(
        *((start, end, offset // PAGE, name.encode()) for start, end, _, offset, name, _ in mapped))
    at = 64 + 56 * (1 + len(loads))
    head = elf_header(4, 1 + len(loads)) + segment(PT_NOTE, at, 0, len(notes), 0)
    at += len(notes)
    for start, end, rights, _, _, data in loads:
        flags = 4 + 2 * (rights[1] == 'w') + (rights[2] == 'x')
        head += segment(PT_LOAD, at, start, len(data), end - start, flags)
        at += len(data)
    with open(path, 'wb') as core:
        core.write(head + notes)
        for load in loads:
            core.write(load[5])
