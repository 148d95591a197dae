"""What the demo and the benchmarks share: messages, private servers, timing."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import pymysql

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_START = time.monotonic()


class Failure(Exception):
    """Ends the program with one sentence."""


def say(text):
    print(f"[{time.monotonic() - _START:6.1f} s] {text}", flush=True)


def run(arguments, what):
    """Runs a program whose output matters only when it fails; returns its standard output."""
    result = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip()
        raise Failure(f"{what} failed: {said[-2000:]}")
    return result.stdout


class PrivateServer:
    """A private mariadbd with the plugin, in a folder of its own that goes away with it."""

    def __init__(self, name, *options):
        self._name = name
        self._control("remove")
        self.facts = self._control("start", *options)
        self.socket = self.facts["socket"]
        self.pid = int(self.facts["pid"])

    def _control(self, action, *options):
        output = run([f"{PROJECT}/scripts/private-server", action, self._name, *options], f"the server '{self._name}'")
        return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._control("remove")

    def connect(self):
        return Connection(self)

    def client_program(self):
        """Command line of the server's own client."""
        return [f"{self.facts['mariadb_root']}/usr/bin/mariadb", "--no-defaults", f"--socket={self.socket}",
                "--user=root"]

    def bytes_on_disk(self, *folders):
        """Bytes that the folders of the data directory take, once that has stopped changing."""
        last = None
        for _ in range(240):
            now = sum(_bytes_below(os.path.join(self.facts["data"], folder)) for folder in folders)
            if now == last:
                return now
            last = now
            time.sleep(0.5)
        return last

    def memory(self, field):
        """A memory figure of the process in bytes: VmRSS (now) or VmHWM (highest so far)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
        raise Failure(f"/proc/{self.pid}/status has no {field}")


def _bytes_below(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(path, name)).st_blocks * 512
            except FileNotFoundError:  # background work replaced it meanwhile
                pass
    return total


class Connection:
    def __init__(self, server):
        self._connection = pymysql.connect(unix_socket=server.socket, user="root", autocommit=True)

    def execute(self, statement):
        """Runs one statement and returns its rows."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        except pymysql.MySQLError as error:
            raise Failure(f"'{statement}' failed: {error.args[-1]}") from error

    def no_warnings(self, what):
        """Fails when the last statement warned: the data would not be what they should be."""
        warnings = self.execute("show warnings")
        if warnings:
            raise Failure(f"{what} warned: {warnings[0][2]} (and {len(warnings) - 1} more)")

    def close(self):
        self._connection.close()


def timed(action):
    """(seconds, value)"""
    start = time.perf_counter()
    value = action()
    return time.perf_counter() - start, value


def warm_time(action, repeats):
    """Median seconds of `repeats` runs after one that warms; what takes long runs only once. Also the value."""
    seconds, value = timed(action)
    if seconds > 3:
        return seconds, value
    again = []
    for _ in range(repeats):
        seconds, value_again = timed(action)
        if value_again != value:
            raise Failure(f"the same query gave {value} and then {value_again}")
        again.append(seconds)
    return statistics.median(again), value


def need_disk(folder, size):
    free = shutil.disk_usage(folder).free
    if free < size:
        raise Failure(f"{folder} has {free / 1e9:.1f} GB free and about {size / 1e9:.1f} GB are needed; "
                      "make room or use fewer rows (--rows)")


def main(function):
    """Runs a program's main function and turns its failure into one sentence and exit code 1."""
    # Ended from outside, it still stops its servers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        function()
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
