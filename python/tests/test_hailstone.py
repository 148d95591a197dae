"""The package as users have it: an installed wheel."""

import datetime
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet
import pytest

import hailstone
from hailstone import column


@pytest.fixture
def db(tmp_path):
    with hailstone.open(tmp_path / "data") as database:
        yield database


@pytest.fixture
def articles(db):
    rows = 200_000
    db.load("shop/article", pa.table({
        "id": pa.array(range(rows), pa.int32()), "maker": ["Ada" if i % 4 == 0 else "Bo" for i in range(rows)],
        "price": [None if i % 10 == 0 else i / 2 for i in range(rows)]}), create=True, primary_key=["id"])
    return db


def test_tables_are_described(articles):
    info = articles.describe("shop/article")
    assert [(c.name, c.type, c.nullable, c.columnar) for c in info.columns] == [
        ("id", "int32", False, True), ("maker", "string", True, True), ("price", "double", True, True)]
    assert info.primary_key == ("id",)
    assert info.rows == 200_000
    assert articles.tables() == ["shop/article"] and articles.tables("x") == []
    articles.create_table("t/t", {"a": "int8", "b": "string", "c": "timestamp"}, primary_key=["a"], indexes={"i": ["-b", "c"]},
                          unique={"u": ["c"]}, row_wise=["b"], not_null=["c"])
    info = articles.describe("t/t")
    assert info.indexes == (hailstone.Index("PRIMARY", ("a",), (False,), True, True),
                            hailstone.Index("i", ("b", "c"), (True, False), False, False),
                            hailstone.Index("u", ("c",), (False,), True, False))
    assert not info.columns[2].nullable
    articles.rename_table("t/t", "t/u")
    articles.drop_table("t/u")
    with pytest.raises(hailstone.NotFound) as caught:
        articles.describe("t/u")
    assert caught.value.code == hailstone.Status.NOT_FOUND and "t/u" in str(caught.value)


def test_scan_and_aggregates(articles):
    scan = articles.scan("shop/article", columns=["id", "price"], where=(column("maker") == "Ada") & (column("id") < 100))
    assert scan.to_arrow().column_names == ["id", "price"]
    assert sorted(scan.to_arrow()["id"].to_pylist()) == list(range(0, 100, 4))
    assert scan.count() == 25 and scan.count("price") == 20
    assert scan.min("id") == 0 and scan.max("id") == 96 and scan.sum("id") == sum(range(0, 100, 4))
    assert scan.aggregate(n="rows", most=("max", "price"), maker=("min", "maker")) == {"n": 25, "most": 48.0, "maker": "Ada"}
    assert articles.scan("shop/article", where=column("id") < 0).max("price") is None
    frame = scan.to_pandas()
    assert len(frame) == 25 and frame["price"].isna().sum() == 5
    coded = articles.scan("shop/article", columns=["maker"], dictionary=["maker"]).to_arrow()
    assert pa.types.is_dictionary(coded.schema.field("maker").type)
    assert sum(batch.num_rows for batch in articles.scan("shop/article")) == 200_000


@pytest.mark.parametrize("where, rows", [
    ([("id", "<", 10)], 10), (("id", "=", 3), 1), ([[("id", "=", 3)], [("id", ">=", 199_999)]], 2),
    ([("id", "in", [1, 2, -5]), ("maker", "!=", "Ada")], 2), ([("price", "is", None), ("id", "<", 100)], 10),
    ([("maker", "like", "A%"), ("id", "<=", 8)], 3), (~column("id").isin(range(10)) & (column("id") < 20), 10),
    ((column("id") == 1) | (column("id") == 2.0), 2), (column("id") > 2**63, 0), ([], 200_000), (None, 200_000),
    ([("id", "not in", [0]), ("price", "is not", None), ("id", "<", 12)], 10)])
def test_conditions(articles, where, rows):
    scan = articles.scan("shop/article", where=where)
    assert scan.count() == rows
    assert scan.to_arrow().num_rows == rows


def test_wrong_conditions(articles):
    for where, error in [([("nix", "=", 1)], hailstone.NotFound), ([("id", "~", 1)], hailstone.Invalid),
                         ([("id", "=", "x")], hailstone.Invalid), ("id = 1", hailstone.Invalid)]:
        with pytest.raises(error):
            articles.scan("shop/article", where=where).count()
    with pytest.raises(hailstone.Invalid):
        column("id") == None  # noqa: E711
    with pytest.raises(TypeError):
        (column("id") == 1) and (column("id") == 2)


def test_polars(articles):
    polars = pytest.importorskip("polars")
    scan = articles.scan("shop/article", where=[("id", "<", 1000)])
    assert scan.to_polars()["id"].sum() == sum(range(1000))
    assert polars.DataFrame(scan).height == 1000
    articles.load("p/p", polars.DataFrame({"a": [1, None], "s": ["x", "ö"]}), create=True)
    assert articles.scan("p/p").to_arrow().to_pylist() == [{"a": 1, "s": "x"}, {"a": None, "s": "ö"}]


def test_rows_and_transactions(db):
    now = datetime.datetime(2024, 2, 29, 12, 30, 0, 5, tzinfo=datetime.timezone.utc)
    db.create_table("t/t", {"id": "int64", "s": "string", "b": "bytes", "f": "float", "day": "date", "at": "timestamp",
                            "big": "uint64"}, primary_key=["id"], indexes={"by_s": ["s"]})
    full = {"id": 1, "s": "ä", "b": b"\0\xff", "f": 0.5, "day": datetime.date(1969, 12, 31), "at": now, "big": 2**64 - 1}
    with db.begin() as tx:
        tx.insert("t/t", full)
        tx.insert("t/t", [2, "b", b"", None, None, None, None])
        tx.insert("t/t", {"id": 3})
    assert db.get("t/t", 1) == full
    assert db.get("t/t", 4) is None
    with db.begin() as tx:
        tx.update("t/t", 2, {"s": "new", "big": 5})
        tx.savepoint("here")
        tx.delete("t/t", 1)
        tx.rollback_to("here")
        assert [row["id"] for row in tx.rows("t/t", start=2)] == [2, 3]
        assert [row["id"] for row in tx.rows("t/t", descending=True)] == [3, 2, 1]
        assert [row["s"] for row in tx.rows("t/t", index="by_s")] == [None, "new", "ä"]
    with pytest.raises(ZeroDivisionError), db.begin() as tx:
        tx.delete("t/t", 1)
        1 / 0
    assert db.scan("t/t").count() == 3
    for row, error in [({"id": 1}, hailstone.DuplicateKey), ({"id": 2**63}, hailstone.OutOfRange), ({"id": "x"}, hailstone.Invalid),
                       ({"nix": 1}, hailstone.NotFound), ([1], hailstone.Invalid), ({"id": object()}, hailstone.Invalid),
                       ({"id": 2**64}, hailstone.OutOfRange), ({"s": "x"}, hailstone.Invalid)]:
        with pytest.raises(error), db.begin() as tx:
            tx.insert("t/t", row)
    assert db.scan("t/t", where=[("at", "=", now)]).count() == 1
    assert db.scan("t/t", where=[("day", "<", datetime.date(1970, 1, 1))]).min("day") == datetime.date(1969, 12, 31)


def test_loads(db):
    data = {"id": [1, 2], "s": ["a", None]}
    table = pa.table(data)
    db.load("a/b", table, create=True, primary_key=["id"])
    with pytest.raises(hailstone.DuplicateKey):
        db.load("a/b", table)
    with pytest.raises(hailstone.NotFound):
        db.load("a/b", pa.table({"nix": [1]}))
    with pytest.raises(hailstone.NotFound):
        db.load("a/none", table)
    with pytest.raises(hailstone.Invalid):
        db.load("a/b", [1, 2])
    with pytest.raises(hailstone.Invalid, match="decimal"):
        db.load("a/c", pa.table({"x": pa.array([1], pa.decimal128(5))}), create=True)

    def broken():
        yield table.to_batches()[0]
        raise RuntimeError("no more")
    with pytest.raises(RuntimeError, match="no more"):
        db.load("a/b", pa.RecordBatchReader.from_batches(table.schema, broken()))
    assert db.scan("a/b").count() == 2
    db.load("a/b", pa.record_batch({"id": [3]}))
    pandas = pytest.importorskip("pandas")
    db.load("a/d", pandas.DataFrame({"day": pandas.to_datetime(["2024-01-01"]), "x": [1.5], "b": [True]}), create=True)
    assert db.scan("a/d").to_arrow().to_pylist()[0]["b"] == 1
    assert sorted(db.scan("a/b", columns=["id"]).to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_closing_in_any_order(tmp_path):
    db = hailstone.open(tmp_path / "data")
    db.load("t/t", pa.table({"a": range(200_000)}), create=True)
    tx = db.begin()
    rows, scan, reader = tx.rows("t/t"), tx.scan("t/t"), tx.scan("t/t").to_reader()
    other = db.scan("t/t").to_reader()
    next(rows)
    batch = reader.read_next_batch()
    other.read_next_batch()
    db.close()
    db.close()
    assert batch.num_rows > 0 and batch.column(0)[5].as_py() == 5
    for use in (lambda: next(rows), scan.count, reader.read_next_batch, other.read_next_batch, tx.commit, db.tables, db.begin,
                lambda: tx.get("t/t", 1), db.checkpoint):
        with pytest.raises((hailstone.Error, pa.ArrowException, OSError, StopIteration)):
            use()
    tx.close()
    del rows, reader, scan, tx, db, other
    gc.collect()
    with hailstone.open(tmp_path / "data", create=False) as db:
        forgotten = db.scan("t/t").to_reader()
        forgotten.read_next_batch()
        del forgotten
        db.begin()  # forgotten at once
        capsule = db.scan("t/t").__arrow_c_stream__()
    del capsule
    gc.collect()
    assert hailstone.open(tmp_path / "data").scan("t/t").count() == 200_000  # the database goes with the scan


def test_a_stream_outlives_its_scan(articles):
    reader = articles.scan("shop/article").to_reader()
    gc.collect()
    assert reader.read_all().num_rows == 200_000


def test_errors_of_opening(tmp_path, articles):
    with pytest.raises(hailstone.NotFound):
        hailstone.open(tmp_path / "none", create=False)
    with pytest.raises(hailstone.Busy, match=f"process {os.getpid()} "):
        hailstone.open(tmp_path / "data")
    with pytest.raises(hailstone.Invalid):
        hailstone.open(tmp_path / "x", durability="never")
    with pytest.raises(hailstone.Invalid):
        hailstone.open(tmp_path / "x", memory_bytes=1)


def test_backup_check_counters(articles, tmp_path):
    articles.backup(tmp_path / "copy")
    with pytest.raises(hailstone.AlreadyExists):
        articles.backup(tmp_path / "copy")
    articles.check()
    articles.checkpoint()
    assert articles.counters()["rows_inserted"] >= 0
    with hailstone.open(tmp_path / "copy") as copy:
        copy.check("shop/article")
        assert copy.scan("shop/article").count() == 200_000


def test_tables_beyond_open_tables_come_back(tmp_path):
    names = [f"many/t{i}" for i in range(30)]
    with hailstone.open(tmp_path / "data", open_tables=2) as db:
        for i, name in enumerate(names):
            db.create_table(name, {"id": "int32"}, primary_key=["id"])
            with db.begin() as tx:
                tx.insert(name, {"id": i})
        db.checkpoint()
        # The table objects are let go in the background.
        deadline = time.monotonic() + 60
        while db.counters()["table_evictions"] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert db.counters()["table_evictions"] > 0
        for i, name in enumerate(names):
            assert db.scan(name).to_arrow()["id"].to_pylist() == [i]


def test_threads(articles):
    failures = []

    def work(number):
        try:
            for i in range(20):
                with articles.begin() as tx:
                    tx.insert("shop/article", {"id": 1_000_000 + number * 1000 + i})
                assert articles.scan("shop/article", where=[("id", ">=", 1_000_000 + number * 1000)]).count() >= i + 1
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert articles.scan("shop/article").count() == 200_080


def test_files_of_columns(tmp_path):
    def run(*arguments, code=0):
        done = subprocess.run([sys.executable, "-m", "hailstone", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == code, done
        return done.stdout + done.stderr
    table = pa.table({"id": [1, 2, 3], "s": ["a", "ö", None], "on": [datetime.date(2024, 1, i) for i in (1, 2, 3)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert "3 rows" in run("load", tmp_path / "data", "t/t", tmp_path / "a.parquet", "--create", "--key", "id")
    assert "PRIMARY" in run("load", tmp_path / "data", "t/t", tmp_path / "a.parquet", code=1)
    run("scan", tmp_path / "data", "t/t", "--output", tmp_path / "b.arrow", "--where", "on", ">", "2024-01-01", "--columns", "id,s")
    with pa.memory_map(str(tmp_path / "b.arrow")) as file:
        assert pa.ipc.open_file(file).read_all().to_pylist() == [{"id": 2, "s": "ö"}, {"id": 3, "s": None}]
    run("load", tmp_path / "data", "t/u", tmp_path / "b.arrow", "--create")
    run("scan", tmp_path / "data", "t/u", "--output", tmp_path / "c.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "c.parquet").num_rows == 2
    assert "no database" in run("scan", tmp_path / "none", "t/u", "--output", tmp_path / "d.parquet", code=1)
    assert "must end with" in run("scan", tmp_path / "data", "t/u", "--output", tmp_path / "d.csv", code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.arrow", "c.parquet", "data"]


def test_a_database_in_memory(tmp_path):
    with hailstone.open(in_memory_bytes=32 << 20) as database, hailstone.open(None) as other:
        database.load("t/t", pa.table({"id": pa.array(range(50_000), pa.int64()), "text": ["some text"] * 50_000}),
                      create=True, primary_key=["id"])
        with database.begin() as tx:
            tx.insert("t/t", {"id": 100_000, "text": "one more"})
            tx.delete("t/t", 7)
        assert database.scan("t/t").count() == 50_000 and database.get("t/t", 7) is None
        assert database.scan("t/t", where=column("text") == "one more").to_arrow()["id"].to_pylist() == [100_000]
        assert other.tables() == []
        with pytest.raises(hailstone.TableFull) as caught:
            for each in range(40):
                database.load("t/t", pa.table({
                    "id": pa.array(range((each + 2) * 100_000, (each + 3) * 100_000), pa.int64()),
                    "text": [os.urandom(20).hex() for _ in range(100_000)]}))
        assert caught.value.code == hailstone.Status.TABLE_FULL and "in memory" in str(caught.value)
        assert database.get("t/t", 100_000)["text"] == "one more"
        with pytest.raises(hailstone.Error) as caught:
            database.backup(tmp_path / "copy")
        assert caught.value.code == hailstone.Status.UNSUPPORTED
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(hailstone.NotFound):
        hailstone.open(create=False)


def test_rows_expire(tmp_path):
    now = datetime.datetime.now(datetime.timezone.utc)
    columns = {"id": "int64", "at": "timestamp", "day": "date"}
    with hailstone.open(tmp_path / "data", retention_interval_seconds=0) as database:
        database.create_table("t/t", columns, primary_key=["id"], retention=("at", 2, "days"))
        with database.begin() as tx:
            for number, days in enumerate((0, 1, 3, 10)):
                at = now - datetime.timedelta(days=days)
                tx.insert("t/t", {"id": number, "at": at, "day": at.date()})
            tx.insert("t/t", {"id": 9})

        def left():
            return sorted(database.scan("t/t").to_arrow()["id"].to_pylist())

        assert database.expire() == 2 and left() == [0, 1, 9]
        database.set_retention("t/t", None)
        with database.begin() as tx:
            tx.insert("t/t", {"id": 2, "day": now.date() - datetime.timedelta(days=30)})
        assert database.expire() == 0
        database.set_retention("t/t", ("day", 2, "weeks"))
        assert database.expire() == 1 and left() == [0, 1, 9]
        assert database.counters()["rows_expired"] == 3
        for wrong in (("id2", 1, "days"), ("at", 0, "days"), ("at", 1, "fortnights"), ("at", 1_000_001, "days")):
            with pytest.raises(hailstone.Error):
                database.set_retention("t/t", wrong)
            with pytest.raises(hailstone.Error):
                database.create_table("t/u", columns, retention=wrong)
        assert database.tables() == ["t/t"]


def test_a_table_in_memory_is_empty_again(tmp_path):
    for _ in range(2):
        with hailstone.open(tmp_path / "data") as database:
            if not database.tables():
                database.create_table("t/t", {"id": "int64"}, primary_key=["id"], in_memory=True)
            assert database.scan("t/t").count() == 0
            with database.begin() as tx:
                tx.insert("t/t", {"id": 1})
            assert database.scan("t/t").count() == 1


def test_rows_need_no_pyarrow(tmp_path):
    program = pathlib.Path(__file__).parent / "without_pyarrow.py"
    done = subprocess.run([sys.executable, "-B", program, tmp_path / "data"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
