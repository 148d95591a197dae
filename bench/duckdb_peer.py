"""The article's loads and queries in DuckDB: duckdb_peer.py FOLDER REPEATS, one line KEY, ROWS, FIGURE for each."""

import os
import sys

import article
import common
import duckdb


def main():
    folder, repeats = sys.argv[1], int(sys.argv[2])
    path = os.path.join(folder, "duckdb.db")
    connection = duckdb.connect(path)
    columns = ", ".join(f"{name} {kind}" for name, kind in article.COLUMNS)
    for table in ("Small", "Big"):
        connection.execute(f"create table {table} ({columns})")

        def load():
            connection.execute(f"copy {table} from '{folder}/{table.lower()}.tsv' "
                               "(delimiter '\t', header false, quote '', escape '')")

        seconds, _ = common.timed(load)
    print(f"load\t0\t{seconds}")
    connection.execute("checkpoint")
    print(f"size\t0\t{os.stat(path).st_blocks * 512}")
    for query in article.QUERIES:
        # Rows to a client: as text to nowhere, which is what the others' client does with them.
        sql = f"copy ({query.sql}) to '/dev/null' (format csv)" if query.to_client else query.sql
        seconds, answer = common.warm_time(lambda: connection.execute(sql).fetchall(), repeats)
        rows = answer[0][0] if len(answer) == 1 and len(answer[0]) == 1 else len(answer)
        print(f"{query.name}\t{rows}\t{seconds}")
    print(f"version\t0\t{duckdb.__version__}")
    connection.close()
    os.remove(path)


common.main(main)
