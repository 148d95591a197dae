"""TPC-H: its tables, whose rows its own program's twin tpchgen-cli makes, and those of its queries that are one block.

The queries are the specification's (section 2.4) with the parameters of its validation; each is named by its number.
"""

import os

import common
import peer_process
from analytic_statement import Statement, group_of
from analytic_tables import Table

SCHEMA = "tpch"
LINES = 6_000_000    # about, at scale 1
LEAST_SCALE = 0.025  # with less than 240 suppliers PARTSUPP's rule gives some part the same one twice

_KEY, _MONEY = "INTEGER", "DECIMAL(15,2)"

TABLES = (
    Table("region", (("r_regionkey", _KEY), ("r_name", "CHAR(25)"), ("r_comment", "VARCHAR(152)")), ("PRIMARY KEY (r_regionkey)",), "r_regionkey"),
    Table("nation", (("n_nationkey", _KEY), ("n_name", "CHAR(25)"), ("n_regionkey", _KEY), ("n_comment", "VARCHAR(152)")),
          ("PRIMARY KEY (n_nationkey)", "KEY (n_regionkey)"), "n_nationkey"),
    Table("supplier", (
        ("s_suppkey", _KEY), ("s_name", "CHAR(25)"), ("s_address", "VARCHAR(40)"), ("s_nationkey", _KEY), ("s_phone", "CHAR(15)"),
        ("s_acctbal", _MONEY), ("s_comment", "VARCHAR(101)")), ("PRIMARY KEY (s_suppkey)", "KEY (s_nationkey)"), "s_suppkey"),
    Table("customer", (
        ("c_custkey", _KEY), ("c_name", "VARCHAR(25)"), ("c_address", "VARCHAR(40)"), ("c_nationkey", _KEY), ("c_phone", "CHAR(15)"),
        ("c_acctbal", _MONEY), ("c_mktsegment", "CHAR(10)"), ("c_comment", "VARCHAR(117)")),
        ("PRIMARY KEY (c_custkey)", "KEY (c_nationkey)"), "c_custkey"),
    Table("part", (
        ("p_partkey", _KEY), ("p_name", "VARCHAR(55)"), ("p_mfgr", "CHAR(25)"), ("p_brand", "CHAR(10)"), ("p_type", "VARCHAR(25)"),
        ("p_size", "INTEGER"), ("p_container", "CHAR(10)"), ("p_retailprice", _MONEY), ("p_comment", "VARCHAR(23)")),
        ("PRIMARY KEY (p_partkey)",), "p_partkey"),
    Table("partsupp", (
        ("ps_partkey", _KEY), ("ps_suppkey", _KEY), ("ps_availqty", "INTEGER"), ("ps_supplycost", _MONEY),
        ("ps_comment", "VARCHAR(199)")), ("PRIMARY KEY (ps_partkey, ps_suppkey)", "KEY (ps_suppkey)"), "ps_partkey, ps_suppkey"),
    Table("orders", (
        ("o_orderkey", _KEY), ("o_custkey", _KEY), ("o_orderstatus", "CHAR(1)"), ("o_totalprice", _MONEY), ("o_orderdate", "DATE"),
        ("o_orderpriority", "CHAR(15)"), ("o_clerk", "CHAR(15)"), ("o_shippriority", "INTEGER"), ("o_comment", "VARCHAR(79)")),
        ("PRIMARY KEY (o_orderkey)", "KEY (o_custkey)"), "o_orderdate, o_orderkey"),
    Table("lineitem", (
        ("l_orderkey", _KEY), ("l_partkey", _KEY), ("l_suppkey", _KEY), ("l_linenumber", "INTEGER"), ("l_quantity", _MONEY),
        ("l_extendedprice", _MONEY), ("l_discount", _MONEY), ("l_tax", _MONEY), ("l_returnflag", "CHAR(1)"),
        ("l_linestatus", "CHAR(1)"), ("l_shipdate", "DATE"), ("l_commitdate", "DATE"), ("l_receiptdate", "DATE"),
        ("l_shipinstruct", "CHAR(25)"), ("l_shipmode", "CHAR(10)"), ("l_comment", "VARCHAR(44)")),
        ("PRIMARY KEY (l_orderkey, l_linenumber)", "KEY (l_partkey, l_suppkey)", "KEY (l_suppkey)"), "l_shipdate, l_orderkey"),
)


def _statement(name, title, sql, **more):
    return Statement(name, title, " ".join(sql.split()), **more)


_FILTER = """
        SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
          AND l_discount BETWEEN {} AND {} AND l_quantity < 24"""


GROUP = group_of("TPC-H", "The statements are in `bench/tpch.py`, the rows are those of tpchgen-cli.", SCHEMA, (
    _statement("h1", "query 1: all but the last lines, by two flags", """
        SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
          SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
          SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
          AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""", order=(0, 1)),
    _statement("h3", "query 3: greatest orders not yet shipped", """
        SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10""", order=(1, 2), limit=10),
    _statement("h5", "query 5: suppliers in the customer's nation", """
        SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
          AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
          AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY n_name ORDER BY revenue DESC""", order=(1,)),
    # ClickHouse would compute 0.06 + 0.01 as floating-point numbers, which are less than 0.07.
    _statement("h6", "query 6: one sum of a filter", _FILTER.format("0.06 - 0.01", "0.06 + 0.01"),
               clickhouse=_FILTER.format("0.05", "0.07")),
    _statement("h7", "query 7: trade between two nations", """
        SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
        FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(YEAR FROM l_shipdate) AS l_year,
                l_extendedprice * (1 - l_discount) AS volume
              FROM supplier, lineitem, orders, customer, nation n1, nation n2
              WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
                AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
                AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
                AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping
        GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""", order=(0, 1, 2)),
    _statement("h8", "query 8: a nation's share of a market", """
        SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
        FROM (SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
              FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
              WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
                AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
                AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
                AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations
        GROUP BY o_year ORDER BY o_year""", order=(0,)),
    _statement("h9", "query 9: profit by nation and year", """
        SELECT nation, o_year, SUM(amount) AS sum_profit
        FROM (SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS o_year,
                l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
              FROM part, supplier, lineitem, partsupp, orders, nation
              WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
                AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""", order=(0, 1)),
    _statement("h10", "query 10: customers who sent back most", """
        SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
          c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
          AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20""",
               order=(2,), limit=20),
    _statement("h12", "query 12: late lines by mode of shipping", """
        SELECT l_shipmode,
          SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
          SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
          AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
          AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY l_shipmode ORDER BY l_shipmode""", order=(0,)),
    _statement("h14", "query 14: share of promoted parts", """
        SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) /
          SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem, part
        WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH"""),
    _statement("h19", "query 19: three kinds of parts and quantities", """
        SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part
        WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'AIR REG')
            AND l_shipinstruct = 'DELIVER IN PERSON')
          OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR', 'AIR REG')
            AND l_shipinstruct = 'DELIVER IN PERSON')
          OR (p_partkey = l_partkey AND p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR', 'AIR REG')
            AND l_shipinstruct = 'DELIVER IN PERSON')"""),
))

# Subqueries within subqueries: the server's work.
NESTED = _statement("h20", "query 20: suppliers with too much of some parts", """
    SELECT s_name, s_address FROM supplier, nation
    WHERE s_suppkey IN (
        SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
          AND ps_availqty > (
            SELECT 0.5 * SUM(l_quantity) FROM lineitem
            WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= DATE '1994-01-01'
              AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR))
      AND s_nationkey = n_nationkey AND n_name = 'CANADA'
    ORDER BY s_name""", order=(0,))


def sources(scale, folder):
    """Each table with DuckDB's SQL for its rows, which lie in the folder until the next one is asked for."""
    common.run([peer_process.TPCHGEN, "parquet", "--scale-factor", str(scale), "--output-dir", folder, "--quiet"], "tpchgen-cli")
    for table in TABLES:
        path = os.path.join(folder, f"{table.name}.parquet")
        yield table, f"SELECT * FROM '{path}'"
        os.remove(path)
