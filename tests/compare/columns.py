"""Kinds of columns for random tables, and literals for them: the extremes of each type, and what is hard to compare."""

# Of a kind of column: its type, and its values. Those of strings differ where they are not the same. No zero has a sign:
# 10.11.18 stores none, and 11.8.6 stores it and makes two groups of zeros in its temporary tables.
COLUMNS = {
    "tiny": ("TINYINT", ["-128", "-1", "0", "1", "127"]),
    "utiny": ("TINYINT UNSIGNED ZEROFILL", ["0", "1", "200", "255"]),
    "small": ("SMALLINT", ["-32768", "5", "32767", "0"]),
    "medium": ("MEDIUMINT", ["-8388608", "77", "8388607"]),
    "plain": ("INT", ["-2147483648", "-7", "0", "7", "2147483647"]),
    "big": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "0", "1", "-1", "123456789012"]),
    "ubig": ("BIGINT UNSIGNED", ["18446744073709551615", "18446744073709551614", "9223372036854775808", "0", "3"]),
    "year": ("YEAR", ["0", "1999", "2024"]),
    "single": ("FLOAT", ["0", "1.5", "0.1", "-3e38"]),
    "fixed": ("FLOAT(7,3)", ["0", "1.25", "-99.999"]),
    "precise": ("DOUBLE", ["0", "1e-40", "0.1", "-1e300"]),
    "quarter": ("DOUBLE", ["0.25", "-3.5", "1000.75", "0"]),
    "rounded": ("DOUBLE(10,2)", ["0.25", "-3.5", "1000.75", "0", "1.13"]),
    "money": ("DECIMAL(10,2)", ["0", "-0.00", "1.50", "-99999999.99", "0.01", "9.99", "-10.00", "-99999.99"]),
    "price": ("DECIMAL(18,2)", ["0", "9999999999999999.99", "-9999999999999999.99", "12.50", "-0.01", "7"]),
    "share": ("DECIMAL(9,9)", ["0", "0.999999999", "-0.999999999", "0.000000001", "0.5"]),
    "total": ("DECIMAL(30,6)", ["0", "-0.000001", "999999999999999999999999.999999", "9223372036854.775807", "-9223372036854.775809", "5"]),
    "beyond": ("DECIMAL(45,3)", ["0", "-0.001", "123456789012345678901234567890123456789012.345"]),
    "wide": ("DECIMAL(38,10)", ["0", "12345678901234567890.0123456789", "-1.5"]),
    "day": ("DATE", ["'2001-02-03'", "'0000-00-00'", "'1000-01-01'", "'9999-12-31'", "'2024-00-00'"]),
    "moment": ("DATETIME(3)", ["'2001-02-03 04:05:06.789'", "'0000-00-00'", "'2024-10-27 02:30:00'"]),
    # In some zones there are two such moments, in some none.
    "stamp": ("TIMESTAMP NULL", ["'2024-10-27 00:30:00'", "'2024-10-27 01:30:00'", "'2024-10-27 02:30:00'", "'2024-03-31 02:30:00'",
                                 "'2009-03-29 02:59:59'", "'1970-01-01 12:00:01'", "'2038-01-18 03:14:07'", "'0000-00-00'"]),
    "instant": ("TIMESTAMP(6) NULL", ["'2024-10-27 01:59:59.999999'", "'2024-10-27 03:00:00'", "'2009-10-25 02:15:00.5'", "'2024-07-01 00:00:00'",
                                      "'2024-03-31 03:00:00.000001'", "'0000-00-00'"]),
    "span": ("TIME(2)", ["'-838:59:59'", "'00:00:00'", "'12:34:56.78'"]),
    "kind": ("ENUM('z','y','a')", ["'z'", "'y'", "'a'"]),
    "flags": ("SET('c','b','a')", ["''", "'a'", "'b,a'", "'c,b,a'"]),
    "bits": ("BIT(9)", ["b'0'", "b'101010101'", "b'1'"]),
    "fold": ("VARCHAR(20) COLLATE utf8mb4_general_ci", ["'a'", "'A'", "'a '", "''", "' '", "'é'", "'e'", "'ß'"]),
    "nopad": ("VARCHAR(20) COLLATE utf8mb4_general_nopad_ci", ["'a'", "'A'", "'a '", "''", "'b'"]),
    "filled": ("CHAR(10) COLLATE utf8mb4_unicode_ci", ["'a'", "'A'", "'ss'", "'ß'", "''"]),
    "exact": ("VARCHAR(30) COLLATE utf8mb4_bin", ["'x'", "'X'", "'x y'", "''"]),
    "raw": ("VARBINARY(20)", ["'x'", "'x '", "x'00'", "''"]),
    "fixed_raw": ("BINARY(4)", ["'x'", "x'00000001'", "''"]),
    "body": ("TEXT COLLATE latin1_swedish_ci", ["'one'", "'ONE'", "'two'", "REPEAT('long', 400)"]),
    "lump": ("BLOB", ["'one'", "'ONE'", "x'00'"]),
    "grouped": ("INT COLUMNAR=0", ["1", "2", "3", "4"]),
    # Texts of which equal ones are the same.
    "story": ("LONGTEXT COLLATE utf8mb4_nopad_bin", ["'abc'", "'zeb'", "'mm'", "''", "' '", "'a '", "'É'", "'ß'", "REPEAT('xy', 300)"]),
    "short": ("TINYTEXT COLLATE utf8mb4_nopad_bin", ["'a'", "'a '", "'B'", "'12'", "'-3.5e1'", "''"]),
    "medium_lump": ("MEDIUMBLOB", ["'one'", "x'00'", "x'FF00'", "''", "' '"]),
    "document": ("JSON", ["'{}'", "'[]'", "'[1, 2, \"x\"]'", "'{\"a\": 1, \"b\": {\"c\": [true, null]}}'", "'{\"a\": \"é\", \"n\": 1.50}'", "'\"text\"'", "'-7'", "'null'"]),
    "packed": ("VARCHAR(400) COMPRESSED COLLATE utf8mb4_nopad_bin", ["'a'", "'B '", "''", "'12'", "REPEAT('ab', 120)", "REPEAT('long ', 60)", "'ß'"]),
    "packed_text": ("TEXT COMPRESSED COLLATE latin1_nopad_bin", ["'one'", "'ONE'", "''", "REPEAT('two ', 400)", "REPEAT('x', 99)", "REPEAT('x', 100)"]),
    "packed_lump": ("BLOB COMPRESSED", ["'one'", "x'00'", "''", "REPEAT('z', 700)", "REPEAT(x'00FF', 70)"]),
    "packed_raw": ("VARBINARY(300) COMPRESSED", ["'a'", "'a '", "x'0001'", "''", "REPEAT('raw', 80)"]),
    "label": ("UUID", ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'6ccd780c-baba-1026-9564-5b8c656024db'",
                       "'6ccd780c-baba-4026-9564-5b8c656024db'", "'0ccd780c-baba-1026-8564-5b8c656024dc'"]),
    "address": ("INET6", ["'::'", "'::1'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'::ffff:192.0.2.128'", "'2001:db8::ff00:42:8329'"]),
    "old_address": ("INET4", ["'0.0.0.0'", "'255.255.255.255'", "'192.0.2.128'", "'10.0.0.1'"]),
    "deep": ("DECIMAL(65,30)", ["0", "-0.000000000000000000000000000001", "99999999999999999999999999999999999.999999999999999999999999999999", "1.5",
                                "-99999999999999999999999999999999999.999999999999999999999999999999", "5000000000000000000000000000.5"]),
    "huge": ("DECIMAL(65,0)", ["0", "-1", "99999999999999999999999999999999999999999999999999999999999999999",
                               "-99999999999999999999999999999999999999999999999999999999999999999", "9000000000000000000000000000"]),
    "thin": ("DECIMAL(38,38)", ["0", "0.99999999999999999999999999999999999999", "-0.00000000000000000000000000000000000001", "-0.5"]),
    "numbered": ("INT(8) UNSIGNED ZEROFILL", ["0", "7", "42", "4294967295"]),
    "padded": ("DECIMAL(12,3) ZEROFILL", ["0", "1.5", "999999999.999", "12.34"]),
    "zero_filled": ("BIGINT(20) ZEROFILL", ["0", "18446744073709551615", "9223372036854775808", "5"]),
    "far": ("DOUBLE", ["0", "1e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "1", "-0.5"]),
    "bit": ("BIT(1)", ["b'0'", "b'1'"]),
    "word": ("BIT(64)", ["b'0'", "x'FFFFFFFFFFFFFFFF'", "x'8000000000000000'", "b'101'"]),
    "choice": ("ENUM('','b','a','10','9')", ["'b'", "'a'", "'10'", "'9'", "''"]),
    "many": ("SET('x','10','9','y','z1','z2','z3','z4','z5')", ["''", "'x'", "'10,9'", "'x,z5'", "'x,10,9,y,z1,z2,z3,z4,z5'"]),
    "moment6": ("DATETIME(6)", ["'9999-12-31 23:59:59.999999'", "'0000-00-00'", "'1000-01-01'", "'2024-02-29 12:00:00.000001'", "'0001-01-01'"]),
    "span6": ("TIME(6)", ["'838:59:59.999999'", "'-838:59:59.999999'", "'00:00:00'", "'-00:00:00.000001'", "'23:59:59.5'"]),
    "glyphs": ("CHAR(5) COLLATE utf8mb4_nopad_bin", ["'a'", "'😀'", "''", "' b'", "'12345'"]),
}
# What few tables have besides: virtual columns, made of other virtual ones, too, and their definitions, where <a> is a column with a default.
VIRTUAL = {
    "twice": "INT AS (id * 2 - NULLIF(id % 5, 3) * 0) VIRTUAL",
    "thrice": "BIGINT AS (twice + 1) VIRTUAL",
    "told": "VARCHAR(30) COLLATE utf8mb4_nopad_bin AS (CONCAT('v', thrice)) VIRTUAL",
    "quoted": "TEXT COLLATE utf8mb4_nopad_bin AS (CONCAT(QUOTE(told), ' ', UPPER(told))) VIRTUAL",
    "with_default": "VARCHAR(200) COLLATE utf8mb4_nopad_bin AS (CONCAT_WS(' ', HEX(<a>), HEX(DEFAULT(<a>)), thrice)) VIRTUAL",
}
# Bounds of partitions of a column; of others they are told by a hash, or by the server's own functions.
BOUNDS = {
    "tiny": ["-5", "1", "100"], "small": ["0", "6"], "plain": ["-7", "5", "60"], "big": ["-1", "2", "100"], "ubig": ["2", "100"],
    "grouped": ["2", "3"], "day": ["'0000-00-00'", "'2001-02-03'", "'2024-01-01'"], "moment": ["'2001-02-03 04:05:06.789'", "'2020-01-01'"],
    "fold": ["'a'", "'b'"], "nopad": ["'A '", "'b'"], "filled": ["'b'", "'t'"], "exact": ["'X'", "'x'"], "raw": ["'x'", "'y'"], "fixed_raw": ["'x'"],
}
FOLDED = {"fold", "filled", "body", "nopad"}  # different strings may be equal: any of them may stand for all
COUNTED = {"bits", "bit", "word"}  # what the server shows of it depends on its plan
PACKED = {"packed", "packed_text", "packed_lump", "packed_raw"}  # the server compresses them, and makes no keys of them
FILLED = {"utiny", "year", "numbered", "padded", "zero_filled"}  # whether a least or greatest one has zeros in front is up to the server's plan
LONG = {"body", "lump", "story", "short", "medium_lump", "document"} | PACKED  # neither keys nor partitions of whole values
NUMBERS = ["tiny", "utiny", "small", "medium", "plain", "big", "ubig", "grouped", "id"]
DECIMALS = {"money": (10, 2), "price": (18, 2), "share": (9, 9), "total": (30, 6), "wide": (38, 10), "beyond": (45, 3), "deep": (65, 30),
            "thin": (38, 38)}  # digits, behind the point
SPREAD = ["money", "share"]  # not so near to each other that spreads would be all rounding
STAMPS = ["stamp", "instant"]


def decimal_near_border(random, name):
    """A number where the digits become one more or one fewer, in front of the point or behind it."""
    digits, behind = DECIMALS[name]
    units = min(10 ** random.randrange(digits + 1) + random.choice([-1, -1, 0, 1]), 10 ** digits - 1)
    text = str(units).rjust(behind + 1, "0")
    return f"{random.choice(['', '-'])}{text[:-behind]}.{text[-behind:]}"


def literal(random, name):
    """Never NULL."""
    if name in DECIMALS and name not in SPREAD and random.random() < 0.5:
        return decimal_near_border(random, name)
    return random.choice(COLUMNS[name][1])
