# SPDX-License-Identifier: BSD-2-Clause
"""What a script that checks a list of things says, as TAP."""

import subprocess


def said(*command):
    """What a command that succeeds prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def report(results):
    """Prints (name, complaints) pairs, where no complaint means that it holds; the exit status."""
    results = [(name, list(wrong)) for name, wrong in results]
    print(f'1..{len(results)}')
    for number, (name, wrong) in enumerate(results, 1):
        print('not ok' if wrong else 'ok', number, '-', name)
        for complaint in wrong:
            for line in complaint.splitlines():
                print('#', line)
    return 1 if any(wrong for _, wrong in results) else 0


def report_checks(module):
    """report() of the functions check_* of a module, given its globals()."""
    return report((key[len('check_'):], check()) for key, check in list(module.items())
                  if key.startswith('check_'))
