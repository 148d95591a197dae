"""The plot of ./run bench analytic: for each statement a bar of Hailstone's time to DuckDB's, for each number of threads."""

import math

import report
from analytic_setup import THREADS, threads_of

BARS = 50    # statements side by side
WIDTH = 0.4  # of a bar; a statement has 1


def write(path, groups, ratio):
    """`ratio` gives that of a statement and a number of threads."""
    pyplot = report.pyplot
    pyplot.rcParams["svg.hashsalt"] = "hailstone"  # the same figures give the same file
    lines = _lines(groups)
    figure, all_axes = pyplot.subplots(len(lines), 1, figsize=(14, 1 + 4 * len(lines)), squeeze=False, sharey=True)
    for axes, line in zip(all_axes[:, 0], lines):
        _draw(axes, line, ratio)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _lines(groups):
    """Groups that share a line of the plot."""
    lines = []
    for group in groups:
        if lines and sum(len(other.statements) for other in (*lines[-1], group)) <= BARS:
            lines[-1].append(group)
        else:
            lines.append([group])
    return lines


def _draw(axes, groups, ratio):
    statements = [statement for group in groups for statement in group.statements]
    for number, threads in enumerate(THREADS):
        ratios = [ratio(statement, threads) for statement in statements]
        axes.bar([place + number * WIDTH for place in range(len(ratios))],
                 [0 if ratio == math.inf else ratio - 1 for ratio in ratios], WIDTH, bottom=1, label=threads_of(threads))
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", subs=[2, 5])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_title(", ".join(group.title for group in groups), fontsize=10)
    axes.set_ylabel("Hailstone's time / DuckDB's, warm\n(logarithmic; lower is better)")
    axes.set_xticks([place + WIDTH / 2 for place in range(len(statements))], [statement.name for statement in statements],
                    fontsize=7)
    axes.margins(x=0.01)
    axes.legend(fontsize=8)
