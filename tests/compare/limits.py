"""Columns of all types for the grid, with the values at the limits of each type."""

import collections

# `letter`: what the column may stand for in a call (calls.py). `values`: literals. `folds`: values that differ may be equal.
Column = collections.namedtuple("Column", "name letter kind values folds", defaults=(False,))

WIDTHS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
LONG = {"char": "CHAR(20)", "varchar": "VARCHAR(700)", "tinytext": "TINYTEXT", "text": "TEXT", "longtext": "LONGTEXT"}
# The first ones are met most often: the engine computes with their characters.
COLLATIONS = ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin", "utf8mb3_general_ci", "latin1_bin",
              "utf8mb4_unicode_nopad_ci", "ascii_general_ci", "cp1251_general_ci", "utf8mb4_general_nopad_ci", "utf8mb4_uca1400_ai_ci", "latin1_german2_ci",
              "utf8mb3_bin", "utf8mb4_spanish2_ci", "koi8r_general_ci", "sjis_japanese_ci", "ucs2_general_ci", "utf16_bin", "gbk_chinese_ci"]
WORDS = ["''", "' '", "'  '", "'a'", "'A'", "'a '", "' a'", "'abc'", "'ABC'", "'aBcAbC'", "'b'", "'é'", "'É'", "'e'", "'ß'", "'ss'", "'日本語'", "'😀'", "'x😀y'", "'я'", "'Я'", "x'00'",
         "CONCAT('a', x'00')", "'12'", "'-3.5e1'", "'1e400'", "' 7 '", "'007'", "'2024-02-29'", "'2024-03-31 02:30:00'", "'%_'", "'a%b'", "'\\\\'", "''''", "'ı'", "'İ'",
         "'ǆ'", "'ŉ'", "'ﬀ'", "'10:20:30'", "'null'", "'[1, 2]'", "'{\"a\": \"b\"}'", "'{\"b\":{\"c\":[ \"é\\\\u00e9\\\\n\" ,null]},\"a\":1e2}'", "'[ {\"b\" : true}, \"日\\\\\"\"]'", "'\"x\\\\ty\"'", "'a,b,c'", "REPEAT('a', 20)", "REPEAT('ab ', 100)", "REPEAT('é', 200)",
         "'9223372036854775808'", "'-9223372036854775809'"]
BYTES = ["''", "' '", "'a'", "'a '", "'A'", "x'00'", "x'0000'", "x'FF'", "x'C3A9'", "x'C3'", "x'00FF10'", "'12'", "'abcdef'", "REPEAT(x'FE', 20)", "REPEAT('ab', 10)", "'2024-02-29'"]
DAYS = ["'0000-00-00'", "'0000-01-01'", "'0001-01-01'", "'1000-01-01'", "'9999-12-31'", "'9999-01-01'", "'2024-02-29'", "'2023-02-28'", "'2024-00-00'", "'2024-05-00'", "'0000-00-07'",
        "'2024-00-15'", "'2024-02-31'", "'2023-02-29'", "'2024-03-31'", "'2024-10-27'", "'1970-01-01'", "'1582-10-15'", "'2024-12-31'", "'2020-01-01'", "'1900-03-01'"]
CLOCKS = ["00:00:00", "23:59:59", "02:30:00", "12:00:00", "01:00:00"]
FRACTIONS = [".999999", ".000001", ".5", ".123456", ""]
STAMPS = ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "'0000-00-00'", "'2024-03-31 00:59:59'", "'2024-03-31 01:00:00'", "'2024-10-27 00:30:00'", "'2024-10-27 01:30:00'",
          "'2024-10-27 00:59:59'", "'2024-10-27 01:00:00'", "'2000-02-29 12:00:00'", "'2024-12-31 23:59:59'", "'1999-12-31 22:00:00'", "'2009-03-29 01:00:00'"]
SPANS = ["'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'", "'23:59:59'", "'24:00:00'", "'12:34:56'", "'-12:00:00'"]
REALS = ["0", "-0e0", "1", "-1", "0.1", "-0.5", "1.5", "2.5", "-2.5", "1e15", "123456789.123", "9007199254740993", "-9223372036854775808", "18446744073709551615", "1e-10", "0.3333333333333333"]


def whole(name, bits, unsigned):
    top = 2 ** bits - 1 if unsigned else 2 ** (bits - 1) - 1
    bottom = 0 if unsigned else -top - 1
    values = [bottom, top, bottom + 1, top - 1, 0, 1, top // 2, 7, 100, 12] + ([2 ** (bits - 1)] if unsigned else [-1, -7, -100])
    return Column(f"c_{'u' if unsigned else ''}{name}", "v" if unsigned else "w", f"{name.upper()}{' UNSIGNED' if unsigned else ''}", [str(value) for value in values])


def decimal_text(units, scale):
    digits = str(abs(units)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if units < 0 else text


def decimal(random, precision, scale, unsigned=False):
    top = 10 ** precision - 1
    units = [0, 1, top, top - 1, 10 ** scale, 5 * 10 ** max(scale - 1, 0), 10 ** (precision - 1), top // 2, top // 3]
    units += [random.randrange(10 ** random.randrange(1, precision + 1)) for _ in range(4)]
    # Where halves are rounded.
    units += [random.randrange(10 ** max(precision - scale, 0)) * 10 ** scale + 5 * 10 ** max(scale - 1, 0) for _ in range(2)]
    units = [min(each, top) for each in units]
    signed = units if unsigned else units + [-each for each in units]
    return Column(f"c_dec{precision}_{scale}{'u' if unsigned else ''}", "e", f"DECIMAL({precision},{scale}){' UNSIGNED' if unsigned else ''}",
                  [decimal_text(each, scale) for each in dict.fromkeys(signed)])


def real(name, kind, largest, least, plain=False):
    return Column(name, "f", kind, REALS[:9] if plain else [*REALS, largest, f"-{largest}", least, f"-{least}"])


def text(random, number, collation):
    name = random.choice([*LONG, "varchar", "varchar", "char"])
    values = random.sample(WORDS, random.choice([6, 12, len(WORDS)]))
    return Column(f"c_{name}{number}", "t", f"{LONG[name]} COLLATE {collation}", [*values, "''", "'a'"], True)


def raw(random, number):
    kind = random.choice(["BINARY(6)", "VARBINARY(300)", "BLOB", "TINYBLOB"])
    return Column(f"c_{kind.partition('(')[0].lower()}{number}", "b", kind, BYTES)


def moments(random):
    at = [f"'{day[1:-1]} {random.choice(CLOCKS)}'" for day in DAYS]
    finer = [f"'{day[1:-1]} {random.choice(CLOCKS)}{random.choice(FRACTIONS)}'" for day in DAYS]
    fine_stamps = [f"'{stamp[1:-1]}{'' if ' ' not in stamp or '03:14:07' in stamp else random.choice(FRACTIONS)}'" for stamp in STAMPS]
    digits = random.choice([1, 2, 3, 4, 5])
    return [Column("c_date", "d", "DATE", DAYS), Column("c_datetime", "d", "DATETIME", [*at, "'9999-12-31 23:59:59'"]),
            Column("c_datetime6", "d", "DATETIME(6)", [*finer, "'9999-12-31 23:59:59.999999'"]), Column("c_timestamp", "d", "TIMESTAMP NULL", STAMPS),
            Column("c_timestamp6", "d", "TIMESTAMP(6) NULL", fine_stamps), Column(f"c_datetime{digits}", "d", f"DATETIME({digits})", finer)]


def any_decimal(random):
    precision = random.choice([random.randrange(1, 66), random.randrange(1, 20), 18, 19, 38, 65])
    return decimal(random, precision, random.randrange(min(precision, 38) + 1), random.random() < 0.1)


def of_all_types(random):
    """Of texts, most have one collation, so that they go together."""
    columns = [whole(name, WIDTHS[name], random.random() < 0.5) for name in random.sample(sorted(WIDTHS), 3)]
    columns += [any_decimal(random) for _ in range(3)]
    columns.append(decimal(random, *random.choice([(10, 2), (18, 2), (15, 4), (18, 0), (9, 9)])))
    columns.append(random.choice([real("c_float", "FLOAT", "3.40282e38", "1.17549e-38"), real("c_double", "DOUBLE", "1.7976931348623157e308", "2.2250738585072014e-308")]))
    columns.append(real("c_real", "DOUBLE", "", "", plain=True))
    collation = random.choice(COLLATIONS[:random.choice([3, 8, len(COLLATIONS)])])
    columns += [text(random, number, collation) for number in range(3)] + [text(random, 3, random.choice(COLLATIONS)), raw(random, 4)]
    columns += random.sample(moments(random), 3)
    columns.append(Column("c_time", "s", "TIME(3)", SPANS))
    columns += [Column("c_enum", "g", f"ENUM('b','a','10') COLLATE {collation}", ["'a'", "'b'", "'10'", "''"]), Column("c_set", "g", f"SET('b','a') COLLATE {collation}", ["''", "'a'", "'b,a'"])]
    columns.append(random.choice([Column("c_year", "v", "YEAR", ["0", "1901", "2155", "2024"]), Column("c_bit", "v", "BIT(17)", ["b'0'", "b'11111111111111111'", "5"]),
                                  Column("c_long_bit", "v", "BIT(64)", ["b'0'", "18446744073709551615", "9223372036854775808", "7"])]))
    columns.append(random.choice([Column("c_filled", "y", "INT(8) UNSIGNED ZEROFILL", ["0", "42", "4294967295"]), Column("c_fixed", "y", "DOUBLE(10,2)", ["0", "-1.25", "99999999.99"])]))
    # Of two DECIMALs with one precision and scale the first is kept.
    return list({column.name: column for column in columns}.values())


def of_decimals(random):
    columns = [any_decimal(random) for _ in range(9)]
    columns += [whole("bigint", 64, False), whole("int", 32, True), real("c_real", "DOUBLE", "", "", plain=True)]
    return list({column.name: column for column in columns}.values())
