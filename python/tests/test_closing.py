"""Database.close() beside threads that use the database, and os.fork()."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pytest

import hailstone

ROWS = 20_000


def _table(path):
    db = hailstone.open(path, durability="crash", memory_bytes=64 << 20)
    if "t/t" not in db.tables():
        db.load("t/t", pa.table({"id": range(ROWS), "text": [f"text {i}" for i in range(ROWS)]}), create=True, primary_key=["id"])
    return db


def _batches(count):
    for i in range(count):
        yield pa.record_batch({"id": pa.array(range(10**9 + i * 100, 10**9 + i * 100 + 100)), "text": ["loaded"] * 100})


def _rows(db):
    with db.begin() as tx:
        for i, _ in enumerate(tx.rows("t/t")):
            if i == 500:
                break


def _write(db, number=iter(range(10**10, 10**11))):
    with db.begin() as tx:
        tx.insert("t/t", {"id": next(number), "text": "inserted"})
        tx.update("t/t", 5, {"text": "changed"})
        tx.get("t/t", 5)


def _load(db):
    tx = db.begin()
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    tx.load("t/t", pa.RecordBatchReader.from_batches(schema, _batches(20)))
    tx.rollback()


USES = {
    "aggregate": lambda db, tx: db.scan("t/t", where=[("text", "like", "%7")]).count(),
    "stream": lambda db, tx: db.scan("t/t").to_arrow(),
    "rows": lambda db, tx: _rows(db),
    "write": lambda db, tx: _write(db),
    "load": lambda db, tx: _load(db),
    "describe": lambda db, tx: (db.tables(), db.describe("t/t"), db.counters()),
    "check": lambda db, tx: (db.check(), db.checkpoint(), db.expire()),
    "one transaction for all": lambda db, tx: (tx.get("t/t", 7), next(tx.rows("t/t")), tx.scan("t/t").max("id")),
}


@pytest.mark.parametrize("kinds", [[kind] for kind in USES] + [list(USES)], ids=lambda kinds: kinds[0] if len(kinds) == 1 else "all")
def test_close_beside_other_threads(tmp_path, kinds):
    # In a process of its own: a crash is this test's alone.
    seconds = float(os.environ.get("HAILSTONE_CLOSE_TEST_SECONDS", "1.5"))
    program = f"""
        import sys, threading, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_closing import USES, _table
        import hailstone, pyarrow
        until = time.monotonic() + {seconds}
        rounds = 0
        while time.monotonic() < until:
            db = _table({str(tmp_path / "data")!r})
            shared = db.begin()
            wrong = []
            def use(use):
                while True:
                    try:
                        use(db, shared)
                    except hailstone.DuplicateKey:
                        pass
                    except (hailstone.LockTimeout, hailstone.Deadlock):
                        pass
                    except (hailstone.Error, pyarrow.ArrowException, OSError) as error:
                        if db._handle is None or "closed" in str(error):
                            return
                        wrong.append(error)
            threads = [threading.Thread(target=use, args=[USES[kind]]) for kind in {kinds!r} for _ in range({6 if len(kinds) == 1 else 1})]
            for thread in threads:
                thread.start()
            time.sleep(0.03 * (rounds % 5))
            db.close()
            for thread in threads:
                thread.join(60)
                assert not thread.is_alive()
            rounds += 1
        print(rounds)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    with hailstone.open(tmp_path / "data") as db:
        db.check()


def test_control_c_ends_the_wait_of_close(tmp_path):
    db = _table(tmp_path / "data")
    goes_on, is_in = threading.Event(), threading.Event()

    def slow():
        is_in.set()
        goes_on.wait()
        yield from ()

    def load():
        schema = pa.schema([("id", pa.int64())])
        with pytest.raises(hailstone.Error):
            db.load("t/t", pa.RecordBatchReader.from_batches(schema, slow()))

    thread = threading.Thread(target=load)
    thread.start()
    is_in.wait()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        db.close()
    with pytest.raises(hailstone.Invalid, match="being closed"):
        db.begin()
    goes_on.set()
    db.close()
    thread.join()
    with pytest.raises(hailstone.Invalid, match="closed"):
        db.tables()


def test_a_load_cannot_close_its_database(tmp_path):
    db = _table(tmp_path / "data")

    def closing():
        with pytest.raises(hailstone.Busy):
            db.close()
        yield pa.record_batch({"id": pa.array([-1])})

    db.load("t/t", pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), closing()))
    assert db.get("t/t", -1)["text"] is None
    db.close()


def test_a_child_of_fork_leaves_the_database_alone(tmp_path):
    program = f"""
        import gc, os, sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_closing import _table
        import hailstone
        db = _table({str(tmp_path / "data")!r})
        tx = db.begin()
        tx.insert("t/t", {{"id": -1, "text": "of the parent"}})
        reader = tx.scan("t/t").to_reader()
        reader.read_next_batch()
        for _ in range(3):
            child = os.fork()
            if child == 0:
                for call in (lambda: tx.insert("t/t", {{"id": -2}}), tx.commit, db.begin, db.checkpoint, db.tables):
                    try:
                        call()
                        os._exit(1)
                    except hailstone.Invalid as error:
                        pass
                with hailstone.open({str(tmp_path / "own")!r}) as own:
                    own.tables()
                db.close()
                del reader, tx, db
                gc.collect()
                sys.exit(7)  # with all that Python does at its end
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
        tx.commit()
        db.close()
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    with hailstone.open(tmp_path / "data") as db:
        assert db.get("t/t", -1)["text"] == "of the parent" and db.get("t/t", -2) is None
        db.check()


def test_with_in_a_child_raises_nothing(tmp_path):
    with _table(tmp_path / "data") as db:
        child = os.fork()
        if child == 0:
            try:
                db.__exit__(None, None, None)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert db.scan("t/t").count() >= ROWS
