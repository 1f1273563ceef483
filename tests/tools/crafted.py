#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The memory of a process that lists queues, and core files of it: whole ones, and harmful ones.

usage: crafted.py FOLDER: writes them as the corpus of the fuzz targets, FOLDER/core and
FOLDER/registry; prints their names
"""

import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE, PAGE = 0x400000, 0x1000
PT_LOAD, PT_NOTE, NT_FILE, NT_BUILD_ID = 1, 4, 0x46494c45, 3
TOP = 1 << 64

# Where things are in the memory, from BASE on.
BUILD_ID, BUNSEN, REGISTRY, QUEUES = 0x200, 0x240, 0x280, 0x300
COUNTERS, FAILURE, SENDS, RECVS, SHARED, CQES, END = 0x600, 0x640, 0x700, 0x900, 0x980, 0xa80, 0xc80
SLOTS, QPN, CQN, SRQN, QUEUE_BYTES = 8, 0x1234, 0x55, 0x66, 160


def version(header, name):
    return int(re.search(rf'define {name} +(\d+)', (ROOT / header).read_text())[1])


def note(kind, name, desc):
    name += b'\0'
    return struct.pack('<III', len(name), len(desc), kind) + b''.join(
        part + bytes(-len(part) % 4) for part in (name, desc))


def elf_header(kind, segments):
    """More than 65,534 segments are counted in a section header, after the segments' headers."""
    more = 64 + 56 * segments if segments >= 0xffff else 0
    return struct.pack('<4sBBBB8xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, 0, kind, 62, 1, 0, 64, more,
                       0, 64,
                       56, min(segments, 0xffff), 64 * bool(more), bool(more), 0)


def segment(kind, offset, address, file_bytes, memory_bytes, flags=4):
    return struct.pack('<IIQQQQQQ', kind, flags, offset, address, address, file_bytes,
                       memory_bytes, 4)


def write_wqe(index):
    return (struct.pack('>IIII', index << 8 | 8, QPN << 8 | 3, 8, 0) +
            struct.pack('>QII', 0x7f11, 0x301, 0) +
            struct.pack('>IIQ', 64, 0x201, 0x5000)).ljust(64, b'\0')


def cqe(opcode, index):
    """Of a request; 13: one that failed."""
    return struct.pack('>54xBBIHBB', 0x88 if opcode == 13 else 0, 0x13 if opcode == 13 else 0,
                       8 << 24 | QPN, index, 0, opcode << 4)


def queue(nth, last, **fields):
    """An entry of the list; what is said of it goes before."""
    at = BASE + COUNTERS
    values = {'next': 0 if last else BASE + QUEUES + (nth + 1) * QUEUE_BYTES, 'kind': nth,
              'number': QPN,
              'transport': 0, 'cqn': CQN, 'ring': 0, 'record': at, 'count': SLOTS, 'stride': 64,
              'used': 0, 'srqn': 0, 'producer': at + 4, 'consumer': at + 8, 'start': at + 16,
              'lap': at + 24, 'first_error': 0, 'device': b'mlx5_0', **fields}
    return struct.pack('<QIIIIQQIIIIQQQQQ64s', *values.values())


def memory(queues=None, **head):
    """The first page of an image, its registry, four queues, and their rings."""
    shown = queues or [{'ring': BASE + SENDS, 'first_error': BASE + FAILURE},
                       {'ring': BASE + RECVS, 'stride': 16, 'producer': BASE + COUNTERS + 28,
                        'consumer': BASE + COUNTERS + 40, 'record': BASE + COUNTERS + 36},
                       {'ring': BASE + SHARED, 'number': SRQN, 'stride': 32, 'used': 6,
                        'consumer': BASE + COUNTERS + 30},
                       {'ring': BASE + CQES, 'number': CQN, 'record': BASE + COUNTERS + 40,
                        'consumer': BASE + COUNTERS + 48, 'start': BASE + COUNTERS + 40}]
    values = {'magic': 0x65756575714e5342,
              'version': version('engine/bsn_registry.h', 'BSN_REGISTRY_VERSION'),
              'layout': version('dv/bsn_hot.h', 'BSN_LAYOUT_VERSION'), 'self': BASE + REGISTRY,
              'generation': 2,
              'first': BASE + QUEUES, 'count': len(shown), **head}
    bunsen = note(1, b'Bunsen', struct.pack('<q', REGISTRY - (BUNSEN + 20)))
    build_id = note(NT_BUILD_ID, b'GNU', bytes(range(20)))
    image = bytearray(END)

    def put(at, data):
        image[at:at + len(data)] = data
    put(0, elf_header(3, 3) + segment(PT_LOAD, 0, 0, END, END) +
        segment(PT_NOTE, BUILD_ID, BUILD_ID, len(build_id), len(build_id)) +
        segment(PT_NOTE, BUNSEN, BUNSEN, len(bunsen), len(bunsen)))
    put(BUILD_ID, build_id)
    put(BUNSEN, bunsen)
    put(REGISTRY, struct.pack('<QIIQQQQ', *values.values()))
    put(QUEUES, b''.join(queue(nth, nth == len(shown) - 1, **{'kind': nth % 4, **of})
                         for nth, of in enumerate(shown)))
    # SEND: record, producer, done, start, lap; RECV: producer, record, consumer; SRQ, CQ: next
    put(COUNTERS, struct.pack('>I', 3) + struct.pack('<I', 4) + struct.pack('<IIII', 0, 0, 0, 0))
    put(COUNTERS + 24, struct.pack('<IHHI', 0, 2, 1, 0) + struct.pack('>I', 2) + bytes(8))
    put(COUNTERS + 48, struct.pack('<Q', BASE + CQES))
    put(FAILURE, struct.pack('<QQIBBBBI', 7, 0, 0, 10, 0, 0x13, 0x88, 8 << 24 | QPN))
    for i in range(SLOTS):
        put(SENDS + i * 64, write_wqe(i))
        put(RECVS + i * 16, struct.pack('>IIQ', 64, 0x201, 0x6000 + i))
        put(SHARED + i * 32, struct.pack('>HH12xIIQ', 0, i + 1 if i + 1 < 6 else 0xffff, 64, 0x201,
                                         0x7000))
        put(CQES + i * 64, cqe(13 if i == 2 else 0 if i < 2 else 15, i))
    return bytes(image)


def files(*entries):
    """The note of what was mapped: (start, end, offset in pages, path)."""
    return note(NT_FILE, b'CORE', struct.pack('<QQ', len(entries), PAGE) +
                b''.join(struct.pack('<QQQ', *entry[:3]) for entry in entries) +
                b''.join(entry[3] + b'\0' for entry in entries))


def core(loads, notes=b''):
    """loads: (address, bytes in memory, flags, data), or (offset, size in the file) for data."""
    segments = 1 + len(loads)
    counter = struct.pack('<44xI16x', segments) if segments >= 0xffff else b''
    at = 64 + 56 * segments + len(counter)
    head, body = [elf_header(4, segments), segment(PT_NOTE, at, 0, len(notes), 0)], [notes]
    at += len(notes)
    for address, size, flags, data in loads:
        if isinstance(data, tuple):
            head.append(segment(PT_LOAD, *data[:1], address, data[1], size, flags))
            continue
        head.append(segment(PT_LOAD, at, address, len(data), size, flags))
        body.append(data)
        at += len(data)
    return b''.join([*head, counter, *body])


def core_of_file(path, dumped=0x240):
    """The image is in a file, whose first bytes were dumped: as far as the build-id."""
    image = memory()
    return core([(BASE, QUEUES, 4, image[:dumped]),
                 (BASE + QUEUES, END - QUEUES, 6, image[QUEUES:])],
                files((BASE, BASE + QUEUES, 0, path)))


MANY = [{'kind': kind, 'ring': BASE, 'count': 1 << 15, 'stride': 1 << 14} for kind in (2, 2, 2)]
CORES = {
    'whole': core([(BASE, PAGE, 6, memory())]),
    'wraps': core([(BASE, PAGE, 4, memory()),
                   (BASE + PAGE, 0x10000, 4, (TOP - 0x8000, 0x10000))]),
    'image-that-wraps': core([(BASE, 0x10000, 4, (TOP - 0x8000, 0x10000))]),
    'memory-that-wraps': core([(TOP - PAGE, TOP - 1, 4, memory())]),
    'longer-than-memory': core([(BASE, 64, 4, (0, TOP - 1))]),
    'overlapping': core([(BASE, PAGE, 6, memory()), (BASE, TOP - 1, 4, (64, 64))]),
    'files-that-wrap': core([(BASE, PAGE, 4, b'')],
                            files((BASE, BASE + PAGE, TOP - 1, b'/bin/true'),
                                                          (BASE + 1, BASE, 1, b'/bin/true'))),
    'files-without-an-end': core([(BASE, PAGE, 4, b'')],
                                 note(NT_FILE, b'CORE', struct.pack('<QQ', TOP - 1, PAGE))),
    'in-a-file': core_of_file(b'/proc/self/exe'),
    'notes-without-an-end': core([(BASE, PAGE, 6, memory())],
                                 struct.pack('<III', TOP - 1 >> 32, 8, 1)),
}
MEMORIES = {
    'whole': memory(),
    'rings-larger-than-memory': memory(MANY),
    'cqes-larger-than-memory': memory([{'kind': 3, 'ring': BASE, 'count': 1 << 22, 'stride': 128}]),
    'a-circle': memory([{'next': BASE + QUEUES}], count=1 << 40),
    'strides': memory([{'ring': BASE + SENDS, 'stride': 0},
                       {'ring': BASE, 'stride': 1 << 31, 'count': 2}]),
    'far-away': memory([{'ring': TOP - 64, 'producer': TOP - 1, 'lap': 1}]),
    'no-such-kind': memory([{'kind': 1 << 31, 'ring': BASE}]),
    'free-slots': memory([{'kind': 2, 'ring': BASE + SHARED, 'stride': 32, 'used': 9}]),
}


# Of fuzz_registry.c: each (read, value, place) changes a byte before that read; bits: options.
CHANGES = [(), ((9, 64, QUEUES + 40),),
           ((60, 64, QUEUES + 2 * QUEUE_BYTES + 40), (61, 9, REGISTRY + 24))]


def inputs():
    """The corpus: each file's name and bytes."""
    yield from ((f'core/{case}', data) for case, data in CORES.items())
    for case, data in MEMORIES.items():
        for options, changes in enumerate(CHANGES):
            more = b''.join(struct.pack('<BBH', *change) for change in changes).ljust(32, b'\0')
            yield f'registry/{case}-{options}', data + more + bytes([options])


def main(folder):
    for name, data in inputs():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(path)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
