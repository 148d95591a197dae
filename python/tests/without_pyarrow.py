"""without_pyarrow.py FOLDER: rows go in and out of tables where pyarrow is not installed, and what needs it says so."""

import sys

sys.modules["pyarrow"] = None  # also where it is installed
import hailstone  # noqa: E402

with hailstone.open(sys.argv[1]) as database:
    database.create_table("t/t", {"id": "int64", "name": "string"}, primary_key=["id"])
    with database.begin() as tx:
        tx.insert("t/t", {"id": 1, "name": "Ada"})
        tx.insert("t/t", {"id": 2, "name": None})
    with database.begin() as tx:
        assert tx.get("t/t", 1)["name"] == "Ada"
        assert [row["id"] for row in tx.rows("t/t")] == [1, 2]
    assert database.scan("t/t").count() == 2
    try:
        database.scan("t/t").to_arrow()
    except ImportError as error:
        assert "pyarrow" in str(error), error
    else:
        sys.exit("to_arrow() works without pyarrow")

try:
    import hailstone.__main__  # noqa: F401
except SystemExit as end:
    assert "pyarrow" in str(end), end
else:
    sys.exit("python3 -m hailstone works without pyarrow")
