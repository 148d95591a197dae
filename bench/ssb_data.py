"""Rows of the star schema benchmark's tables, made by DuckDB's SQL: the shapes of its specification, drawn by draws.py.

P. O'Neil, E. O'Neil, X. Chen: The Star Schema Benchmark (SSB), January 2007 and Revision 3, June 2009: the tables, their
numbers of rows at a scale and the values of each column. What it takes from TPC-H without saying it again (lines of an
order, days, prices by the part, customers without orders, the lists of words) is as TPC-H's specification has it, section
4.2. Prices are in cents.
"""

import math

from draws import mix, pick, wide

CUSTOMERS, SUPPLIERS, ORDERS, PARTS = 30_000, 2_000, 1_500_000, 200_000  # at scale 1
FIRST_DAY, DAYS = "DATE '1992-01-01'", 7 * 365 + 2
ORDER_DAYS = 2406  # so that the last order's lines arrive in the calendar's last year
MOST_LINES = 7     # of an order

# In the order of TPC-H's keys; a nation's region is a place in REGIONS.
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
           ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
           ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
           ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1))
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
TYPES = (("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
         ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"), ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"))
CONTAINERS = (("SM", "LG", "MED", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"))
TONES = ("pale", "dark", "soft", "deep")
HUES = ("red", "rose", "plum", "blue", "navy", "sky", "teal", "cyan", "lime", "green", "olive", "sand", "gold", "amber",
        "peach", "rust", "brown", "linen", "snow", "grey", "steel", "black", "mauve", "pink")
COLOURS = [f"{tone} {hue}" for tone in TONES for hue in HUES][:94]


def rows(table, scale):
    """DuckDB's SQL for a table's rows."""
    return {"date": _date, "customer": _customer, "supplier": _supplier, "part": _part, "lineorder": _lineorder}[table](scale)


def lines_of(scale):
    """About: an order has 1 to 7 lines."""
    return 4 * ORDERS * scale


def _parts(scale):
    return round(PARTS * (math.floor(1 + math.log2(scale)) if scale >= 1 else scale))


def _texts(values):
    return [f"'{value}'" for value in values]


def _date(_):
    return f"""
        WITH days AS (SELECT {FIRST_DAY} + CAST(number AS INTEGER) AS day FROM range({DAYS}) AS counted(number)),
        parts AS (SELECT day, year(day) AS year, month(day) AS month, day(day) AS number, dayofyear(day) AS of_year,
                    dayofweek(day) AS of_week FROM days)
        SELECT year * 10000 + month * 100 + number, monthname(day) || ' ' || number || ', ' || year, dayname(day), monthname(day),
          year, year * 100 + month, left(monthname(day), 3) || year, 1 + of_week, number, of_year, month, 1 + (of_year - 1) // 7,
          CASE WHEN month = 12 THEN 'Christmas' WHEN month >= 9 THEN 'Fall' WHEN month >= 6 THEN 'Summer'
            WHEN month >= 3 THEN 'Spring' ELSE 'Winter' END,
          CAST(of_week = 6 AS INTEGER), CAST(day = last_day(day) AS INTEGER),
          CAST((month, number) IN ((1, 1), (7, 4), (12, 25), (12, 26)) AS INTEGER), CAST(of_week BETWEEN 1 AND 5 AS INTEGER)
        FROM parts ORDER BY day"""


def _place(salt):
    """Address, city, nation, region and telephone of a row with a `number`, and a `nation` that is a place in NATIONS."""
    name = f"[{', '.join(_texts(name for name, _ in NATIONS))}][nation + 1]"
    region = f"[{', '.join(_texts(REGIONS[region] for _, region in NATIONS))}][nation + 1]"
    return f"""
          left(lower(to_base({wide('number', salt)}, 36) || ' ' || to_base({wide('number', salt + 1)}, 36)), 25),
          left(rpad({name}, 9, ' '), 9) || {mix('number', salt + 2)} % 10, {name}, {region},
          (10 + nation) || '-' || (100 + {mix('number', salt + 3)} % 900) || '-' || (100 + {mix('number', salt + 4)} % 900)
            || '-' || (1000 + {mix('number', salt + 5)} % 9000)"""


def _placed(count, salt):
    return f"(SELECT 1 + number AS number, {mix('number', salt)} % 25 AS nation FROM range({count}) AS counted(number))"


def _customer(scale):
    return f"""
        SELECT number, 'Customer' || number, {_place(20)}, {pick(_texts(SEGMENTS), 'number', 26)}
        FROM {_placed(round(CUSTOMERS * scale), 27)}"""


def _supplier(scale):
    return f"SELECT number, 'Supplier' || number, {_place(30)} FROM {_placed(round(SUPPLIERS * scale), 36)}"


def _part(scale):
    kind, container = (" || ' ' || ".join(pick(_texts(words), "number", salt + place) for place, words in enumerate(lists))
                       for lists, salt in ((TYPES, 40), (CONTAINERS, 43)))
    return f"""
        WITH drawn AS (
          SELECT 1 + number AS number, 1 + {mix('number', 45)} % 5 AS maker, 1 + {mix('number', 46)} % 5 AS category,
            1 + {mix('number', 47)} % 40 AS brand FROM range({_parts(scale)}) AS counted(number))
        SELECT number, {pick(_texts(COLOURS), 'number', 48)} || ' ' || {pick(_texts(HUES), 'number', 49)}, 'MFGR#' || maker,
          'MFGR#' || maker || category, 'MFGR#' || maker || category || brand, {pick(_texts(COLOURS), 'number', 50)},
          {kind}, 1 + {mix('number', 51)} % 50, {container}
        FROM drawn"""


def _quantity(line):
    return f"(1 + {mix(line, 60)} % 50)"


def _part_of(line, scale):
    return f"(1 + {mix(line, 61)} % {_parts(scale)})"


def _price_of(part):
    return f"(90000 + ({part} // 10) % 20001 + 100 * ({part} % 1000))"


def _discount(line):
    return f"({mix(line, 62)} % 11)"


def _tax(line):
    return f"({mix(line, 63)} % 9)"


def _lineorder(scale):
    def charged(place):
        line = f"(number * 8 + {place})"
        return (f"{_quantity(line)} * {_price_of(_part_of(line, scale))} * (100 - {_discount(line)}) * (100 + {_tax(line)}) "
                "// 10000")

    def day(of):
        return f"CAST(strftime({FIRST_DAY} + CAST({of} AS INTEGER), '%Y%m%d') AS INTEGER)"

    customer = f"({mix('number', 66)} % {max(1, round(CUSTOMERS * scale * 2 / 3))})"
    line = "(number * 8 + line)"
    return f"""
        WITH orders AS (
          SELECT number, 1 + {mix('number', 64)} % {MOST_LINES} AS lines, {mix('number', 65)} % {ORDER_DAYS} AS day,
            list_sum([{', '.join(map(charged, range(MOST_LINES)))}][:lines]) AS total
          FROM range({round(ORDERS * scale)}) AS counted(number)),
        lines AS (SELECT *, unnest(range(lines)) AS line FROM orders),
        drawn AS (
          SELECT *, {_part_of(line, scale)} AS part, {_quantity(line)} AS quantity, {_discount(line)} AS discount FROM lines),
        priced AS (SELECT *, {_price_of('part')} AS price, quantity * {_price_of('part')} AS extended FROM drawn)
        SELECT 32 * (number // 8) + number % 8 + 1, 1 + line, 1 + 3 * ({customer} // 2) + {customer} % 2, part,
          1 + {mix(line, 67)} % {max(1, round(SUPPLIERS * scale))}, {day('day')}, {pick(_texts(PRIORITIES), 'number', 68)}, '0',
          quantity, extended, total, discount, extended * (100 - discount) // 100, 6 * price // 10, {_tax(line)},
          {day(f"day + 30 + {mix(line, 69)} % 61")}, {pick(_texts(MODES), line, 70)}
        FROM priced"""
