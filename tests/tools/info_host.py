# SPDX-License-Identifier: BSD-2-Clause
"""Recorded hosts as text (tests/golden/bsn-info): unpacks them for bsn-info --root."""

import contextlib
import os
import pathlib
import struct
import tempfile

NLA_F_NESTED = 1 << 15


def attribute(kind, payload):
    return struct.pack('=HH', 4 + len(payload), kind) + payload + b'\0' * (-len(payload) % 4)


def message(kind, payload):
    return struct.pack('=IHHII', 16 + len(payload), kind, 0, 1, 0) + payload


def dcb(on, sent=(), received=()):
    """What linux/dcbnl.h says of the reply: struct ieee_pfc in DCB_ATTR_IEEE."""
    frames = [*sent, *[0] * (8 - len(sent)), *received, *[0] * (8 - len(received))]
    pfc = struct.pack('=BBBxHxx8Q8Q', 8, on, 0, 0, *frames)
    ieee = attribute(13 | NLA_F_NESTED, attribute(2, pfc))
    return message(78, struct.pack('=BBH', 0, 23, 0) + attribute(1, b'eth0\0') + ieee)


def pause(rx, tx, frames=0):
    """linux/ethtool_netlink.h: ETHTOOL_MSG_PAUSE_GET_REPLY, with its statistics."""
    header = attribute(1 | NLA_F_NESTED, attribute(2, b'eth0\0'))
    stats = attribute(5 | NLA_F_NESTED, attribute(2, struct.pack('=Q', frames)) +
                      attribute(3, struct.pack('=Q', frames)))
    flags = b''.join(attribute(kind, bytes([on])) for kind, on in ((2, 0), (3, rx), (4, tx)))
    return message(30, struct.pack('=BBH', 22, 1, 0) + header + flags + stats)


def error(number):
    return message(2, struct.pack('=i', -number) + struct.pack('=IHHII', 16, 78, 1, 1, 0))


def config(control, first=0x60, after=0):
    """The first 256 bytes of configuration space, with a PCI Express capability."""
    space = bytearray(256)
    struct.pack_into('<HHHH', space, 0, 0x15b3, 0x101b, 0x0406, 0x0010)
    space[0x34] = first
    space[0x40:0x42] = bytes([0x11, 0x40])  # one that is its own successor
    space[0x60:0x62] = bytes([0x10, after])
    struct.pack_into('<H', space, 0x68, control)
    return bytes(space)


BUILDERS = {
    'config': lambda words: config(int(words[0], 0)),
    'header': lambda _words: config(0)[:64],
    'loop': lambda _words: config(0, first=0x40),
    'dcb': lambda words: dcb(int(words[0], 0)),
    'pause': lambda words: pause(int(words[0]), int(words[1])),
    'error': lambda words: error(int(words[0])),
    'bytes': lambda words: bytes.fromhex(''.join(words)),
}


def content(text):
    """Bytes, or None for a file that is not there."""
    if text == '!none':
        return None
    if text.startswith('!') and text != '!locked':
        name, *words = text[1:].split()
        return BUILDERS[name](words)
    return text.replace('\\n', '\n').replace('\\t', '\t').encode() + b'\n'


def files_of(lines):
    """{path: text} of the lines PATH = TEXT."""
    files = {}
    for line in lines:
        if line.strip() and not line.startswith('#'):
            path, _, text = line.partition(' =')
            files[path] = text.strip()
    return files


def write(root, path, data):
    """A file of the recording; at once, since somebody may be reading. None: there is none."""
    file = pathlib.Path(root, path)
    if data is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_name('.new').write_bytes(data)
    file.with_name('.new').rename(file)


@contextlib.contextmanager
def host(files=None):
    """A recording's folder: in memory, since it has many small files."""
    shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shm) as root:
        for path, text in (files or {}).items():
            write(root, path, content(text))
            if text == '!locked':
                pathlib.Path(root, path).chmod(0)
        yield root


def cases_of(lines):
    """(status, check, subject, text, {path: text}) of each case of sick.cases."""
    cases = []
    for line in lines:
        if line.startswith('['):
            head, _, text = line[1:].partition('] ')
            cases.append((*head.split(), text.strip(), []))
        elif cases:
            cases[-1][-1].append(line)
    return [(*case[:-1], files_of(case[-1])) for case in cases]
