"""The analytic benchmark's tables: their rows are made once, as a file of text, and loaded into each engine of each server."""

import dataclasses
import os
import shutil

import article
import common
from analytic_setup import Setup
from common import say

ARTICLE = "article"  # its schema


@dataclasses.dataclass(frozen=True)
class Table:
    name: str
    columns: tuple        # (name, type)
    keys: tuple = ()      # of the server's engines, as CREATE TABLE has them
    order: str = ""       # columns by which ClickHouse sorts its rows, as its manual advises: it has no other index
    nullable: tuple = ()  # columns that may be NULL, which is \N in the file; no text of such a table has a backslash

    def definition(self, engine):
        """CREATE TABLE, in the current database."""
        option = " COLUMNAR=1" if engine == "HAILSTONE" else ""
        columns = [f"{column} {kind}{'' if column in self.nullable else ' NOT NULL'}{option}" for column, kind in self.columns]
        return f"CREATE TABLE {self.name} ({', '.join([*columns, *self.keys])}) ENGINE={engine}"

    def load_statement(self, path):
        """LOAD DATA of a file that DuckDB has written."""
        escape = "\\\\" if self.nullable else ""
        return f"LOAD DATA INFILE '{path}' INTO TABLE {self.name} CHARACTER SET utf8mb4 FIELDS ESCAPED BY '{escape}'"


class Loader:
    """Makes tables, each once, in servers, their engines and the libraries."""

    def __init__(self, folder, duckdb, libraries, engines, figures):
        """`folder`: of the files of text. `engines`: of the servers."""
        self.folder = folder
        self.duckdb, self.libraries = duckdb, libraries
        self.engines = engines
        self.figures = figures
        self._loaded = set()  # schemas

    def places(self):
        """(server, connection) of all servers."""
        raise NotImplementedError

    def load(self, schema, sources, engines=None, libraries=None):
        """Makes a schema's tables in each engine (in some, where only these are measured), unless they are there; `sources`:
        (table, DuckDB's SQL for its rows)."""
        if schema in self._loaded:
            return
        self._loaded.add(schema)
        engines, libraries = engines or self.engines, libraries or self.libraries
        for _, connection in self.places():
            connection.execute("SET SESSION max_statement_time = 0")
            for engine in engines:
                connection.execute(f"CREATE DATABASE {Setup(engine).database(schema)} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        before = self._sizes(schema, engines, libraries)
        for table, query in sources:
            self._load_table(schema, table, query, engines, libraries)
        for engine, size in self._sizes(schema, engines, libraries).items():
            self.figures.add(f"size-{schema}", f"{schema} on disk, bytes", engine, size - before[engine])

    def load_article(self, rows):
        folder = os.path.join(self.folder, "article")
        say(f"the article's tables, Big with {rows:,} rows …")
        article.generate(folder, rows)
        for _, connection in self.places():
            for engine in self.engines:
                article.create_tables(connection, article_setup(engine))
                for table in ("Small", "Big"):
                    article.load(connection, folder, table)
        self.figures.add("rows-article.Big", "rows of Big", "all", rows)
        for table in ("Small", "Big"):
            for library in self.libraries:
                library.load(ARTICLE, table, article.COLUMNS, os.path.join(folder, f"{table.lower()}.tsv"), "Hersteller")
        shutil.rmtree(folder)

    def _sizes(self, schema, engines, libraries):
        sizes = {library.title: library.size() for library in libraries}
        for server, _ in self.places():
            for engine in engines:
                sizes[engine] = server.bytes_on_disk("#hailstone" if engine == "HAILSTONE" else Setup(engine).database(schema))
        return sizes

    def _load_table(self, schema, table, query, engines, libraries):
        path = os.path.join(self.folder, f"{table.name}.tsv")
        seconds, _ = common.timed(lambda: self.duckdb.write(query, path))
        size = os.path.getsize(path)
        say(f"{table.name}: {size / 1e6:,.0f} MB made in {seconds:.1f} s; loading …")
        os.chmod(path, 0o644)  # the server runs as another user where root started it
        name = f"{schema}.{table.name}"
        self.figures.add(f"text-{name}", f"{name} as text, bytes", "all", size)
        for library in libraries:
            seconds = library.load(schema, table.name, table.columns, path, table.order)
            self.figures.add(f"load-{name}", f"load of {name}, s", library.title, seconds)
        self.figures.add(f"rows-{name}", f"rows of {name}", "all",
                         self.duckdb.rows(schema, f"SELECT COUNT(*) FROM {table.name}")[0][0])
        for _, connection in self.places():
            for engine in engines:
                connection.execute(f"USE {Setup(engine).database(schema)}")
                connection.execute(table.definition(engine))
                seconds, _ = common.timed(lambda: connection.execute(table.load_statement(path)))
                connection.no_warnings(f"LOAD DATA into {table.name}")
                self.figures.add(f"load-{name}", f"load of {name}, s", engine, seconds)
                connection.execute("FLUSH TABLES")
                # InnoDB would count anew in the background, beside the statements.
                connection.execute(f"ANALYZE TABLE {table.name}")
        os.remove(path)


def article_setup(engine):
    return article.Setup(Setup(engine).database(ARTICLE), engine, engine, "all" if engine == "HAILSTONE" else "")
