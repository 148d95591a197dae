"""What the demo and the benchmarks share: timing, and what all programs of the project share."""

import os
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts", "python"))

from program import PROJECT, Failure, main, run, say  # noqa: E402, F401 (once the path is set; for those who import this)


def has_reached_limit(failure):
    """Whether it is that of a statement which the server's max_statement_time has ended."""
    return "max_statement_time" in str(failure)


def timed(action):
    """(seconds, value)"""
    start = time.perf_counter()
    value = action()
    return time.perf_counter() - start, value


def measured(action):
    """(seconds, seconds of this process's processors, value)"""
    processor = time.process_time()
    seconds, value = timed(action)
    return seconds, time.process_time() - processor, value


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


def evict(folder):
    """Drops the files below a folder from the page cache."""
    for path, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(os.path.join(path, name), os.O_RDWR)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def need_disk(folder, size):
    free = shutil.disk_usage(folder).free
    if free < size:
        raise Failure(f"{folder} has {free / 1e9:.1f} GB free and about {size / 1e9:.1f} GB are needed; "
                      "make room or use fewer rows (--rows)")


def compile_client(private, source):
    """The program made of a C file of bench/ with the client library of a private server."""
    root = private.facts["mariadb_root"]
    library = run(["find", f"{root}/usr/lib", "-name", "libmariadb.so.3"], "find").split()[0]
    program = f"{PROJECT}/build/bench-{source.removesuffix('.c').replace('_', '-')}"
    run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{root}/usr/include/mariadb", f"{PROJECT}/bench/{source}", library,
         f"-Wl,-rpath,{os.path.dirname(library)}", "-o", program], f"compiling bench/{source}")
    return program
