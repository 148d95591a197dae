"""The analytic benchmark's tables: their rows are made once, as a file of text, and loaded into each engine."""

import dataclasses
import os

import common
from analytic_setup import Setup
from common import say


@dataclasses.dataclass(frozen=True)
class Table:
    name: str
    columns: tuple    # (name, type)
    keys: tuple = ()  # of the server's engines, as CREATE TABLE has them
    order: str = ""   # columns by which ClickHouse sorts its rows, as its manual advises: it has no other index


def load(bench, schema, sources, engines, libraries):
    """Makes a schema's tables in some of the server's engines and libraries; `sources`: (table, DuckDB's SQL for its rows)."""
    bench.connection.execute("SET SESSION max_statement_time = 0")
    for engine in engines:
        bench.connection.execute(
            f"CREATE DATABASE {Setup(engine).database(schema)} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    before = _sizes(bench, schema, engines, libraries)
    for table, query in sources:
        _load_table(bench, schema, table, query, engines, libraries)
    for engine, size in _sizes(bench, schema, engines, libraries).items():
        bench.figures.add(f"size-{schema}", f"{schema} on disk, bytes", engine, size - before[engine])


def _sizes(bench, schema, engines, libraries):
    sizes = {library.title: library.size() for library in libraries}
    for engine in engines:
        sizes[engine] = bench.server.bytes_on_disk("#hailstone" if engine == "HAILSTONE" else Setup(engine).database(schema))
    return sizes


def _load_table(bench, schema, table, query, engines, libraries):
    path = os.path.join(bench.folder, f"{table.name}.tsv")
    seconds, _ = common.timed(lambda: bench.duckdb.write(query, path))
    size = os.path.getsize(path)
    say(f"{table.name}: {size / 1e6:,.0f} MB made in {seconds:.1f} s; loading …")
    os.chmod(path, 0o644)  # the server runs as another user where root started it
    name = f"{schema}.{table.name}"
    bench.figures.add(f"text-{name}", f"{name} as text, bytes", "all", size)
    for library in libraries:
        seconds = library.load(schema, table.name, table.columns, path, table.order)
        bench.figures.add(f"load-{name}", f"load of {name}, s", library.title, seconds)
    bench.figures.add(f"rows-{name}", f"rows of {name}", "all",
                      bench.duckdb.rows(schema, f"SELECT COUNT(*) FROM {table.name}")[0][0])
    for engine in engines:
        bench.connection.execute(f"USE {Setup(engine).database(schema)}")
        option = " COLUMNAR=1" if engine == "HAILSTONE" else ""
        definition = ", ".join([f"{column} {kind} NOT NULL{option}" for column, kind in table.columns] + [*table.keys])
        bench.connection.execute(f"CREATE TABLE {table.name} ({definition}) ENGINE={engine}")
        seconds, _ = common.timed(lambda: bench.connection.execute(
            f"LOAD DATA INFILE '{path}' INTO TABLE {table.name} CHARACTER SET utf8mb4 FIELDS ESCAPED BY ''"))
        bench.connection.no_warnings(f"LOAD DATA into {table.name}")
        bench.figures.add(f"load-{name}", f"load of {name}, s", engine, seconds)
        bench.connection.execute("FLUSH TABLES")
        # InnoDB would count anew in the background, beside the statements.
        bench.connection.execute(f"ANALYZE TABLE {table.name}")
    os.remove(path)
