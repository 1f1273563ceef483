# SPDX-License-Identifier: BSD-2-Clause
"""Dumps for the tests of wqe-dump: golden bytes in every shape, and the program itself."""

import pathlib
import quopri
import subprocess
import sys

from harness import check, parse_json

DUMP = sys.argv[1]
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / 'golden/wqe'
REMOTE_ACCESS = ['00000000 00000000 00000000 00000000',
                 '00000000 00000000 00000000 00000000',
                 '00000007 00000000 00000000 00000000',
                 '00000000 00008813 080000c7 012400d1']


def run(text, *args):
    """Runs wqe-dump with a text, or with bytes, on standard input."""
    data = text if isinstance(text, bytes) else text.encode()
    return subprocess.run([DUMP, *args], input=data, capture_output=True, timeout=60, check=False)


def look(text, *args):
    return parse_json(run(text, '--json', *args).stdout)


def dump(text, *args, status=0):
    done = run(text, '--json', *args)
    check(done.returncode == status, f'{done.returncode}: {done.stderr.decode()}')
    return parse_json(done.stdout)


def only(text, *args):
    report = dump(text, *args)
    check(len(report['records']) == 1 and not report['unread'], report)
    return report['records'][0]


def libmlx5(prefix=''):
    return [prefix + line for line in ['mlx5: node7: got completion with error:', *REMOTE_ACCESS]]


def read_golden(path):
    """What a file of tests/golden/wqe has: its kind, as "send RC", in words, and the bytes."""
    kind, *rows_of = (line for line in path.read_text().splitlines() if line and line[0] != '#')
    return kind.split(), bytes.fromhex(''.join(rows_of))


def golden(name):
    return read_golden(GOLDEN / f'{name}.hex')[1]


def rows(data, size=16):
    return [data[at:at + size] for at in range(0, len(data), size)]


def words(row, size, fmt='{}', order='big'):
    if order == 'little' and size > 1:
        row = b''.join(word[::-1] for word in rows(row, size))
    digits = row.hex(' ', -size).split()
    return digits if fmt == '{}' else [fmt.format(word) for word in digits]


ASCII = bytes(byte if 32 <= byte < 127 else ord('.') for byte in range(256))


def ascii_of(row):
    return row.translate(ASCII).decode('ascii')


def by_rows(line, size=16):
    return lambda data: '\n'.join(line(row, at * size) for at, row in enumerate(rows(data, size)))


def hexdump_c(row, at):
    text = ' '.join(words(row[:8], 1)) + '  ' + ' '.join(words(row[8:], 1))
    return f'{at:08x}  {text:<48}  |{ascii_of(row)}|'


def xxd(row, at):
    return f'{at:08x}: {" ".join(words(row, 2)):<39}  {ascii_of(row)}'


def broken(width, shape='dwords'):
    return lambda data: '\n'.join(rows(SHAPES[shape](data).replace('\n', ' '), width))


def quoted_printable(data):
    text = ' '.join(words(data, 4, '0x{}')).encode()
    return 'See =3D below=\n' + quopri.encodestring(text).decode()


SHAPES = {
    'dwords': by_rows(lambda row, _: ' '.join(words(row, 4))),
    'one dword a line': by_rows(lambda row, _: words(row, 4)[0], 4),
    'dwords, 0x': by_rows(lambda row, _: ' '.join(words(row, 4, '0x{}'))),
    'dwords, upper case, commas': by_rows(lambda row, _: ', '.join(words(row, 4)).upper() + ','),
    'dwords of C': by_rows(lambda row, _: '\t' + ', '.join(words(row, 4, '0x{}')) + ','),
    'eight dwords a line': by_rows(lambda row, _: ' '.join(words(row, 4)), 32),
    'dwords, offset': by_rows(lambda row, at: f'{at:08x} ' + ' '.join(words(row, 4))),
    'dwords, offset, colon': by_rows(lambda row, at: f'0x{at:x}: ' + ' '.join(words(row, 4))),
    'dwords, index': by_rows(lambda row, at: f'[{at // 16}] ' + ' '.join(words(row, 4))),
    'quadwords': by_rows(lambda row, _: ' '.join(words(row, 8))),
    'bytes': by_rows(lambda row, _: ' '.join(words(row, 1))),
    'bytes, 0x, commas': by_rows(lambda row, _: ', '.join(words(row, 1, '0x{}'))),
    'bytes, offset': by_rows(lambda row, at: f'{at:04x}: ' + ' '.join(words(row, 1))),
    'bytes, colons': by_rows(lambda row, _: ':'.join(words(row, 1))),
    'bytes of Python': lambda data: "b'" + ''.join(words(data, 1, '\\x{}')) + "'",
    'bytes, 32 a line': by_rows(lambda row, _: ' '.join(words(row, 1)), 32),
    'print_hex_dump': by_rows(lambda row, at: f'[  12.345678] cqe: {at:08x}: ' +
                              ' '.join(words(row, 1))),
    'print_hex_dump, ASCII': by_rows(lambda row, at: f'{at:08x}: {" ".join(words(row, 1))}  ' +
                                     ascii_of(row)),
    'one string': lambda data: data.hex(),
    'one string, 0x': lambda data: '0x' + data.hex(),
    'xxd': by_rows(xxd),
    'xxd -g4 -c10': by_rows(lambda row, at: f'{at:08x}: {" ".join(words(row, 4)):<23}  ' +
                            ascii_of(row), 10),
    'xxd -p': by_rows(lambda row, _: row.hex(), 30),
    'hexdump -C': by_rows(hexdump_c),
    'hexdump': by_rows(lambda row, at: f'{at:07x} ' + ' '.join(words(row, 2, order='little'))),
    'od -tx4': by_rows(lambda row, at: f'{at:07o} ' + ' '.join(words(row, 4, order='little'))),
    'od -tx1': by_rows(lambda row, at: f'{at:07o} ' + ' '.join(words(row, 1))),
    'gdb': by_rows(lambda row, at: f'{0x7ffd40 + at:#x}:\t' +
                   '\t'.join(words(row, 4, '0x{}', 'little'))),
    'gdb, symbol': by_rows(lambda row, at: f'{0x7ffd40 + at:#x} <ring+{at}>:\t' +
                           '\t'.join(words(row, 4, '0x{}', 'little'))),
    'mail that quotes': by_rows(lambda row, _: '> > ' + ' '.join(words(row, 4))),
    'mail that quotes, one dword a line': by_rows(lambda row, _: '> ' + words(row, 4)[0], 4),
    'two dwords a line of a log': by_rows(lambda row, at: f'[ 12.{at:03}] ' +
                                          ' '.join(words(row, 4)), 8),
    'wrapped at a blank': lambda data: '\n'.join(
        ' '.join(part) for part in rows(words(data, 4), 3)),
    'no newline, carriage returns': lambda data: SHAPES['dwords'](data).replace('\n', '\r\n'),
    'quoted-printable': quoted_printable,
    **{f'broken after {width}': broken(width) for width in (7, 10, 13, 22, 31)},
    'offsets, broken after 21': broken(21, 'bytes, offset'),
}


def goldens(kind):
    """Name, and the words of its kind, of those of a kind; None: of all."""
    for path in sorted(GOLDEN.glob('*.hex')):
        words_of, _ = read_golden(path)
        if kind in (None, words_of[0]):
            yield path.stem, words_of


def send_ring(count, first, qpn=0xc7):
    """WQEs of 1 and 3 basic blocks by turns, up to the end of a ring and round it."""
    long, short = golden('umr_list'), golden('rdma_write')
    ring, index = bytearray(64 * count), first
    while index < first + count - 4:
        wqe = bytearray(long if index % 4 == 0 else short)
        wqe[1:3] = (index & 0xffff).to_bytes(2, 'big')
        wqe[4:7] = qpn.to_bytes(3, 'big')
        at = index % count * 64
        fits = min(len(wqe), len(ring) - at)
        ring[at:at + fits] = wqe[:fits]
        ring[:len(wqe) - fits] = wqe[fits:]
        index += (len(wqe) + 63) // 64
    return bytes(ring)


def error_of(qpn, index):
    cqe = bytearray(golden('cqe_err_remote_access'))
    cqe[57:60], cqe[60:62] = qpn.to_bytes(3, 'big'), index.to_bytes(2, 'big')
    return SHAPES['dwords'](bytes(cqe)) + '\n'


def ring_of(qpn, first):
    return SHAPES['dwords'](send_ring(16, first, qpn)) + '\n'
