#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines have at most 100 columns, files 600 lines, functions 60; few macros define functions.

usage: house.py SOURCE_ROOT; speaks TAP

The tables below name what may have more. An entry that nothing needs any more is a failure.
"""

import ast
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap
import tracked

if len(sys.argv) != 2:
    sys.exit(__doc__.strip())
ROOT = pathlib.Path(sys.argv[1])
COLUMNS, TAB, FILE, FUNCTION, MACROS = 100, 8, 600, 60, 5
READ = re.compile(r'\.([ch]|cpp|py|sh|md|[1-9])$|(^|/)meson\.build$')

# What is kept as it was.
KEPT = re.compile('tests/(golden|bad|fuzz/corpus|abi/1.0)/')

# Tables of facts and generated pages, whose rows would be harder to read if they were broken.
FACTS = {
    'wqe/LAYOUT.md': 'generated from the tables',
    'wqe/bsn_cmd.h': 'a row for each field of each command',
    'wqe/ops.c': 'a row for each operation',
    'tools/softcx/shim/access_x86.c': 'a row for each instruction',
    'tests/softcx/stores.h': 'a row for each store instruction, in assembly',
}

# What is not yet short enough: it shrinks, and nothing is added.
# How many lines of a folder are too long.
LONG_LINES = {
    'tools/wqe-dump/': 16,
}

LONG_FILES = []

LONG_FUNCTIONS = []


def texts():
    """(name, lines) of each file that is read by people."""
    for path in tracked.files(ROOT):
        name = str(path.relative_to(ROOT))
        is_script = not path.suffix and path.read_bytes()[:2] == b'#!'
        if (READ.search(name) or is_script) and not KEPT.match(name):
            yield name, path.read_text(encoding='utf-8').splitlines()


TEXTS = dict(texts())


def too_long(name, line):
    """Whether a line is: a row of a table of Markdown, or a link alone, cannot be broken."""
    if name.endswith('.md') and re.match(r'\||\S+$', line):
        return False
    return len(line.expandtabs(TAB)) > COLUMNS


def functions(name, lines):
    """(name, first line, count of lines) of each function."""
    if name.endswith('.py') or lines[0].endswith('python3'):
        for node in ast.walk(ast.parse('\n'.join(lines))):
            if isinstance(node, ast.FunctionDef):
                yield node.name, node.lineno, node.end_lineno - node.lineno + 1
    elif re.search(r'\.([ch]|cpp)$', name):
        yield from functions_of_c(lines)
    elif lines[0].startswith('#!'):
        for first, line in enumerate(lines, 1):
            if found := re.match(r'(\w+)\(\)', line):
                yield found[1], first, lines.index('}', first) - first + 2


def functions_of_c(lines):
    """A body begins and ends with a brace in the first column; the head is what is before it."""
    for brace in (at for at, line in enumerate(lines) if line == '{'):
        first = brace
        while first and re.match(r'(?!#|/\*| \*).*[^;}]$', lines[first - 1]):
            first -= 1
        head = re.sub(r'__attribute__\(\(.*?\)\)', '', ' '.join(lines[first:brace]))
        found = re.search(r'(\w+)\)?\(', head)
        yield found[1], first + 1, lines.index('}', brace) - first + 1


def room_of(name):
    """The folder of LONG_LINES that a file is in: the longest one."""
    return max((room for room in LONG_LINES if name.startswith(room)), key=len, default=None)


def check_lines_have_at_most_100_columns():
    found = {}
    for name, lines in TEXTS.items():
        if name not in FACTS:
            found.setdefault(room_of(name), []).extend(
                f'{name}:{number}: {len(line.expandtabs(TAB))} columns'
                for number, line in enumerate(lines, 1) if too_long(name, line))
    wrong = found.pop(None, [])
    for room, most in LONG_LINES.items():
        now = found.get(room, [])
        if len(now) > most:
            wrong += [f'{room}: {len(now)} long lines, {most} are allowed until it has none', *now]
        if not now:
            wrong.append(f'{room} has no long line any more: remove it from LONG_LINES')
    return wrong


def compare(found, allowed, table):
    """What is found, but not allowed, and what is allowed, but not found."""
    return [text for key, text in found.items() if key not in allowed] + [
        f'{key} is short enough: remove it from {table}' for key in allowed if key not in found]


def check_files_have_at_most_600_lines():
    found = {name: f'{name}: {len(lines)} lines' for name, lines in TEXTS.items()
             if len(lines) > FILE and name not in FACTS}
    return compare(found, LONG_FILES, 'LONG_FILES')


def check_functions_have_at_most_60_lines():
    found = {}
    for name, lines in TEXTS.items():
        for function, first, count in functions(name, lines) if lines else ():
            if count > FUNCTION:
                found[f'{name} {function}'] = f'{name}:{first}: {function} has {count} lines'
    return compare(found, LONG_FUNCTIONS, 'LONG_FUNCTIONS')


def check_few_macros_define_functions():
    """Of the library; wqe's generator is none of them."""
    macro = re.compile(r'^#define (\w+)\(((?:.*\\\n)*.*)', re.MULTILINE)
    found = [f'{name}: {define[1]}' for name, lines in TEXTS.items()
             if re.match(r'(dv|engine)/.*\.[ch]$', name)
             for define in macro.finditer('\n'.join(lines))
             if re.search(r'\w[\w*]* \*?[\w#]+\([^;{}]*\)[\s\\]*\{', define[2])
             and 'do' not in define[2].split()]
    return found if len(found) > MACROS else []


def check_facts_need_their_room():
    return [f'{name} needs no exception: remove it from FACTS' for name in FACTS
            if len(TEXTS.get(name, [])) <= FILE
            and not any(too_long(name, line) for line in TEXTS.get(name, []))]


sys.exit(tap.report_checks(globals()))
