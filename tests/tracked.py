# SPDX-License-Identifier: BSD-2-Clause
"""Which files the tree has."""

import re
import subprocess


def files(root):
    """The files under version control, or without git (a tarball) all but builds."""
    try:
        # Git refuses to work as root in another user's checkout, unless it is told to.
        out = subprocess.run(['git', '-c', f'safe.directory={root}', '-C', root, 'ls-files', '-z'],
                             check=True, capture_output=True, text=True).stdout
        found = [root / name for name in out.split('\0') if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in root.rglob('*')
                 if not re.match(r'(build|\.git\b)', str(path.relative_to(root)))]
    return [path for path in found if path.is_file()]
