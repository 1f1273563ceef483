# SPDX-License-Identifier: BSD-2-Clause
"""The programs of a build, started on the device under test; none outlives us."""

import os
import pathlib
import signal
import subprocess

from ports import listens

DEADLINE_S = 120


class Problem(Exception):
    """What stops a part of the run: one line that says what to do."""


def last_line(text, instead):
    return (text.strip().splitlines() or [instead])[-1]


class Tools:
    def __init__(self, build, device=None):
        self.build = pathlib.Path(build)
        self.device = device
        self.is_direct = True  # driven by libmlx5
        self.gid_index = None  # where perftest must be told
        self.started = []

    def path(self, program):
        """A program of the build if it has a folder's name before it, else of the system."""
        return str(self.build / program) if '/' in program else program

    def start(self, program, *args, **environment):
        """In a group of its own, so that all of it can be ended."""
        try:
            process = subprocess.Popen(
                [self.path(program), *map(str, args)], env=dict(os.environ, **environment),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                errors='replace', start_new_session=True)
        except OSError as error:
            raise Problem(f'{self.path(program)}: {error.strerror}; tools/setup --all installs '
                          'what is missing') from None
        self.started.append(process)
        return process

    def finish(self, process, seconds=DEADLINE_S):
        """(exit status, standard output, standard error); no status if it took too long."""
        try:
            out, err = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            self.kill(process)
            out, err = process.communicate()
            status, err = None, f'{err}\nnot done after {seconds} s'
        self.started.remove(process)
        return status, out, err

    def run(self, program, *args, seconds=DEADLINE_S, **environment):
        return self.finish(self.start(program, *args, **environment), seconds)

    def await_listener(self, process, port):
        """Until the server listens, or has ended."""
        while not listens(port) and process.poll() is None:
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass

    @staticmethod
    def kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        for process in list(self.started):
            self.kill(process)
            process.communicate()
        self.started.clear()
