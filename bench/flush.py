#!/usr/bin/env python3
"""What a flush costs tables of few and of very many segments: the page bench/results/flush.md of what flush_bench prints."""

import pathlib
import subprocess
import sys

from report import hailstone_version, machine

NAMES = {
    "insert": "transaction of 200 rows before it",
    "flush": "flush",
    "record": "of it: record of the state in the manifest",
    "record made": "the same of flushes that have one",
    "merge due": "look at what is to be merged",
    "statistics": "statistics for the first statement behind it",
    "find": "1,000 rows found by their keys, in no order",
}


def main():
    """The program, then where the page goes."""
    program, page = sys.argv[1:]
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    sizes, figures = [], {}
    for line in printed.splitlines():
        segments, name, least, mean = line.split(",")
        if segments not in sizes:
            sizes.append(segments)
        figures[name, segments] = (float(least), float(mean))
    lines = [
        f"# Flushes of large tables\n\nHailstone {hailstone_version()}. Machine: {machine()}.\n\n",
        "A table of (BIGINT, INT, VARCHAR) with a secondary index, on a filesystem that is memory, by the library's parts.\n"
        "Each flush writes 200 rows, in the order of their keys; their transaction also deletes a row of the segment before. Microseconds of the processor, of 400 flushes, which begin with so many segments.\n\n",
        "| | " + " | ".join(f"{int(size):,} segments, least | mean" for size in sizes) + " |\n",
        "| --- |" + " ---: |" * (2 * len(sizes)) + "\n",
    ]
    for name, said in NAMES.items():
        cells = " | ".join(f"{least:.1f} | {mean:.1f}" for least, mean in (figures[name, size] for size in sizes))
        lines.append(f"| {said} | {cells} |\n")
    growth = [figures["flush", sizes[-1]][i] / figures["flush", sizes[0]][i] for i in range(2)]
    lines.append(f"\nThe flush of the largest table costs {growth[0]:.2f} times the smallest one's at least, {growth[1]:.2f} times in the mean.\n")
    pathlib.Path(page).write_text("".join(lines), encoding="utf-8")
    print("".join(lines))


main()
