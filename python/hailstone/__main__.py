"""Files of columns in and out: python3 -m hailstone load|scan, for Parquet and Arrow (Feather) files. For CSV, TSV and JSON lines
there is the hailstone command."""

import argparse
import os
import pathlib
import signal
import sys

try:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet
except ImportError:
    sys.exit("hailstone: Parquet and Arrow files need pyarrow, which is not installed; 'pip install pyarrow' brings it")

from . import Error, open

_PARQUET, _ARROW = {".parquet"}, {".arrow", ".feather", ".ipc"}


def _read(path):
    """A reader of the file's batches."""
    end = pathlib.Path(path).suffix.lower()
    if end in _PARQUET:
        file = pyarrow.parquet.ParquetFile(path)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    if end in _ARROW:
        file = pyarrow.ipc.open_file(pa.memory_map(str(path)))
        return pa.RecordBatchReader.from_batches(file.schema, (file.get_batch(i) for i in range(file.num_record_batches)))
    raise ValueError(f"{path}: the name of the file must end with .parquet, .arrow, .feather or .ipc")


def _load(arguments):
    with open(arguments.database, create=arguments.create) as db, db.begin() as tx:
        before = tx.scan(arguments.table).count() if arguments.table in tx.tables(arguments.table) else 0
        for path in arguments.file:
            tx.load(arguments.table, _read(path), create=arguments.create, primary_key=arguments.key)
        rows = tx.scan(arguments.table).count() - before
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # after a commit "the database is as it was" would be wrong
    print(f"{rows} rows loaded into {arguments.table}")


def _literal(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _condition(tx, arguments):
    """The --where triples, with values as the columns' types have them."""
    types = {info.name: info.type for info in tx.describe(arguments.table).columns}
    parts = []
    for name, operator, text in arguments.where:
        kind = types.get(name)
        if kind == "bool" and text.lower() in ("true", "false"):
            value = text.lower() == "true"
        elif kind in ("date", "timestamp", "datetime"):
            value = pa.scalar(text).cast(pa.date32() if kind == "date" else pa.timestamp("us")).as_py()
        else:
            value = text if kind in ("string", "bytes") else _literal(text)
        parts.append((name, operator, value))
    return parts or None


def _scan(arguments):
    target = pathlib.Path(arguments.output)
    end = target.suffix.lower()
    if end not in _PARQUET | _ARROW:
        raise ValueError(f"{target}: the name of the file must end with .parquet, .arrow, .feather or .ipc")
    part = target.with_name(target.name + ".part")
    columns = arguments.columns.split(",") if arguments.columns else None
    try:
        with open(arguments.database, create=False) as db, db.begin() as tx:
            reader = tx.scan(arguments.table, columns=columns, where=_condition(tx, arguments)).to_reader()
            make = pyarrow.parquet.ParquetWriter if end in _PARQUET else pyarrow.ipc.new_file
            with make(str(part), reader.schema) as writer:
                rows = 0
                for batch in reader:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    print(f"{rows} rows written to {target}")


def main():
    parser = argparse.ArgumentParser(prog="python3 -m hailstone", description=__doc__,
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="load|scan")
    load = commands.add_parser("load", help="rows of Parquet or Arrow files into a table: all or none",
                               formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    load.add_argument("database", help="the database's directory")
    load.add_argument("table", help="the table, as group/table")
    load.add_argument("file", nargs="+", help=".parquet, .arrow, .feather or .ipc; columns go by name")
    load.add_argument("--create", action="store_true", help="make the table (and the database) if it is not there")
    load.add_argument("--key", default=[], type=lambda text: text.split(","), help="columns of the primary key, for --create")
    load.set_defaults(run=_load)
    scan = commands.add_parser("scan", help="a table's rows to a Parquet or Arrow file",
                               formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    scan.add_argument("database", help="the database's directory")
    scan.add_argument("table", help="the table, as group/table")
    scan.add_argument("--output", required=True, help="the file, .parquet, .arrow, .feather or .ipc, there when it is complete")
    scan.add_argument("--columns", help="columns, in this order; none given: all")
    scan.add_argument("--where", nargs=3, action="append", default=[], metavar=("COLUMN", "OPERATOR", "VALUE"),
                      help="a condition, as: --where price '>' 9.5; several: all of them")
    scan.set_defaults(run=_scan)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (Error, ValueError, OSError, MemoryError, pa.ArrowException) as error:
        sys.exit(f"python3 -m hailstone: {error}")
    except KeyboardInterrupt:
        print("interrupted; the database is as it was", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
