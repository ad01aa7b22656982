#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the cases of rdma-core's own tests, each in a process of its own.

usage: pyverbs_cases.py DIRECTORY RESULTS DEVICE NETDEV MODULE...

DIRECTORY holds the unpacked package "tests" of rdma-core, which is used as it
is, but for one thing: its base class looks for the device's network interface
where software devices have none and then skips what needs an address. So it is
told NETDEV.

One line a case goes to RESULTS: "ok|skip|fail CASE REASON", separated by tabs.
A case that crashes or hangs is a failure of its own and ends no other.
"""

import importlib
import os
import signal
import sys
import unittest

CASE_LIMIT = 60     # seconds


def load(directory, device, netdev, modules):
    """Load the tests as their run_tests.py does."""
    sys.path[:0] = [os.path.join(directory, 'tests'), directory]
    sys.argv[1:] = ['--dev', device, '--port', '1', '--gid', '1', '-v']
    importlib.import_module('args_parser').parser.parse_args()

    case = importlib.import_module('tests.base').RDMATestCase

    def get_ip_mac(self, dev, port, index):
        self.args.append([dev, port, index, *self.get_ip_mac_address(netdev)])

    case._get_ip_mac = get_ip_mac

    def flatten(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                yield from flatten(test)
            else:
                yield test

    loader = unittest.defaultTestLoader
    return [test for module in modules
            for test in flatten(loader.loadTestsFromName('tests.' + module))]


def verdict(result):
    """The one line of a TestResult."""
    problems = result.errors + result.failures
    if problems:
        return 'fail\t' + problems[0][1].strip().splitlines()[-1]
    if result.skipped:
        return 'skip\t' + result.skipped[0][1]
    return 'ok\t'


def run_in_child(test, answer):
    """In the child: run one case, write the verdict."""
    os.setpgid(0, 0)
    result = unittest.TestResult()
    test.run(result)
    for _, trace in result.errors + result.failures:
        print(trace, flush=True)
    os.write(answer, verdict(result).encode())
    # No destructors: the kernel frees the remaining objects.
    sys.stdout.flush()
    os._exit(0)


def run(test):
    """Run one case in a child. Returns the verdict."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        run_in_child(test, writer)
    os.close(writer)

    hung = []

    def kill(*_):
        hung.append(True)
        os.killpg(pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(CASE_LIMIT)
    _, status = os.waitpid(pid, 0)
    signal.alarm(0)
    # Kill processes of the case that it did not wait for.
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    answer = os.read(reader, 4096).decode()
    os.close(reader)
    if hung:
        return f'fail\tdid not end within {CASE_LIMIT} seconds'
    if os.WIFSIGNALED(status):
        return 'fail\t' + signal.Signals(os.WTERMSIG(status)).name
    return answer or f'fail\texit status {os.WEXITSTATUS(status)}'


def main():
    """See above."""
    directory, results, device, netdev, *modules = sys.argv[1:]
    with open(results, 'w', buffering=1) as out:
        for test in load(directory, device, netdev, modules):
            name = test.id().removeprefix('tests.')
            print(f'--- {name}', flush=True)
            word, reason = run(test).split('\t', 1)
            print(f'--- {word} {reason}', flush=True)
            reason = ' '.join(reason.split())
            out.write(f'{word}\t{name}\t{reason}\n')


if __name__ == '__main__':
    main()
