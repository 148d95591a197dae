"""Polars for peer_process.py: TPC-H's queries of bench/tpch_library.py. Money, percentages and quantities are hundredths."""

import os
from datetime import date

os.environ["POLARS_MAX_THREADS"] = "2"  # read when polars is imported

import common  # noqa: E402
import polars  # noqa: E402
from peer_worker import serve  # noqa: E402
from polars import col  # noqa: E402

_TYPES = {"INTEGER": polars.Int32, "BIGINT": polars.Int64, "DATE": polars.Date}
REVENUE = col("l_extendedprice") * (100 - col("l_discount"))
YEAR = (date(1994, 1, 1), date(1995, 1, 1))


def q1(t):
    price = REVENUE
    return (t["lineitem"].filter(col("l_shipdate") <= date(1998, 9, 2)).group_by("l_returnflag", "l_linestatus")
            .agg(col("l_quantity").sum().alias("sum_qty"), col("l_extendedprice").sum().alias("sum_base_price"),
                 price.sum().alias("sum_disc_price"), (price * (100 + col("l_tax"))).sum().alias("sum_charge"),
                 col("l_quantity").mean().alias("avg_qty"), col("l_extendedprice").mean().alias("avg_price"),
                 col("l_discount").mean().alias("avg_disc"), polars.len().alias("count_order"))
            .sort("l_returnflag", "l_linestatus"))


def q3(t):
    return (t["customer"].filter(col("c_mktsegment") == "BUILDING")
            .join(t["orders"].filter(col("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
            .join(t["lineitem"].filter(col("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
            .group_by("o_orderkey", "o_orderdate", "o_shippriority").agg(REVENUE.sum().alias("revenue"))
            .sort("revenue", "o_orderdate", descending=[True, False]).head(10)
            .select("o_orderkey", "revenue", "o_orderdate", "o_shippriority"))


def q5(t):
    return (t["region"].filter(col("r_name") == "ASIA")
            .join(t["nation"], left_on="r_regionkey", right_on="n_regionkey")
            .join(t["customer"], left_on="n_nationkey", right_on="c_nationkey")
            .join(t["orders"].filter(col("o_orderdate").is_between(*YEAR, closed="left")), left_on="c_custkey", right_on="o_custkey")
            .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
            .join(t["supplier"], left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
            .group_by("n_name").agg(REVENUE.sum().alias("revenue")).sort("revenue", descending=True))


def q6(t):
    return (t["lineitem"].filter(col("l_shipdate").is_between(*YEAR, closed="left") & col("l_discount").is_between(5, 7)
                                 & (col("l_quantity") < 2400))
            .select((col("l_extendedprice") * col("l_discount")).sum().alias("revenue")))


def q12(t):
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (t["orders"].join(
        t["lineitem"].filter(col("l_shipmode").is_in(["MAIL", "SHIP"]) & (col("l_commitdate") < col("l_receiptdate"))
                             & (col("l_shipdate") < col("l_commitdate")) & col("l_receiptdate").is_between(*YEAR, closed="left")),
        left_on="o_orderkey", right_on="l_orderkey")
            .group_by("l_shipmode").agg(urgent.cast(polars.Int64).sum().alias("high"), (~urgent).cast(polars.Int64).sum().alias("low"))
            .sort("l_shipmode"))


def q14(t):
    promoted = polars.when(col("p_type").str.starts_with("PROMO")).then(REVENUE).otherwise(0)
    return (t["lineitem"].filter(col("l_shipdate").is_between(date(1995, 9, 1), date(1995, 10, 1), closed="left"))
            .join(t["part"], left_on="l_partkey", right_on="p_partkey")
            .select((100.0 * promoted.sum() / REVENUE.sum()).alias("promo_revenue")))


def q18(t):
    large = t["lineitem"].group_by("l_orderkey").agg(col("l_quantity").sum().alias("quantity")).filter(col("quantity") > 30000)
    return (t["orders"].join(large, left_on="o_orderkey", right_on="l_orderkey", how="semi")
            .join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
            .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
            .group_by("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
            .agg(col("l_quantity").sum().alias("quantity"))
            .sort("o_totalprice", "o_orderdate", descending=[True, False]).head(100))


QUERIES = {query.__name__: query for query in (q1, q3, q5, q6, q12, q14, q18)}


class Worker:
    def __init__(self):
        self._tables = {}

    def open(self):
        return polars.__version__

    def load(self, table, columns, path):
        """Into memory. Texts of few values stay texts, as in the other engines' tables."""
        types = {name: _TYPES.get(kind, polars.String) for name, kind in columns}
        self._tables[table] = polars.read_csv(path, separator="\t", has_header=False, quote_char=None, schema=types).lazy()

    def measured(self, query):
        """(seconds, seconds of the processor, rows)"""
        return common.measured(lambda: QUERIES[query](self._tables).collect(engine="streaming").rows())


common.main(lambda: serve(Worker(), polars.exceptions.PolarsError))
