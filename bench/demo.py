"""./run demo (demo.py ROWS JSON-FILE-OR-NOTHING): the article's tables in MyISAM and in Hailstone, its queries in each, one table of what came out."""

import json
import os
import shutil
import sys

import article
import common
from common import say
from private_server import PrivateServer

SETUPS = (article.MYISAM, article.AS_IN_ARTICLE, article.ALL_COLUMNAR)


def measure(server, folder, counts):
    """{setup: {"load":, "bytes":, "queries": {query: (seconds, rows)}}}"""
    connection = server.connect()
    figures = {setup: {"queries": {}} for setup in SETUPS}
    for setup in SETUPS:
        before = server.bytes_on_disk(*article.data_folders(setup))
        article.create_tables(connection, setup)
        say(f"loading both tables into {setup.title} …")
        figures[setup]["load"] = sum(article.load(connection, folder, table) for table in ("Small", "Big"))
        connection.execute("flush tables")
        figures[setup]["bytes"] = server.bytes_on_disk(*article.data_folders(setup)) - before
        say(f"  {figures[setup]['load']:.1f} s, {figures[setup]['bytes'] / 1e6:,.0f} MB on disk")

    for query in article.QUERIES + article.INDEXED_QUERIES:
        if query is article.INDEXED_QUERIES[0]:
            say("giving MyISAM indexes on PZN and Hersteller …")
            for table in ("Small", "Big"):
                connection.execute(f"alter table {article.MYISAM.database}.{table} add index (PZN), add index (Hersteller)")
        answers = {}
        for setup in SETUPS:
            if query in article.INDEXED_QUERIES and setup is not article.MYISAM:
                # The same query on the same tables, which have no index: not run again.
                figures[setup]["queries"][query] = figures[setup]["queries"][article.JOIN]
                continue
            say(f"{query.title}: {setup.title} …")
            seconds, answer = common.warm_time(article.ask(server, connection, setup, query), repeats=3)
            rows, value = article.digest(query, answer)
            article.check(query, setup.title, rows, value, answers, counts)
            answers[setup.title] = value
            figures[setup]["queries"][query] = (seconds, rows)
    connection.close()
    return figures


def seconds_text(seconds):
    return f"{seconds:.4f}" if seconds < 0.1 else f"{seconds:.2f}"


def ratio_text(ratio):
    if ratio < 0.1:
        return f"{ratio:.4f}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def table_rows(figures):
    """Lines of the printed table, as lists of cells."""
    myisam, partly, fully = (figures[setup] for setup in SETUPS)
    yield ["", "", "MyISAM", "Hailstone", "times", "Hailstone", "times", "times faster"]
    yield ["", "rows", "seconds", "1 column", "faster", "all col.", "faster", "in the article"]
    yield None
    for query, (seconds, rows) in myisam["queries"].items():
        in_article = f"{query.article[0] / query.article[1]:.2f}" if query.article else "-"
        if query.name == "q5b":
            in_article = "not reached"
        cells = [query.title, f"{rows:,}", seconds_text(seconds)]
        for other in (partly, fully):
            cells += [seconds_text(other["queries"][query][0]), ratio_text(seconds / other["queries"][query][0])]
        yield cells + [in_article]
    yield None
    for title, key, text in (("load both tables, s", "load", lambda value: f"{value:.1f}"),
                             ("size on disk, MB", "bytes", lambda value: f"{value / 1e6:,.0f}")):
        cells = [title, "", text(myisam[key])]
        for other in (partly, fully):
            cells += [text(other[key]), ratio_text(myisam[key] / other[key]) if other[key] else "-"]
        yield cells + ["-"]


def print_table(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows if row) for i in range(8)]
    line = "-" * (sum(widths) + 2 * 7)
    print()
    for row in rows:
        print(line if row is None else "  ".join([row[0].ljust(widths[0])] +
                                                 [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))
    print()


def as_json(figures, counts, version):
    return {
        "rows": {"Small": counts["small_rows"], "Big": counts["big_rows"]},
        "mariadb": version,
        "setups": [{
            "name": setup.database,
            "title": setup.title,
            "load_seconds": figure["load"],
            "bytes_on_disk": figure["bytes"],
            "queries": [{
                "name": query.name,
                "title": query.title,
                "sql": query.sql,
                "rows": rows,
                "seconds": seconds,
                "article_ratio": query.article[0] / query.article[1] if query.article else None,
            } for query, (seconds, rows) in figure["queries"].items()],
        } for setup, figure in figures.items()],
    }


def main():
    # scripts/demo has looked at the arguments.
    rows, json_file = int(sys.argv[1]), sys.argv[2]

    say("starting a private server …")
    with PrivateServer("demo") as server:
        folder = os.path.join(server.facts["home"], "demo-data")
        try:
            # Text, MyISAM twice while it builds its indexes, and two Hailstone tables.
            common.need_disk(server.facts["home"], 450 * rows + 500_000_000)
            say(f"generating Small and Big ({rows:,} rows) …")
            counts = article.generate(folder, rows)
            figures = measure(server, folder, counts)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        server.keep()
    say("done; all answers agree, and are those that the generated data must give")
    print_table(table_rows(figures))
    databases = ", ".join(setup.database for setup in SETUPS)
    size = sum(figure["bytes"] for figure in figures.values())
    print("Seconds are medians of warm runs; what takes more than 3 s ran once. Hailstone has no index anywhere.\n"
          "In the article its engine had the index on PZN too, and could not beat MyISAM with both indexes.\n"
          f"The tables Small and Big are kept, in the databases {databases} ({size / 1e6:,.0f} MB). To ask them yourself:\n"
          "  ./run server demo\n"
          f"  ./run sql {article.ALL_COLUMNAR.database} -e \"{article.QUERIES[1].sql}\"\n"
          "'./run demo --remove' removes them.")
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump(as_json(figures, counts, server.facts["version"]), file, indent=2)
            file.write("\n")
        print(f"Figures: {json_file}")


if __name__ == "__main__":
    common.main(main)
