"""TPC-H's queries 1 and 6, and the columns of LINEITEM that they read.

The distributions are those of the TPC-H specification, section 4.2.3 (quantities, prices by the part, discounts, taxes,
dates by the order, flags by the dates); the numbers are drawn by draws.py, not by TPC-H's own program.
"""

from analytic_statement import Statement
from draws import chance, mix

ORDERS_OF_SCALE = 1_500_000

COLUMNS = (("l_quantity", "DECIMAL(15,2)"), ("l_extendedprice", "DECIMAL(15,2)"), ("l_discount", "DECIMAL(15,2)"),
           ("l_tax", "DECIMAL(15,2)"), ("l_returnflag", "CHAR(1)"), ("l_linestatus", "CHAR(1)"), ("l_shipdate", "DATE"))

STATEMENTS = (
    Statement("h1", "TPC-H query 1: all but the last lines, by two flags", """
        SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice),
          SUM(l_extendedprice * (1 - l_discount)), SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
          AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*)
        FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""", order=(0, 1)),
    Statement("h6", "TPC-H query 6: one sum of a filter", """
        SELECT SUM(l_extendedprice * l_discount) FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
          AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""),
)


def rows_of(scale):
    """About: an order has 1 to 7 lines."""
    return 4 * ORDERS_OF_SCALE * scale


def generator(scale):
    """DuckDB's SQL for the rows."""
    parts = max(1, round(200_000 * scale))
    line = "(number * 8 + line)"
    return f"""
        WITH orders AS (
          SELECT number, DATE '1992-01-01' + CAST({mix('number', 1)} % 2406 AS INTEGER) AS ordered, 1 + {mix('number', 2)} % 7 AS lines
          FROM range({round(ORDERS_OF_SCALE * scale)}) AS counted(number)),
        lines AS (
          SELECT number, ordered, unnest(range(lines)) AS line FROM orders),
        drawn AS (
          SELECT 1 + {mix(line, 3)} % 50 AS quantity, 1 + {mix(line, 4)} % {parts} AS part,
            {mix(line, 5)} % 11 AS discount, {mix(line, 6)} % 9 AS tax, {chance(line, 7)} < 0.5 AS returned,
            ordered + CAST(1 + {mix(line, 8)} % 121 AS INTEGER) AS shipped, CAST(1 + {mix(line, 9)} % 30 AS INTEGER) AS days
          FROM lines)
        SELECT quantity, CAST(quantity * (90000 + (part // 10) % 20001 + 100 * (part % 1000)) AS DECIMAL(17,0)) * 0.01,
          discount * 0.01, tax * 0.01,
          CASE WHEN shipped + days > DATE '1995-06-17' THEN 'N' WHEN returned THEN 'R' ELSE 'A' END,
          CASE WHEN shipped > DATE '1995-06-17' THEN 'O' ELSE 'F' END, shipped
        FROM drawn"""
