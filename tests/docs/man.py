#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages: nothing to complain of, examples that compile, no call forgotten. Speaks TAP.

usage: man.py HEADER_FLAG... -- PAGE... -- HEADER...

HEADER: those whose functions must have a page.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap


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
    """What another markup would have meant, and a manual page shows as it is."""
    prose = re.sub(r'^\.EX\n.*?^\.EE$', '', text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r'(?<![\w\\])_[a-z]\w*_(?!\w)|\*\*\w.*?\*\*|`.*?`', prose)


def unescape(line):
    for escape, text in (('\\&', ''), ('\\-', '-'), ('\\(aq', "'"), ('\\(dq', '"'), ('\\e', '\\')):
        line = line.replace(escape, text)
    return line


def examples(text):
    section = re.search(r'^\.SH EXAMPLES\n(.*?)(?=^\.SH|\Z)', text, re.MULTILINE | re.DOTALL)
    blocks = re.findall(r'^\.EX\n(.*?)^\.EE$', section[1] if section else '',
                        re.MULTILINE | re.DOTALL)
    return [''.join(unescape(line) for line in block.splitlines(True)) for block in blocks]


# C++20 has the initializers by name that the examples are written with; the headers are C++17.
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
    section = re.search(r'^\.SH NAME\n(.*?)(?=^\.SH)', text, re.MULTILINE | re.DOTALL)
    return re.findall(r'\w+', section[1].split('\\-')[0])


def functions(headers):
    """What they declare or define for callers; *_layout are behind an inline of the shorter name."""
    found = set()
    for header in headers:
        with open(header, encoding='utf-8') as text:
            found |= set(re.findall(
                r'^(?:BSN_API|BSN_POST_API|static inline)\s[^;{(=]*?(\w+)\s*\(', text.read(),
                re.MULTILINE))
    return {name for name in found if name.startswith('bsn_') and not name.endswith('_layout')}


def main():
    flags, pages, headers = ' '.join(sys.argv[1:]).split(' -- ')
    flags, pages, headers = flags.split(), pages.split(), headers.split()
    results, described = [], set()
    for page in pages:
        name, text = page.rpartition('/')[2], pathlib.Path(page).read_text(encoding='utf-8')
        said = lint(page)
        results.append((f'{name} is well formed' + (
            ' # SKIP neither mandoc nor groff' if said is None else ''), [said] if said else []))
        results.append((f'{name} has no other markup', markdown_in(text)))
        if name.endswith(('.3', '.7')):
            codes = examples(text)
            wrong = ''.join(compile_example(code, flags) for code in codes)
            wrong = wrong if codes else 'no example'
            results.append((f'{name} has examples that compile as C and C++', [wrong] if wrong else []))
        described |= set(names(text))
    missing = functions(headers) - described
    results.append(('each function of the headers has a page', sorted(missing)))
    return tap.report(results)


sys.exit(main())
