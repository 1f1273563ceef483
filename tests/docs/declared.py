# SPDX-License-Identifier: BSD-2-Clause
"""What headers declare."""

import re


def functions(text):
    """Functions for callers; an inline one of the shorter name calls each *_layout function."""
    found = re.findall(r'^(?:BSN_API|BSN_POST_API|BSN_ALWAYS_INLINE|static inline)\s'
                       r'[^;{(=]*?(\w+)\s*\(', text, re.MULTILINE)
    return {name for name in found if name.startswith('bsn_') and not name.endswith('_layout')}


def layouts(text):
    """The structures and enumerations by name, each with its members in order, without comments."""
    text, found = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL), {}
    for kind, name, body in re.findall(r'^(struct|enum) (\w+) \{([^\n]*|\n.*?^)\};', text,
                                       re.MULTILINE | re.DOTALL):
        members = [' '.join(member.split())
                   for member in body.split(',' if kind == 'enum' else ';')]
        if kind == 'enum':
            members = [member.partition(' ')[0] for member in members]
        found[f'{kind} {name}'] = [member for member in members if member]
    return found
