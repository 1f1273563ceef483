# SPDX-License-Identifier: BSD-2-Clause
"""TCP ports of this host, for servers that tests start."""

import pathlib
import re
import socket


def free_port():
    with socket.socket() as s:
        s.bind(('', 0))
        return str(s.getsockname()[1])


def listens(port):
    """Whether a process listens on the port (proc(5): local address, state 0A is LISTEN)."""
    wanted = re.compile(rf':{int(port):04X} [0-9A-F]+:0000 0A ')
    tables = [pathlib.Path('/proc/net/tcp'), pathlib.Path('/proc/net/tcp6')]
    return any(wanted.search(table.read_text(encoding='ascii'))
               for table in tables if table.exists())
