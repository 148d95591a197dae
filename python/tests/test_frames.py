"""Data frames come back as they went in; nothing of their values is lost on the way."""

import datetime
import zoneinfo

import numpy
import pandas
import polars
import pyarrow as pa
import pytest

import hailstone
from hailstone import column

NAIVE = datetime.datetime(2024, 3, 31, 2, 30, 0, 5)  # a time that clocks of some zones pass over


@pytest.fixture
def db(tmp_path):
    with hailstone.open(tmp_path / "data") as database:
        yield database


def _round_trip(db, data):
    db.load("t/t", data, create=True)
    return db.scan("t/t")


def test_a_pandas_frame_comes_back_as_it_went(db):
    frame = pandas.DataFrame({
        "flag": [True, False, True], "maybe": [True, None, False], "clock": pandas.to_datetime([NAIVE, None, NAIVE]).as_unit("us"),
        "moment": pandas.to_datetime([NAIVE] * 3).as_unit("us").tz_localize("UTC"), "number": numpy.arange(3, dtype="int16"),
        "text": ["a", None, "ö"], "real": [1.5, None, -2.0]})
    back = _round_trip(db, frame).to_pandas()
    pandas.testing.assert_frame_equal(back, frame)
    assert [c.type for c in db.describe("t/t").columns] == ["bool", "bool", "datetime", "timestamp", "int16", "string", "double"]


def test_a_polars_frame_comes_back_as_it_went(db):
    frame = polars.DataFrame({"flag": [True, None, False], "clock": [NAIVE, None, datetime.datetime(1, 1, 1)]})
    assert _round_trip(db, frame).to_polars().equals(frame)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 70_000])
def test_booleans_of_any_number_of_rows(db, rows):
    values = [None if i % 11 == 0 else i % 3 == 0 for i in range(rows)]
    back = _round_trip(db, pa.table({"id": range(rows), "flag": pa.array(values, pa.bool_())})).to_arrow().sort_by("id")
    assert back["flag"].to_pylist() == values
    assert back["flag"].type == pa.bool_()
    assert db.scan("t/t", where=column("flag") == True).count() == values.count(True)  # noqa: E712


def test_nanoseconds_are_refused_or_rounded_by_the_caller(db):
    frame = pandas.DataFrame({"clock": pandas.to_datetime(["2024-03-01 12:00:00.000000001"])})
    with pytest.raises(hailstone.Error, match="round it to microseconds first"):
        _round_trip(db, frame)
    frame["clock"] = frame["clock"].dt.round("us")
    assert _round_trip(db, frame).to_arrow()["clock"].to_pylist() == [datetime.datetime(2024, 3, 1, 12)]


def test_rows_have_booleans_and_times_without_a_zone(db):
    db.create_table("t/t", {"id": "int64", "flag": "bool", "clock": "datetime"}, primary_key="id")
    with db.begin() as tx:
        tx.insert("t/t", (1, True, NAIVE))
        tx.insert("t/t", (2, numpy.bool_(False), pandas.Timestamp(NAIVE)))
        tx.insert("t/t", (3, 0, datetime.date(2024, 3, 1)))
        tx.insert("t/t", (4, None, pandas.NaT))
        for wrong in (2, -1, "true", 1.0, NAIVE):
            with pytest.raises(hailstone.Invalid, match="flag"):
                tx.insert("t/t", (9, wrong, None))
        for wrong in (NAIVE.replace(tzinfo=datetime.timezone.utc), NAIVE.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))):
            with pytest.raises(hailstone.Invalid, match="no time zone"):
                tx.insert("t/t", (9, None, wrong))
        assert tx.get("t/t", 1) == {"id": 1, "flag": True, "clock": NAIVE}
        assert [(type(row["flag"]), row["clock"]) for row in tx.rows("t/t")] == [
            (bool, NAIVE), (bool, NAIVE), (bool, datetime.datetime(2024, 3, 1)), (type(None), None)]
        scan = tx.scan("t/t")
        assert scan.min("flag") is False and scan.max("clock") == NAIVE and scan.sum("flag") == 1
        assert tx.scan("t/t", where=column("clock") == NAIVE).count() == 2
        assert tx.scan("t/t", where=[("flag", "=", False)]).count() == 2


def test_times_of_a_zone_are_not_taken_for_times_of_none(db):
    db.create_table("t/t", {"clock": "datetime"})
    with pytest.raises(hailstone.Invalid, match="no time zone"):
        db.load("t/t", pa.table({"clock": pa.array([NAIVE], pa.timestamp("us", "UTC"))}))
    db.load("t/t", pa.table({"clock": pa.array([NAIVE], pa.timestamp("us"))}))
    assert db.scan("t/t").count() == 1
