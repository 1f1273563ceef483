#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A library exports what its map names and what its public headers declare. Speaks TAP.

usage: symbols.py SHARED STATIC MAP INCLUDE_FLAG... -- HEADER... [-- HEADER...]

STATIC: the archive whose names that are no interface are local; '-' for none
HEADER: its own; after another '--' those of another library, which its own include
"""

import fnmatch
import re
import sys

import tap

MOST = 170  # names that libbunsen may export
MARK = '__attribute__((visibility("default")))'


def exported(library):
    out = tap.said('nm', '-D', '--defined-only', '--format=posix', library)
    symbols = [line.split()[0] for line in out.splitlines() if line.split()[1] != 'A']
    return {symbol.partition('@')[0] for symbol in symbols}, {
        symbol for symbol in symbols if '@@BUNSEN_' not in symbol}


def exported_by_archive(library):
    out = tap.said('nm', '-g', '--defined-only', '--format=posix', library)
    names = {line.split()[0] for line in out.splitlines() if len(line.split()) > 1}
    return {name for name in names if not name.startswith('__odr_asan')}  # a sanitizer's


def named(path):
    with open(path, encoding='utf-8') as text:
        body = re.search(r'global:(.*?)local:', text.read(), re.DOTALL)[1]
    return re.findall(r'([\w*]+);', body)


def declared(flags, headers):
    """Of the headers, preprocessed as where the data path is compiled as symbols."""
    command = ['cc', '-E', '-P', '-x', 'c', '-std=gnu11', f'-DBSN_POST_API={MARK}', *flags]
    for header in headers:
        command += ['-include', header]
    text = tap.said(*command, '/dev/null')
    names = set()
    for declaration in re.split(re.escape(MARK), text)[1:]:
        head = re.match(r'[^;{=(]*', declaration)[0]
        names.add(re.findall(r'\w+', head.split('[')[0])[-1])
    return names


def split(rest):
    """The three lists that are separated by '--'."""
    lists = [[]]
    for word in rest:
        if word == '--':
            lists.append([])
        else:
            lists[-1].append(word)
    return (lists + [[]])[:3]


def main():
    library, archive, path, *rest = sys.argv[1:]
    flags, headers, others = split(rest)
    symbols, unversioned = exported(library)
    patterns, names = named(path), declared(flags, headers) - declared(flags, others)
    checks = {
        'every exported symbol is declared in a public header': symbols - names,
        'what a public header declares is exported': names - symbols,
        'the static library exports the same':
            exported_by_archive(archive) ^ symbols if archive != '-' else [],
        'each line of the map names something': {
            pattern for pattern in patterns if not fnmatch.filter(symbols, pattern)},
        'the map is sorted and says nothing twice': {
            b for a, b in zip(patterns, patterns[1:]) if a >= b},
        f'libbunsen exports {MOST} names at most':
            symbols if 'bsn_poll' in symbols and len(symbols) > MOST else [],
        'every symbol has the version of the map': unversioned,
        'every symbol begins with bsn_': {s for s in symbols if not s.startswith('bsn_')},
    }
    return tap.report((name, sorted(wrong)) for name, wrong in checks.items())


sys.exit(main())
