#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What holds for every file of the tree, and whether the documents name what is there. Speaks TAP.

usage: tree.py SOURCE_ROOT BUILD_ROOT
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import tap
import tracked

ROOT = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
DOCUMENTS = ['README.md', 'CONTRIBUTING.md',
             *sorted(str(path.relative_to(ROOT)) for pattern in ('engine/doc/*.md', 'tests/*/*.md')
                     for path in ROOT.glob(pattern))]
LAYERS = ['wqe', 'dv', 'engine', 'tools', 'tests']

# Files whose form has no room for the line; LICENSE covers them.
WITHOUT_SPDX = re.compile(r'\.(md|json|txt|hex|bin|map|plan|xml)$'
                          r'|^(LICENSE|meson_options\.txt)$'
                          r'|^\.(gitignore|clang-format|editorconfig)$'
                          r'|^tests/(golden|bad|fuzz)/|^debian/')


def files():
    return tracked.files(ROOT)


def name(path):
    return str(path.relative_to(ROOT))


def texts():
    for path in files():
        try:
            yield name(path), path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            pass


def check_spdx():
    return [f'{path}: no SPDX line' for path, text in texts()
            if not WITHOUT_SPDX.search(path)
            and 'SPDX-License-Identifier: BSD-2-Clause' not in '\n'.join(text.split('\n')[:3])]


def packages_of(*options):
    return set(tap.said(ROOT / 'tools/setup', '--list', *options).split())


def check_what_packages_are_built_with():
    """debian/control names what tools/setup installs by itself, and optional parts of --all."""
    # Where packages are built there is a compiler; a provider is for running.
    wanted = packages_of() - {'gcc', 'libc6-dev', 'ibverbs-providers'}
    control = (ROOT / 'debian/control').read_text(encoding='utf-8')
    depends = re.search(r'^Build-Depends:(.*(?:\n .*)*)', control, re.MULTILINE)[1]
    got = {re.sub(r'\(.*', '', name).strip() for name in depends.split(',')} - {'debhelper-compat'}
    return ([f'{name}: not in debian/control' for name in sorted(wanted - got)]
            + [f'{name}: not of tools/setup --all' for name in sorted(got - packages_of('--all'))])


def check_tests_are_not_installed_with():
    """No target of tests/ is built by default, so that `meson install` builds none."""
    targets = json.loads(tap.said('meson', 'introspect', '--targets', BUILD))
    folder = str(ROOT / 'tests')
    wrong = [f"{target['name']}: built by default" for target in targets
             if target['defined_in'].startswith(folder) and target['build_by_default']]
    built = re.search(r'^build all: phony (.*)$', (BUILD / 'build.ninja').read_text(), re.MULTILINE)
    return wrong + [f'{name}: built by default' for name in built[1].split()
                    if re.match('tests/|meson-(test|benchmark)-prereq', name)]


def check_no_machine_paths():
    """No path that exists only where somebody happened to work."""
    # Spelt so that this file does not find itself.
    forbidden = re.compile('/' + r'(work|home|Users|root|tmp/(src|brief))/\w')
    return [f'{path}:{number}: {line.strip()}' for path, text in texts()
            for number, line in enumerate(text.split('\n'), 1) if forbidden.search(line)]


def check_whitespace():
    wrong = []
    for path, text in texts():
        if re.match(r'tests/(golden|bad|fuzz)/', path):
            continue
        if text and not text.endswith('\n'):
            wrong.append(f'{path}: no newline at its end')
        wrong += [f'{path}:{number}: blank at the end of the line'
                  for number, line in enumerate(text.split('\n'), 1) if line != line.rstrip()]
    return wrong


def check_headers_installed():
    """A header is public if and only if its name starts with bsn_ (or is bsn.h)."""
    plan = json.loads(tap.said('meson', 'introspect', '--installed', BUILD))
    installed = {str(pathlib.Path(source).resolve()) for source in plan if source.endswith('.h')}
    left_out = tuple(f'engine/{part}/' for part in ('eal', 'ucm')
                     if not any(f'libbunsen-{part}.so' in source for source in plan))
    public = {str(path.resolve()) for path in files()
              if re.fullmatch(r'bsn(_\w+)?\.h', path.name)
              and name(path).split('/')[0] in ('wqe', 'dv', 'engine')
              and not name(path).startswith(left_out)}
    return ([f'{path}: public, not installed' for path in sorted(public - installed)] +
            [f'{path}: installed, not public' for path in sorted(installed - public)])


def check_examples_are_described():
    """Each example has its section, and each section its example."""
    parts = {'connect', 'connect_cm', 'loop', 'ranks', 'tutorial_verbs'}
    there = {path.name if path.suffix == '.py' else path.stem
             for path in (ROOT / 'tools/examples').iterdir()
             if path.suffix in ('.c', '.cpp', '.py')} - parts
    text = (ROOT / 'engine/doc/examples.md').read_text(encoding='utf-8')
    told = {one for heading in re.findall(r'^### (.*)$', text, re.MULTILINE)
            for one in heading.split(', ')}
    return [f'{one}: not both in tools/examples/ and in engine/doc/examples.md'
            for one in sorted(there ^ told)]


MOST_HEADERS = 15 # that a program may name


def named_headers():
    """Those that bunsen(7) says programs include."""
    page = (ROOT / 'engine/man/bunsen.7').read_text(encoding='utf-8')
    listed = re.search(r'^\.SH HEADERS\n(.*?)^\.SH', page, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r'^\.TP\n\\fB(bsn\w*\.h)\\fP$', listed, re.MULTILINE)


def included(header, paths):
    """The public headers that this one brings along, itself too."""
    found, left = set(), [header]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += re.findall(r'^#include "(bsn\w*\.h)"',
                               paths[one].read_text(encoding='utf-8'), re.MULTILINE)
    return found


def check_headers_that_programs_name():
    """Few; examples, manual pages and documents name no others; those are parts of them."""
    listed = named_headers()
    paths = {path.name: path for path in files() if re.fullmatch(r'bsn(_\w+)?\.h', path.name)
             and path.parent.name != '1.0'}
    wrong = []
    if not 0 < len(listed) <= MOST_HEADERS:
        wrong.append(f'bunsen(7) lists {len(listed)} headers')
    wrong += [f'{header}: listed, and not there' for header in sorted(set(listed) - set(paths))]
    for header in sorted(set(paths) - set(listed)):
        said = re.search(r'^ \* A part of (bsn\w*\.h), which programs include\.$',
                         paths[header].read_text(encoding='utf-8')[:200], re.MULTILINE)
        if not said or said[1] not in listed or header not in included(said[1], paths):
            wrong.append(f'{header}: is in no header of bunsen(7), or does not say in which')
    for path, text in texts():
        if re.match(r'tools/examples/|README\.md|engine/doc/|engine/man/|tests/install/', path):
            wrong += [f'{path}: names {header}'
                      for header in re.findall(r'#include [<"](bsn\w*\.h)[>"]', text)
                      if header not in listed]
    return wrong


def check_documents():
    """What a document puts in backquotes and looks like a file of the tree is one."""
    wrong = []
    for document in DOCUMENTS:
        path = ROOT / document
        if not path.is_file():
            wrong.append(f'{document}: missing')
            continue
        text = path.read_text(encoding='utf-8')
        commands = re.findall(r'`([^`\n]+)`', text)
        for block in re.findall(r'^```\w*\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
            commands += block.split('\n')
        for word in ' '.join(commands).split():
            word = word.strip('.,;:()')
            if not re.match(r'(%s|\.ci)/' % '|'.join(LAYERS), word) or re.search(r'[*…<>{]', word):
                continue
            if word.rstrip('/') not in LAYERS and not (ROOT / word).exists():
                wrong.append(f'{document}: {word} does not exist')
    return wrong


def check_links():
    """The links of documents lead to files that exist."""
    return [f'{document}: {link} leads nowhere' for document in DOCUMENTS
            for link in re.findall(r'\]\(([^)#:]+)\)', (ROOT / document).read_text('utf-8'))
            if not ((ROOT / document).parent / link).exists()]


sys.exit(tap.report_checks(globals()))
