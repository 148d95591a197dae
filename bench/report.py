"""Writes what was measured: a report in Markdown, the raw figures as CSV, a plot as SVG."""

import csv
import math
import os
import platform
import subprocess

import article
import common

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot  # noqa: E402  (the backend is chosen before)

ALL = article.ALL_COLUMNAR.title


class Figures:
    """Measured values by what was measured and on which engine."""

    def __init__(self):
        self.rows = []       # (key, title, setup, value)
        self.versions = {}

    def add(self, key, title, setup, value):
        self.rows.append((key, title, setup, value))

    def setups(self, *keys):
        """Engines that have figures for the keys, in the order in which they were measured."""
        return list(dict.fromkeys(setup for key, _, setup, _ in self.rows if key in keys))

    def get(self, key, setup):
        return next((value for k, _, s, value in self.rows if (k, s) == (key, setup)), None)

    def keys(self, prefix):
        """Of what was measured, those that begin so."""
        return list(dict.fromkeys(key for key, _, _, _ in self.rows if key.startswith(prefix)))

    def has(self, key):
        return any(row[0] == key for row in self.rows)

    def write_csv(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["key", "figure", "engine", "value"])
            writer.writerows(self.rows)


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{os.cpu_count()} × {model}, {memory / 2**30:.0f} GiB, {platform.system()} {platform.release()}"


def hailstone_version():
    result = subprocess.run(["git", "-C", common.PROJECT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return result.stdout.strip() or "unknown commit"


def number(value):
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def milliseconds(seconds, limit):
    """Of a statement that may take so many seconds; infinite: it took longer or, without a limit, was refused."""
    if seconds != math.inf:
        return number(1000 * seconds)
    return f"> {1000 * limit:,}" if limit else "refused"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join(["---"] + ["---:"] * (len(header) - 1)) + " |"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def heading(title, figures):
    """A report's title, what was measured and where."""
    versions = "".join(f", {name} {version}" for name, version in sorted(figures.versions.items()))
    return f"# {title}\n\nHailstone {hailstone_version()}{versions}. Machine: {machine()}.\n\n"


def aims_table(aims):
    """Of (aim, measured, reached)."""
    return table(["aim", "measured", "reached"], [[aim, value, "yes" if met else "**no**"] for aim, value, met in aims])


def _query_table(figures):
    setups = figures.setups(*(query.name for query in article.QUERIES))
    rows = []
    for query in article.QUERIES:
        values = [figures.get(query.name, setup) for setup in setups]
        rows.append([f"{query.name}: {query.title}"] + [number(value * 1000 if value is not None else None)
                                                       for value in values])
    rows.append(["load Big, s"] + [number(figures.get("load", setup)) for setup in setups])
    rows.append(["size on disk, MB"] + [number((figures.get("size", setup) or 0) / 1e6) for setup in setups])
    return table(["ms"] + setups, rows)


def _aims(figures):
    """(aim, measured, reached) for what the project sets out to reach."""
    def ratio(key, setup, other):
        mine, theirs = figures.get(key, setup), figures.get(key, other)
        return mine / theirs if mine is not None and theirs else None

    for key, title in (("q1", "Small"), ("q2", "Big"), ("q3", "Big, no match")):
        value = ratio(key, "MyISAM", ALL)
        if value:
            yield f"filter {title}: at least 50 times faster than MyISAM", f"{number(value)} times", value >= 50
    value = ratio("q4", "MyISAM", ALL)
    if value:
        yield "filter that all rows match: not slower than MyISAM", f"{number(value)} times faster", value >= 1
    value = ratio("load", ALL, "MyISAM")
    if value:
        yield "load of Big: at most 1.3 times MyISAM's time", f"{value:.2f} times", value <= 1.3
    value = ratio("size", ALL, "MyISAM")
    if value:
        yield "size on disk: at most a third of MyISAM's", f"{value:.2f} of it", value <= 1 / 3
    value = ratio("lookups", "InnoDB", ALL)
    if value:
        yield "point lookup: at most 1.5 times InnoDB's time", f"{value:.2f} times", value <= 1.5
    budget = figures.get("memory", "hailstone_memory_budget")
    peaks = [value for key, _, setup, value in figures.rows if key == "memory" and setup != "hailstone_memory_budget"]
    if budget:
        value = max(peaks) / budget
        yield "memory above idle: at most 1.1 times the budget", f"{value:.2f} times", value <= 1.1


def _plot(path, figures):
    setups = figures.setups(*(query.name for query in article.QUERIES))
    queries = [query for query in article.QUERIES if figures.has(query.name)]
    pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
    figure, axes = pyplot.subplots(figsize=(11, 5))
    width = 0.8 / len(setups)
    for number, setup in enumerate(setups):
        axes.bar([place + number * width for place in range(len(queries))],
                 [1000 * (figures.get(query.name, setup) or 0) for query in queries], width, label=setup)
    axes.set_yscale("log")
    axes.set_ylabel("milliseconds, warm (logarithmic; shorter is better)")
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(queries))],
                    [f"{query.name}\n{query.title}".replace(", ", ",\n") for query in queries], fontsize=8)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def write(folder, figures, missing, counts, innodb_pool):
    os.makedirs(folder, exist_ok=True)
    figures.write_csv(os.path.join(folder, "figures.csv"))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(figures.versions.items()))
    text = [f"# Hailstone against its peers\n\n"
            f"Small {counts['small_rows']:,} rows, Big {counts['big_rows']:,} rows (made by `bench/article/`). "
            f"Hailstone {hailstone_version()}, {versions}. Machine: {machine()}. "
            f"InnoDB has a buffer pool of {innodb_pool / 2**20:,.0f} MiB, Hailstone a memory budget of "
            f"{(figures.get('memory', 'hailstone_memory_budget') or 512 * 2**20) / 2**20:,.0f} MiB, the others their "
            "defaults; no table has an index but where it says so.\n\n"
            "Machines are shared and noisy: compare ratios within this report, not seconds between reports.\n"]
    for name, reason in missing.items():
        text.append(f"**Missing: {name}** ({reason}).\n")
    if figures.has("q1"):
        text.append("## Queries, load, size\nMedian of warm runs through a client; a query of more than 3 s ran once. "
                    "DuckDB runs in its caller's process.\n")
        text.append(_query_table(figures))
        text.append("![seconds of each query](queries.svg)\n")
        _plot(os.path.join(folder, "queries.svg"), figures)
    if figures.has("lookups"):
        text.append("## Point lookups\nOne client, a prepared statement, random primary keys, all seven columns.\n")
        text.append(table(["engine", "lookups per second"],
                           [[setup, number(figures.get("lookups", setup))] for setup in figures.setups("lookups")]))
    if figures.has("memory"):
        text.append("## Memory\nMost that the server's process took, above what it takes idle.\n")
        text.append(table(["", "MiB"], [[setup, f"{value / 2**20:,.0f}"]
                                         for key, _, setup, value in figures.rows if key == "memory"]))
    if aims := list(_aims(figures)):
        text.append(f"## Aims\nOf \"{ALL}\".\n")
        text.append(aims_table(aims))
    text.append("The queries:\n")
    text.append("\n".join(f"- {query.name}: `{query.sql}`" for query in article.QUERIES) + "\n")
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
