"""The star schema benchmark: its tables and its 13 queries, as its specification has them (ssb_data.py names it)."""

import ssb_data
from analytic_statement import Statement, group_of
from analytic_tables import Table

SCHEMA = "ssb"

_PLACE = (("address", "VARCHAR(25)"), ("city", "CHAR(10)"), ("nation", "CHAR(15)"), ("region", "CHAR(12)"), ("phone", "CHAR(15)"))
_NUMBER = "INTEGER"

TABLES = (
    Table("date", (
        ("d_datekey", _NUMBER), ("d_date", "CHAR(18)"), ("d_dayofweek", "CHAR(9)"), ("d_month", "CHAR(9)"), ("d_year", _NUMBER),
        ("d_yearmonthnum", _NUMBER), ("d_yearmonth", "CHAR(7)"), ("d_daynuminweek", _NUMBER), ("d_daynuminmonth", _NUMBER),
        ("d_daynuminyear", _NUMBER), ("d_monthnuminyear", _NUMBER), ("d_weeknuminyear", _NUMBER), ("d_sellingseason", "CHAR(12)"),
        ("d_lastdayinweekfl", _NUMBER), ("d_lastdayinmonthfl", _NUMBER), ("d_holidayfl", _NUMBER), ("d_weekdayfl", _NUMBER)),
        ("PRIMARY KEY (d_datekey)",), "d_datekey"),
    Table("customer", (
        ("c_custkey", _NUMBER), ("c_name", "VARCHAR(25)"), *((f"c_{name}", kind) for name, kind in _PLACE),
        ("c_mktsegment", "CHAR(10)")), ("PRIMARY KEY (c_custkey)",), "c_custkey"),
    Table("supplier", (
        ("s_suppkey", _NUMBER), ("s_name", "CHAR(25)"), *((f"s_{name}", kind) for name, kind in _PLACE)),
        ("PRIMARY KEY (s_suppkey)",), "s_suppkey"),
    Table("part", (
        ("p_partkey", _NUMBER), ("p_name", "VARCHAR(22)"), ("p_mfgr", "CHAR(6)"), ("p_category", "CHAR(7)"), ("p_brand1", "CHAR(9)"),
        ("p_color", "VARCHAR(11)"), ("p_type", "VARCHAR(25)"), ("p_size", _NUMBER), ("p_container", "CHAR(10)")),
        ("PRIMARY KEY (p_partkey)",), "p_partkey"),
    Table("lineorder", (
        ("lo_orderkey", _NUMBER), ("lo_linenumber", _NUMBER), ("lo_custkey", _NUMBER), ("lo_partkey", _NUMBER),
        ("lo_suppkey", _NUMBER), ("lo_orderdate", _NUMBER), ("lo_orderpriority", "CHAR(15)"), ("lo_shippriority", "CHAR(1)"),
        ("lo_quantity", _NUMBER), ("lo_extendedprice", _NUMBER), ("lo_ordtotalprice", _NUMBER), ("lo_discount", _NUMBER),
        ("lo_revenue", _NUMBER), ("lo_supplycost", _NUMBER), ("lo_tax", _NUMBER), ("lo_commitdate", _NUMBER),
        ("lo_shipmode", "CHAR(10)")),
        ("PRIMARY KEY (lo_orderkey, lo_linenumber)", "KEY (lo_custkey)", "KEY (lo_partkey)", "KEY (lo_suppkey)",
         "KEY (lo_orderdate)", "KEY (lo_commitdate)"), "lo_orderdate, lo_orderkey"),
)


def _discounts(name, title, condition):
    return Statement(name, title, "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date "
                     f"WHERE lo_orderdate = d_datekey AND {condition}")


def _brands(name, title, condition):
    return Statement(name, title, "SELECT SUM(lo_revenue), d_year, p_brand1 FROM lineorder, date, part, supplier "
                     f"WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND {condition} "
                     "GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1", order=(1, 2))


def _places(name, title, places, condition):
    return Statement(name, title, f"SELECT {places}, d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, supplier, date "
                     f"WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND {condition} "
                     f"GROUP BY {places}, d_year ORDER BY d_year ASC, revenue DESC", order=(2, 3))


def _profits(name, title, keys, condition):
    return Statement(name, title, f"SELECT {keys}, SUM(lo_revenue - lo_supplycost) AS profit "
                     "FROM date, customer, supplier, part, lineorder WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey "
                     f"AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND {condition} GROUP BY {keys} ORDER BY {keys}",
                     order=tuple(range(len(keys.split(",")))))


_TO_1997 = "d_year >= 1992 AND d_year <= 1997"
_LAST_YEARS = "(d_year = 1997 OR d_year = 1998)"
_TWO_MAKERS = "(p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')"
_TWO_CITIES = "(c_city = 'UNITED KI1' OR c_city = 'UNITED KI5') AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')"

GROUP = group_of("Star schema", "The statements are in `bench/ssb.py`, the rows in `bench/ssb_data.py`.", SCHEMA, (
    _discounts("s1.1", "a sum of a year", "d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
    _discounts("s1.2", "… of a month", "d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35"),
    _discounts("s1.3", "… of a week", "d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 "
               "AND lo_quantity BETWEEN 26 AND 35"),
    _brands("s2.1", "brands of a category, a region's suppliers", "p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
    _brands("s2.2", "… eight brands", "p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
    _brands("s2.3", "… one brand", "p_brand1 = 'MFGR#2221' AND s_region = 'EUROPE'"),
    _places("s3.1", "nations of a region", "c_nation, s_nation", f"c_region = 'ASIA' AND s_region = 'ASIA' AND {_TO_1997}"),
    _places("s3.2", "cities of a nation", "c_city, s_city",
            f"c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND {_TO_1997}"),
    _places("s3.3", "two cities", "c_city, s_city", f"{_TWO_CITIES} AND {_TO_1997}"),
    _places("s3.4", "… in a month", "c_city, s_city", f"{_TWO_CITIES} AND d_yearmonth = 'Dec1997'"),
    _profits("s4.1", "profit by year and nation", "d_year, c_nation",
             f"c_region = 'AMERICA' AND s_region = 'AMERICA' AND {_TWO_MAKERS}"),
    _profits("s4.2", "… by category", "d_year, s_nation, p_category",
             f"c_region = 'AMERICA' AND s_region = 'AMERICA' AND {_LAST_YEARS} AND {_TWO_MAKERS}"),
    _profits("s4.3", "… by city and brand", "d_year, s_city, p_brand1",
             f"c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND {_LAST_YEARS} AND p_category = 'MFGR#14'"),
))


def sources(scale, _):
    """Each table with DuckDB's SQL for its rows."""
    for table in TABLES:
        yield table, ssb_data.rows(table.name, scale)
