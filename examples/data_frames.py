"""A table as data frames: bulk load from Arrow, a filtered scan to pandas and polars, sums inside the engine.
  data_frames.py DIRECTORY"""

import random
import sys

import pyarrow as pa

import hailstone

chance = random.Random(2014)
rows = 500_000
measurements = pa.table({
    "at": pa.array(range(1_700_000_000_000_000, 1_700_000_000_000_000 + rows * 1_000_000, 1_000_000), pa.timestamp("us")),
    "sensor": [chance.choice(["attic", "cellar", "garden"]) for _ in range(rows)],
    "degrees": [round(chance.gauss(18, 6), 1) for _ in range(rows)],
})

with hailstone.open(sys.argv[1]) as db:
    db.load("house/measurement", measurements, create=True, primary_key=["at"])

    warm = db.scan("house/measurement", columns=["sensor", "degrees"],
                   where=(hailstone.column("degrees") > 30) & (hailstone.column("sensor") != "attic"))
    print(warm.aggregate(rows="rows", least=("min", "degrees"), most=("max", "degrees"), total=("sum", "degrees")))
    print(warm.to_pandas().groupby("sensor").degrees.mean())
    print(warm.to_polars().head(3))

    with db.begin() as transaction:
        key = measurements["at"][0].as_py()
        transaction.update("house/measurement", key, {"degrees": 21.5})
        print(transaction.get("house/measurement", key))
