# SPDX-License-Identifier: BSD-2-Clause
"""Writes the core file of a process that goes on running, with or without some of its memory."""

import os
import struct

PT_LOAD, PT_NOTE, NT_PRPSINFO, NT_FILE = 1, 4, 3, 0x46494c45
PAGE = 4096
HUGE = 1 << 30  # sanitizers reserve such mappings; they are not dumped


def note(kind, desc):
    pad = bytes(-len(desc) % 4)
    return struct.pack('<III8s', 5, len(desc), kind, b'CORE') + desc + pad


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
    files = [load for load in loads if load[4].startswith('/')]
    table = b''.join(struct.pack('<QQQ', start, end, offset // PAGE)
                     for start, end, _, offset, _, _ in files)
    names = b''.join(name.encode() + b'\0' for _, _, _, _, name, _ in files)
    info = struct.pack('<8xQIIiiii16s80s', 0, 0, 0, pid, 0, 0, 0, b'live_program', b'')
    notes = note(NT_PRPSINFO, info) + note(NT_FILE, struct.pack('<QQ', len(files), PAGE) + table
                                           + names)
    at = 64 + 56 * (1 + len(loads))
    head = struct.pack('<4sBBBB8xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, 0, 4, 62, 1, 0, 64, 0, 0, 64,
                       56, 1 + len(loads), 0, 0, 0)
    segments = struct.pack('<IIQQQQQQ', PT_NOTE, 0, at, 0, 0, len(notes), 0, 4)
    at += len(notes)
    for start, end, rights, _, _, data in loads:
        flags = 4 + 2 * (rights[1] == 'w') + (rights[2] == 'x')
        segments += struct.pack('<IIQQQQQQ', PT_LOAD, flags, at, start, 0, len(data), end - start,
                                PAGE)
        at += len(data)
    with open(path, 'wb') as core:
        core.write(head + segments + notes)
        for load in loads:
            core.write(load[5])
