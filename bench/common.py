"""What the demo and the benchmarks share: messages, failures, timing."""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

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
