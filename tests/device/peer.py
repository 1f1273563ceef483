# SPDX-License-Identifier: BSD-2-Clause
"""The other end of a measurement: on this host, or on another one that runs `run --serve`.

Both sides begin with a hello that names the protocol's version; then the client sends requests, one
line of JSON each, and gets one line back: {"start": REQUEST}, {"finish": true}, {"kill": true}. A
REQUEST is one of measure.py's; nothing else can be started from afar.
"""

import json
import shlex
import socket

import measure
from ports import free_port
from tools import Problem, last_line

PROTOCOL = 1
PORT = 18514
TIMEOUT_S = 30
LINE_BYTES = 65536


class Local:
    """Starts the servers on this host."""

    def __init__(self, tools):
        self.tools = tools
        self.name = 'this host'
        self.host = '127.0.0.1'
        self.server = None

    def start(self, request):
        port = free_port()
        self.server = self.tools.start(*measure.command(self.tools, request, port))
        self.tools.await_listener(self.server, port)
        if self.server.poll():
            _, out, err = self.tools.finish(self.server)
            raise Problem(last_line(err + out, 'the server ended'))
        return port

    def finish(self):
        status, out, err = self.tools.finish(self.server)
        if status != 0:
            raise Problem(last_line(err + out, f'the server: exit status {status}'))

    def kill(self):
        if self.server in self.tools.started:
            self.tools.kill(self.server)
            self.tools.finish(self.server)


class Lines:
    """JSON, a line each, over TCP."""

    def __init__(self, connection, peer):
        connection.settimeout(TIMEOUT_S + measure.BW_BYTES / 1e8)
        self.peer = peer
        self.connection = connection
        self.file = connection.makefile('rwb')

    def send(self, message):
        try:
            self.file.write(json.dumps(message).encode() + b'\n')
            self.file.flush()
        except OSError as error:
            raise Problem(f'{self.peer}: {error.strerror or error}') from None

    def receive(self):
        """The next message; None: the other end is done."""
        try:
            line = self.file.readline(LINE_BYTES)
            message = json.loads(line) if line else None
        except OSError as error:
            raise Problem(f'{self.peer}: {error.strerror or error}') from None
        except ValueError:
            raise Problem(f'{self.peer}: this is no tests/device/run --serve') from None
        if line and not isinstance(message, dict):
            raise Problem(f'{self.peer}: this is no tests/device/run --serve')
        return message

    def close(self):
        self.file.close()
        self.connection.close()


def check_hello(lines, hello):
    """What the other end says about itself; a Problem if it does not speak this protocol."""
    if not hello or hello.get('bunsen') != 'device':
        raise Problem(f'{lines.peer}: this is no tests/device/run --serve')
    if hello.get('protocol') != PROTOCOL:
        raise Problem(f'{lines.peer} speaks version {hello.get("protocol")} of this protocol, this '
                      f'is version {PROTOCOL}: check out the same commit on both hosts')
    return hello


def hello_of(about):
    return {'bunsen': 'device', 'protocol': PROTOCOL, **about}


class Remote:
    """Starts the servers on another host, by `run --serve` there."""

    def __init__(self, host, port, about):
        try:
            connection = socket.create_connection((host, port), timeout=TIMEOUT_S)
        except OSError as error:
            raise Problem(f'peer {host}, port {port}: {error.strerror or error}; start it there: '
                          f'tests/device/run --serve --port {port}') from None
        self.name = self.host = host
        self.lines = Lines(connection, f'peer {host}')
        self.lines.send(hello_of(about))
        self.about = check_hello(self.lines, self.lines.receive())

    def ask(self, message):
        self.lines.send(message)
        answer = self.lines.receive()
        if answer is None:
            raise Problem(f'{self.lines.peer} closed the connection')
        if 'error' in answer:
            raise Problem(f'{self.lines.peer}: {answer["error"]}')
        return answer

    def start(self, request):
        return self.ask({'start': request})['port']

    def finish(self):
        self.ask({'finish': True})

    def kill(self):
        self.ask({'kill': True})

    def close(self):
        self.lines.close()


# -- the serving side

def answer_to(local, message):
    if 'start' in message:
        if not measure.is_request(message['start']):
            return {'error': 'not a request of this version'}
        return {'port': local.start(message['start'])}
    if 'finish' in message:
        local.finish()
    elif 'kill' in message:
        local.kill()
    else:
        return {'error': 'not a message of this version'}
    return {}


def serve_client(lines, local, about):
    lines.send(hello_of(about))
    check_hello(lines, lines.receive())
    while (message := lines.receive()) is not None:
        try:
            lines.send(answer_to(local, message))
        except Problem as problem:
            lines.send({'error': str(problem)})


def serve(tools, about, port, say):
    """Serves one client, and ends: 0, or 1 if the client was not served."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    with socket.create_server(('', port), family=family, dualstack_ipv6=both) as listener:
        say(f'serving {tools.device} on port {port}; on the other host: '
            f'tests/device/run --peer {socket.gethostname()} --port {port}')
        connection, address = listener.accept()
    lines = Lines(connection, address[0])
    try:
        serve_client(lines, Local(tools), about)
    except Problem as problem:
        say(str(problem))
        return 1
    finally:
        lines.close()
    return 0


def start_by_ssh(tools, host, port, folder):
    """`run --serve` in a checkout on the other host; it ends with its client."""
    remote = f'cd {shlex.quote(folder)} && exec tests/device/run --serve --port {port}'
    process = tools.start('ssh', '-o', 'BatchMode=yes', host, remote)
    said = ''
    for line in process.stdout:
        if line.startswith('serving '):
            return
        said += line
    _, _, err = tools.finish(process)
    raise Problem(f'ssh {host}: {last_line(err + said, "it ended at once")}')
