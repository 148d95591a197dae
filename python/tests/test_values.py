"""Values of Python, numpy and pandas for columns of each type, in rows and in conditions; and what is refused, and how."""

import datetime
import os
import subprocess
import sys
import textwrap

import numpy
import pandas
import pyarrow as pa
import pytest

import hailstone
from hailstone import column

UTC = datetime.timezone.utc
DAY = datetime.date(2024, 3, 1)
MIDNIGHT = datetime.datetime(2024, 3, 1, tzinfo=UTC)
NOON = datetime.datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def db():
    with hailstone.open() as database:
        database.create_table("t/t", {"id": "int64", "day": "date", "at": "timestamp", "price": "double", "text": "string",
                                      "raw": "bytes", "flag": "uint8", "big": "uint64"}, primary_key="id")
        yield database


def _insert(db, **row):
    with db.begin() as tx:
        tx.upsert("t/t", {"id": 1, **row})
    return db.get("t/t", 1)


@pytest.mark.parametrize("given, stored", [
    (DAY, MIDNIGHT), (NOON, NOON), (datetime.datetime(2024, 3, 1, 12), NOON), (pandas.Timestamp("2024-03-01 12:00"), NOON),
    (datetime.datetime(2024, 3, 1, 14, tzinfo=datetime.timezone(datetime.timedelta(hours=2))), NOON),
    (numpy.datetime64("2024-03-01T12"), NOON), (numpy.datetime64("2024-03-01"), MIDNIGHT), (pandas.NaT, None),
    (numpy.datetime64("NaT"), None), (pandas.NA, None), (None, None)])
def test_timestamps(db, given, stored):
    assert _insert(db, at=given)["at"] == stored
    if stored is not None:
        assert db.scan("t/t", where=column("at") == given).count() == 1
        assert db.scan("t/t", where=[("at", "in", [given])]).count() == 1


@pytest.mark.parametrize("given, stored", [
    (DAY, DAY), (MIDNIGHT, DAY), (datetime.datetime(2024, 3, 1), DAY), (numpy.datetime64("2024-03-01"), DAY),
    (pandas.Timestamp("2024-03-01"), DAY), (datetime.date(1969, 12, 31), datetime.date(1969, 12, 31)), (pandas.NaT, None)])
def test_dates(db, given, stored):
    assert _insert(db, day=given)["day"] == stored
    if stored is not None:
        assert db.scan("t/t", where=column("day") == given).count() == 1


@pytest.mark.parametrize("name, given", [
    ("day", NOON), ("day", 19783), ("day", 1.5), ("day", "2024-03-01"), ("at", 0), ("at", 1.5), ("id", DAY), ("id", NOON),
    ("id", "1"), ("id", numpy.datetime64("2024-03-01")), ("price", DAY), ("price", "1.5"), ("text", DAY), ("text", 5),
    ("text", b"\xff"), ("raw", 5), ("flag", b"x"), ("id", datetime.timedelta(1)), ("text", "\ud800")])
def test_what_a_column_does_not_take(db, name, given):
    with pytest.raises(hailstone.Invalid, match=f"'{name}'"):
        _insert(db, **{name: given})
    with pytest.raises(hailstone.Invalid, match=f"'{name}'"):
        db.scan("t/t", where=column(name) == given).count()
    with pytest.raises(hailstone.Invalid, match=f"'{name}'"):
        db.scan("t/t", where=column(name).isin([given])).count()


@pytest.mark.parametrize("given", [pandas.Timestamp("2024-03-01 12:00:00.000000001"), numpy.datetime64("2024-03-01T12:00:00.000000001")])
def test_nothing_is_cut(db, given):
    with pytest.raises(hailstone.OutOfRange, match="digits"):
        _insert(db, at=given)
    with pytest.raises(hailstone.OutOfRange, match="digits"):
        db.scan("t/t", where=column("at") < given).count()


def test_numbers_and_texts(db):
    row = _insert(db, price=numpy.float32(0.5), flag=True, big=2**64 - 1, text=b"caf\xc3\xa9", raw=bytearray(b"\xff\x00"))
    assert row["price"] == 0.5 and row["flag"] == 1 and row["big"] == 2**64 - 1 and row["text"] == "café" and row["raw"] == b"\xff\0"
    row = _insert(db, price=3, flag=numpy.bool_(False), big=numpy.uint8(7), text="x" * 100_000, raw="text")
    assert row["price"] == 3.0 and row["flag"] == 0 and row["big"] == 7 and len(row["text"]) == 100_000 and row["raw"] == b"text"
    assert _insert(db)["text"] is None and _insert(db, text="")["text"] == ""
    for number in (2**64, -2**63 - 1):
        with pytest.raises(hailstone.OutOfRange):
            _insert(db, big=number)
    assert db.scan("t/t", where=column("id") < 1.5).count() == 1


def test_keys_of_several_columns_and_of_days(db):
    db.create_table("t/k", {"day": "date", "at": "timestamp", "text": "string"}, primary_key=["day", "at"])
    with db.begin() as tx:
        tx.insert("t/k", [DAY, DAY, "midnight"])
        tx.insert("t/k", [MIDNIGHT, NOON, "noon"])
        assert tx.get("t/k", DAY, NOON)["text"] == "noon" and tx.get("t/k", MIDNIGHT, DAY)["text"] == "midnight"
        assert tx.get("t/k", DAY, datetime.datetime(2024, 3, 2)) is None
        with pytest.raises(hailstone.Invalid):
            tx.get("t/k", DAY, NOON, 5)
        with pytest.raises(hailstone.Invalid):
            tx.get("t/k", DAY)
        tx.update("t/k", (DAY, NOON), {"text": "twelve"})
        assert [row["text"] for row in tx.rows("t/k", start=DAY)] == ["midnight", "twelve"]
        assert [row["text"] for row in tx.rows("t/k", start=DAY, end=(DAY, MIDNIGHT))] == ["midnight"]
        tx.delete("t/k", DAY, DAY)
        assert [row["text"] for row in tx.rows("t/k")] == ["twelve"]


def test_rows_end_where_they_are_told_to(db):
    db.create_table("t/n", {"id": "int32", "group": "string"}, primary_key="id", indexes={"by group": "group"})
    with db.begin() as tx:
        for number in range(1000):
            tx.insert("t/n", [number, "abc"[number % 3]])
    with db.begin() as tx:
        assert [row["id"] for row in tx.rows("t/n", start=10, end=14)] == [10, 11, 12, 13, 14]
        assert len(list(tx.rows("t/n", index="by group", start="b", end="b"))) == 333
        assert list(tx.rows("t/n", start=10, end=9)) == []
        # A lock on the rows up to the end, and on no other.
        assert len(list(tx.rows("t/n", start=10, end=14, lock="exclusive"))) == 5
        with db.begin() as other:
            other.update("t/n", 15, {"group": "d"})


def test_what_people_write_works_or_says_what_would(db):
    _insert(db, text="a")
    assert db.scan("t/t", columns="text").to_arrow().column_names == ["text"]
    assert db.scan("t/t", columns="text", dictionary="text").to_arrow()["text"].to_pylist() == ["a"]
    for use, said in ((lambda: pandas.DataFrame(db.scan("t/t")), "to_pandas"), (lambda: numpy.array(db.scan("t/t")), "to_arrow"),
                      (lambda: db.scan("t/t", where="id > 5"), "give column"), (lambda: db.scan("t/t", where=["id > 5"]), "give a column"),
                      (lambda: column("text").isin("abc"), "several"),
                      (lambda: db.begin().insert("t/t", [{"id": 5}, {"id": 6}]), "one row"),
                      (lambda: db.begin().insert("t/t", "text"), "not a row"), (lambda: db.begin().insert("t/t", [1, 2]), "8 columns")):
        with pytest.raises((hailstone.Invalid, TypeError), match=said):
            use()
    with pytest.raises(hailstone.NotFound, match="nothing"):
        db.scan("t/t", where=column("nothing") == 5).count()
    assert "in memory" in repr(db) and "t/t" in repr(db.scan("t/t")) and "Transaction" in repr(db.begin())
    assert repr(column("id")) == "column('id')"


def test_arrow_types(db):
    db.load("t/a", pa.table({"day": pa.array([DAY], pa.date64()), "text": pa.array(["a view of more than twelve bytes"], pa.string_view())}),
            create=True)
    assert [c.type for c in db.describe("t/a").columns] == ["date", "string"]
    assert db.scan("t/a").to_arrow().to_pylist() == [{"day": DAY, "text": "a view of more than twelve bytes"}]
    with pytest.raises(hailstone.Error, match="UTF-8"):
        db.load("t/a", pa.table({"text": pa.array([b"\xff"], pa.binary())}))
    db.load("t/a", pa.table({"text": pa.array(["é".encode()], pa.binary())}))
    assert sorted(db.scan("t/a").to_arrow()["text"].to_pylist())[1] == "é"


def test_control_c_ends_a_load(tmp_path):
    program = f"""
        import os, signal, threading, time
        import numpy, pyarrow as pa
        import hailstone
        rows = 1_500_000
        one_batch = pa.record_batch({{"id": numpy.random.default_rng(1).permutation(rows), "text": pa.array([str(i) for i in range(rows)])}})
        db = hailstone.open({str(tmp_path / "data")!r})
        interrupted = 0
        for after in (0.2, 1, 3):
            table = f"t/after_{{after}}"
            db.create_table(table, one_batch.schema, primary_key="id", indexes={{"i": "text"}})
            sent = []
            def interrupt():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
            timer = threading.Timer(after, interrupt)
            timer.start()
            loaded = ended = False
            try:
                with db.begin() as tx:
                    tx.load(table, one_batch)
                    loaded = True
                ended = True
                timer.cancel()
                timer.join()
            except KeyboardInterrupt:
                assert time.monotonic() - sent[0] < {float(os.environ.get("HAILSTONE_TEST_PATIENCE", "20"))}
                interrupted += not ended
            count = db.scan(table).count()
            assert count == (rows if ended else 0) or loaded and count == rows  # the commit ends first
        assert interrupted > 0
        db.close()
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_package_is_typed():
    assert os.path.exists(os.path.join(os.path.dirname(hailstone.__file__), "py.typed"))
    assert hailstone.Transaction.get.__annotations__["return"]
