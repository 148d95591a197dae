"""What the project's Python programs share: where the project is, messages, failures, running other programs."""

import os
import signal
import subprocess
import sys
import time

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = time.monotonic()


class Failure(Exception):
    """Ends the program with one sentence."""


def say(text):
    print(f"[{time.monotonic() - _START:6.1f} s] {text}", flush=True)


def run(arguments, what, read="", environment=None):
    """Runs a program that reads `read`; returns its standard output. What it says elsewhere matters only when it fails."""
    result = subprocess.run(arguments, input=read, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        said = (result.stderr or result.stdout).strip()
        raise Failure(f"{what} failed: {said[-2000:]}")
    return result.stdout


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
