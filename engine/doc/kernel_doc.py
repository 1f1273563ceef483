#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Doxygen's input filter: a header, whose comments are as the kernel's, in Doxygen's words.

usage: kernel_doc.py HEADER
"""

import pathlib
import re
import sys
import textwrap

NAMES = r'@\w+(?:, @\w+)*'
SECTION = r'(Return|Order|Context|Source): +'
WORDS = {'Return': '@return', 'Order': '@par Order\n', 'Context': '@par Context\n',
         'Source': '@par Source\n'}


def prose(text):
    """Nothing in it is markup, but that @name is a parameter or a field."""
    text = re.sub(r'[*<>#%|~&]', r'\\\g<0>', text).replace('::', '\\::')
    return re.sub(r'@(\w+)', r'`\1`', text)


def lines_of(comment):
    """What a comment says, line by line, without its stars."""
    body = re.sub(r'^/\*+|\*/$', '', comment)
    return [re.sub(r'^\s*\* ?', '', line) if number else line.strip()
            for number, line in enumerate(body.split('\n'))]


def split(comment):
    """A comment of a declaration: what it says as a whole, and by name what it says of parts."""
    text = '\n'.join(lines_of(comment)).strip('\n')
    text = re.sub(r'\A(?:struct |enum )?\w+(?:\(\))?(?: -\s+|(?=\n)|\Z)', '', text)
    text = re.sub(r'(?<=[.;] )(?=Return: )', '\n', text)
    whole, parts = [], {}
    for line in text.split('\n'):
        start = re.match(rf'({NAMES}): (.*)', line)
        if start:
            names = re.findall(r'\w+', start[1])
            parts.update(dict.fromkeys(names, [start[2]]))
            part = parts[names[0]]
        elif whole and whole[-1] == 'part' and line.strip() and not re.match(SECTION, line):
            part.append(line.strip())
        else:
            whole.append(line)
            continue
        if not whole or whole[-1] != 'part':
            whole.append('part')
    return ('\n'.join(line for line in whole if line != 'part'),
            {name: ' '.join(part) for name, part in parts.items()})


def doxygen(text):
    """The whole of a comment: its first paragraph is the brief one; indented lines stay."""
    done, brief = [], not text.startswith('\n')
    for paragraph in re.split(r'\n\s*\n', text.strip()):
        if re.match(r'\s{4}|\t', paragraph):
            done.append(textwrap.indent(textwrap.dedent(paragraph.expandtabs(8)), '    '))
            continue
        for piece in re.split(r'\n(?=(?:Return|Order|Context|Source): )', paragraph):
            word = re.match(SECTION, piece)
            rest = prose(' '.join(piece[word.end() if word else 0:].split()))
            if word:
                done.append(f'{WORDS[word[1]]} {rest}')
            elif rest:
                done.append(('@brief ' if brief else '') + rest)
                brief = False
    return '\n\n'.join(done)


def written(text, more=''):
    return '/**\n' + text.replace('*/', '* /') + more + '\n*/\n'


def members(body, parts, separator):
    """The members of a structure or enumeration, each with what is said of it."""
    def member(match):
        said = ' '.join(' '.join(lines_of(match['said'] or '')).split())
        names = re.findall(r'\w+', re.sub(r'\([^*].*|\[.*?\]| : \d+', '', match['code']))
        name = re.search(r'\(\*(\w+)\)', match['code'])
        name = name[1] if name else names[0] if separator == ',' else names[-1]
        said = ' '.join(text for text in (parts.get(name, ''), said) if text)
        return match['code'] + separator + (f' /**< {prose(said)} */' if said else '')

    # Fields are one after the other, though some share their bytes.
    nameless = re.compile(r'^\t+(?:union|struct) \{[^\n]*\n([^{}]*)^\t+\};\n', re.MULTILINE)
    while nameless.search(body):
        body = nameless.sub(r'\1', body)
    comment = r'(?:[ \t]*(?P<said>/\*(?:(?!\*/).)*\*/))?'
    body = re.sub(r'^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n', '', body, flags=re.MULTILINE | re.DOTALL)
    if separator == ',' and not body.rstrip().endswith((',', '*/')):
        body = body.rstrip() + ','
    return re.sub(rf'(?P<code>[^{separator}/{{}}]+){separator}{comment}', member, body,
                  flags=re.DOTALL)


def declaration(match):
    whole, parts = split(match['comment'])
    kind, rest = match['kind'], match['rest']
    if kind and rest.startswith(' {'):
        end = re.search(r'^\};|(?<=[^\t]) \};', rest, re.MULTILINE)
        body = members(rest[2:end.start()], parts, ',' if kind == 'enum' else ';')
        return written(doxygen(whole)) + f'{kind} {match["name"]} {{{body}}};' + rest[end.end():]
    if kind:  # nobody sees what is in it
        return written(doxygen(whole)) + f'{kind} {match["name"]} {{}};' + rest[1:]
    params = ''.join(f'\n@param {name} {prose(text)}' for name, text in parts.items())
    return written(doxygen(whole), params) + rest


def filtered(text, name):
    """A header, as Doxygen reads it."""
    first = re.search(r'/\*.*?\*/', text[text.index('*/') + 2:], re.DOTALL)
    about = '\n'.join(re.sub(r'^DOC: ', '', line) for line in lines_of(first[0])).strip('\n')
    text = text.replace(first[0], written(f'@file {name}\n\n' + doxygen(about)), 1)
    head, *pieces = re.split(
        r'^(?=/\*\* (?!\n)|/\*\*\n \* (?:struct |enum )?\w+(?:\(\))?(?: -|\n))', text,
        flags=re.MULTILINE)
    pattern = re.compile(r'(?P<comment>/\*\*.*?\*/)\n'
                         r'(?:(?P<kind>struct|enum) (?P<name>\w+)(?= \{|;))?(?P<rest>.*)',
                         re.DOTALL)
    return head + ''.join(pattern.sub(declaration, piece) for piece in pieces)


def main():
    path = pathlib.Path(sys.argv[1])
    sys.stdout.write(filtered(path.read_text(encoding='utf-8'), path.name))
    return 0


sys.exit(main())
