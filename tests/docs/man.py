#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages are well formed and complete, and their examples compile. Speaks TAP.

usage: man.py HEADER_FLAG... -- PAGE... -- HEADER...

HEADER: those whose functions and structures must have a page.
"""

import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap
from declared import functions, layouts


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def lint(page):
    """What the two formatters say; None where neither is installed."""
    said = None
    if shutil.which('mandoc'):
        said = (said or '') + run(['mandoc', '-T', 'lint', '-W', 'warning', page]).stdout
    if shutil.which('groff'):
        said = (said or '') + run(['groff', '-ww', '-man', '-Tutf8', '-z', page]).stderr
    return said


def markdown_in(text):
    """Markup of other languages, which a manual page would print as it is."""
    prose = re.sub(r'^\.EX\n.*?^\.EE$', '', text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r'(?<![\w\\])_[a-z]\w*_(?!\w)|\*\*\w.*?\*\*|`.*?`', prose)


def unescape(line):
    for escape, text in (('\\&', ''), ('\\-', '-'), ('\\(aq', "'"), ('\\(dq', '"'), ('\\e', '\\')):
        line = line.replace(escape, text)
    return line


def section(text, name):
    """The text below a heading, '' if there is none."""
    found = re.search(rf'^\.SH {name}\n(.*?)(?=^\.SH|\Z)', text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ''


def listings(text):
    """The listings of a page that are C."""
    blocks = re.findall(r'^\.EX\n(.*?)^\.EE$', text, re.MULTILINE | re.DOTALL)
    return [''.join(unescape(line) for line in block.splitlines(True)) for block in blocks]


def lacks(text):
    """What a page of calls lacks: each errno, in a paragraph with a tag, and an example."""
    errors = section(text, 'ERRORS')
    tags = re.findall(r'^\.TP\n(.*)\n', errors, re.MULTILINE)
    wrong = [] if tags else ['no section ERRORS with a list']
    wrong += [f'no errno: {tag}' for tag in tags
              if not re.search(r'\\fB\\-E[A-Z]+|\\fBIBV_WC_', tag)]
    has_example = '.EX' in section(text, 'EXAMPLES')
    return wrong + ([] if has_example else ['no section EXAMPLES with a listing'])


def shown(text):
    """The layouts that a page shows before its examples."""
    return layouts('\n'.join(listings(text.partition('.SH EXAMPLES')[0])))


def differs(page, header):
    """The structures whose members in a page differ from those in the header."""
    return [f'{name}: {mine} is {theirs} in the header' for name in page
            for mine, theirs in itertools.zip_longest(page[name], header.get(name, ['unknown']),
                                                      fillvalue='nothing')
            if mine != theirs]


# The examples use initializers by name, which C++ has since C++20; the headers are C++17.
LANGUAGES = {
    '.c': ['cc', '-std=c11', '-Wextra'],
    '.cpp': ['c++', '-std=c++20', '-Wextra', '-Wno-missing-field-initializers'],
}


def compile_example(source, flags):
    """What each compiler says; one that is not installed says nothing."""
    said = ''
    with tempfile.TemporaryDirectory() as folder:
        for suffix, compiler in LANGUAGES.items():
            path = pathlib.Path(folder, 'example').with_suffix(suffix)
            path.write_text(source, encoding='utf-8')
            if shutil.which(compiler[0]):
                said += run([*compiler, '-O1', '-Wall', '-Wpedantic', '-Werror', *flags,
                             '-c', path, '-o', path.with_suffix('.o')]).stderr
    return said


def names(text):
    return re.findall(r'\w+', section(text, 'NAME').split('\\-')[0])


# Structures that only the library reads, or a program that reads its memory.
PRIVATE = {'struct bsn_registry', 'struct bsn_registry_queue'}


def texts(paths):
    return '\n'.join(pathlib.Path(path).read_text(encoding='utf-8') for path in paths)


def main():
    flags, pages, headers = ' '.join(sys.argv[1:]).split(' -- ')
    flags, pages, headers = flags.split(), pages.split(), headers.split()
    header = layouts(texts(path for flag in flags
                           for path in pathlib.Path(flag[2:]).glob('bsn*.h')))
    declared = texts(headers)
    results, described, laid_out = [], set(), set()
    for page in pages:
        name, text = page.rpartition('/')[2], pathlib.Path(page).read_text(encoding='utf-8')
        said = lint(page)
        results.append((f'{name} is well formed' + (
            ' # SKIP neither mandoc nor groff' if said is None else ''), [said] if said else []))
        results.append((f'{name} has no other markup', markdown_in(text)))
        if name.endswith(('.3', '.7')):
            codes = listings(section(text, 'EXAMPLES'))
            wrong = ''.join(compile_example(code, flags) for code in codes)
            wrong = wrong if codes else 'no example'
            results.append((f'{name} has examples that compile as C and C++',
                            [wrong] if wrong else []))
        if name.endswith('.3'):
            results.append((f'{name} says what fails, and shows an example', lacks(text)))
            results.append((f'{name} lays structures out as the headers do',
                            differs(shown(text), header)))
            laid_out |= set(shown(text))
        described |= set(names(text))
    structures = {name for name in layouts(declared) if name.startswith('struct ')} - PRIVATE
    results.append(('each function of the headers has a page',
                    sorted(functions(declared) - described)))
    results.append(('each structure of the headers is laid out', sorted(structures - laid_out)))
    return tap.report(results)


sys.exit(main())
