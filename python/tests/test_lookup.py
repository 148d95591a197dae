"""Rows by their keys, by the quick way and the other; and tables that are kept between transactions."""

import os
import threading

import pyarrow as pa
import pytest

import hailstone


@pytest.fixture
def db(tmp_path):
    with hailstone.open(tmp_path / "data") as database:
        yield database


KEYS = {"int64": [0, -1, 7, -2**63, 2**63 - 1], "int8": [-128, 127], "uint32": [0, 2**32 - 1], "uint64": [0, 2**64 - 1],
        "string": ["", "a", "ö", "x" * 256, "y" * 257, "z\0z"], "bytes": [b"", b"\xff"], "double": [0.5, -1.0], "bool": [True, False]}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("second", ["int64", "string", None])
def test_every_key_is_found(db, kind, second):
    columns = {"a": kind, **({"b": second} if second else {}), "text": "string"}
    db.create_table("t/t", columns, primary_key=[name for name in columns if name != "text"])
    rows = [(a, *((b,) if second else ()), f"{a!r} {b!r}") for a in KEYS[kind] for b in (KEYS[second] if second else [None])]
    with db.begin() as tx:
        for row in rows:
            tx.insert("t/t", row)
        for row in rows:
            wanted = dict(zip(columns, row))
            assert tx.get("t/t", *row[:-1]) == wanted == tx.get("t/t", *row[:-1], lock="shared")
    for row in rows:
        assert db.get("t/t", *row[:-1])["text"] == row[-1]


def test_keys_that_cannot_be_are_told(db):
    db.create_table("t/t", {"id": "int64", "name": "string"}, primary_key="id")
    db.create_table("t/none", {"id": "int64"})
    with db.begin() as tx:
        tx.insert("t/t", (1, "one"))
        assert tx.get("t/t", 2) is None and tx.get("t/t", True)["name"] == "one"
        for key, error in (((2**63,), hailstone.OutOfRange), (("1",), hailstone.Invalid), ((1, 2), hailstone.Invalid), ((), hailstone.Invalid)):
            with pytest.raises(error):
                tx.get("t/t", *key)
        with pytest.raises(hailstone.Invalid):
            tx.get("t/none", 1)
    with pytest.raises(hailstone.Invalid, match="has ended"):
        tx.get("t/t", 1)
    with pytest.raises(hailstone.NotFound):
        db.get("t/other", 1)


def test_tables_that_are_kept_are_those_of_now(db):
    def make(name, text):
        db.create_table(name, {"id": "int64", "name": "string"}, primary_key="id")
        with db.begin() as tx:
            tx.insert(name, (1, text))
    make("t/a", "a")
    make("t/b", "b")
    assert db.get("t/a", 1)["name"] == "a" and db.get("t/b", 1)["name"] == "b"
    with db.begin() as tx:
        tx.rename_table("t/a", "t/c")
        tx.rename_table("t/b", "t/a")
        assert tx.get("t/a", 1)["name"] == "b"
        assert db.get("t/a", 1)["name"] == "a"  # not committed yet
    assert db.get("t/a", 1)["name"] == "b" and db.get("t/c", 1)["name"] == "a"
    db.drop_table("t/a")
    with pytest.raises(hailstone.NotFound):
        db.get("t/a", 1)
    make("t/a", "new")
    assert db.get("t/a", 1)["name"] == "new"
    with db.begin() as tx:
        tx.savepoint("here")
        tx.drop_table("t/a")
        tx.rollback_to("here")
        assert tx.get("t/a", 1)["name"] == "new"
    with db.begin() as tx:
        tx.drop_table("t/a")
        tx.rollback()
    assert db.get("t/a", 1)["name"] == "new"


def test_threads_get_rows_while_tables_come_and_go(db):
    for name in ("t/stays", "t/goes"):
        db.create_table(name, {"id": "int64", "name": "string"}, primary_key="id")
    with db.begin() as tx:
        for i in range(100):
            tx.insert("t/stays", (i, f"name {i}"))
    failures, ended = [], threading.Event()

    def look(first):
        i = first
        while not ended.is_set():
            i += 1
            try:
                found = db.get("t/stays", i % 100)
                if found != {"id": i % 100, "name": f"name {i % 100}"}:
                    failures.append(found)
            except hailstone.Error as error:
                failures.append(error)
            try:
                db.get("t/goes", 1)
            except hailstone.NotFound:
                pass
            except hailstone.Error as error:
                if "has been dropped" not in str(error) and "after" not in str(error):
                    failures.append(error)
    threads = [threading.Thread(target=look, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        db.drop_table("t/goes")
        db.create_table("t/goes", {"id": "int64", "other": "int8"}, primary_key="id")
    ended.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork()")
def test_a_child_of_fork_uses_no_table_of_its_parent(db):
    db.create_table("t/t", {"id": "int64"}, primary_key="id")
    assert db.get("t/t", 1) is None
    child = os.fork()
    if child == 0:
        try:
            db.get("t/t", 1)
        except hailstone.Invalid:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert db.get("t/t", 1) is None


def test_a_database_is_opened_to_read(tmp_path):
    with hailstone.open(tmp_path / "data") as db:
        db.create_table("t/t", {"id": "int64"}, primary_key="id")
        with db.begin() as tx:
            tx.insert("t/t", (1,))
        with pytest.raises(hailstone.Busy):
            hailstone.open(tmp_path / "data", read_only=True)
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    with hailstone.open(tmp_path / "data", read_only=True) as db, hailstone.open(tmp_path / "data", read_only=True) as other:
        assert db.get("t/t", 1) == other.get("t/t", 1) == {"id": 1}
        db.check()
        with db.begin() as tx:
            for write in (lambda: tx.insert("t/t", (2,)), lambda: tx.delete("t/t", 1), lambda: tx.drop_table("t/t"),
                          lambda: tx.create_table("t/u", {"id": "int64"}), lambda: tx.rename_table("t/t", "t/u"), db.checkpoint, db.expire,
                          lambda: db.backup(tmp_path / "copy"), lambda: tx.load("t/t", pa.table({"id": [3]}))):
                with pytest.raises(hailstone.Error, match="read only"):
                    write()
    with pytest.raises(hailstone.NotFound):
        hailstone.open(tmp_path / "none", read_only=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before
