"""Client programs of a private server that work at the same time."""

import subprocess
import time

from common import Failure


class ClientProcesses:
    """Starts them together, and waits for all. `commands`: their arguments; each says "ready", waits for a line, works and prints an
    answer. `count`: of what they do in all."""

    def __init__(self, private, commands, count):
        processes = [subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for each in commands]
        for process in processes:
            if process.stdout.readline().strip() != "ready":
                raise Failure(f"a client did not begin: {' '.join(process.args)}")
        cpu, start = private.cpu_seconds(), time.perf_counter()
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        self.answers = [process.stdout.read() for process in processes]
        for process in processes:
            if process.wait() != 0:
                raise Failure(f"a client failed: {' '.join(process.args)}")
        self.seconds = time.perf_counter() - start
        self.cpu = private.cpu_seconds() - cpu
        self.count = count

    @property
    def rate(self):
        return self.count / self.seconds

    @property
    def microseconds(self):
        """Of the server's processor time for each of what was done."""
        return 1e6 * self.cpu / self.count
