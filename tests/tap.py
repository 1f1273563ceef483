# SPDX-License-Identifier: BSD-2-Clause
"""What a script that checks a list of things says, as TAP."""

import subprocess
import sys
import traceback


def said(*command):
    """What a command that succeeds prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


class Skip(Exception):
    """A case cannot run here; why."""


class Tap:
    """Says how the cases of a script went."""

    def __init__(self):
        self.count = self.failed = 0

    def say(self, name, wrong=None, skip=None):
        self.count += 1
        self.failed += wrong is not None
        print('ok' if wrong is None else 'not ok', self.count, '-', name,
              *(['# SKIP', skip] if skip else []))
        for line in (wrong or '').splitlines():
            print('#', line)
        sys.stdout.flush()

    def run(self, name, bench, function, *args):
        try:
            function(bench, *args)
            self.say(name)
        except Skip as why:
            self.say(name, skip=why)
        except Exception:  # a bug of the test fails the test
            self.say(name, traceback.format_exc())
        finally:
            bench.end()

    def end(self):
        """The exit status."""
        print(f'1..{self.count}')
        return 1 if self.failed else 0


def report(results):
    """Of (name, complaints) pairs, where no complaint means that it holds; the exit status."""
    tap = Tap()
    for name, wrong in results:
        tap.say(name, '\n'.join(wrong) or None)
    return tap.end()


def report_checks(module):
    """report() of the functions check_* of a module, given its globals()."""
    return report((key[len('check_'):], check()) for key, check in list(module.items())
                  if key.startswith('check_'))
