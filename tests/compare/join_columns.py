"""The columns of the tables that random joins read."""

# Of a kind of column: its type, its values, and with which kinds it is compared. Numbers beside texts would warn for rows that a plan
# does not meet.
COLUMNS = {
    "tiny": ("TINYINT", ["-128", "-1", "0", "1", "2", "127"], "number"),
    "utiny": ("TINYINT UNSIGNED", ["0", "1", "2", "255"], "number"),
    "plain": ("INT", ["-2147483648", "-1", "0", "1", "2", "2147483647"], "number"),
    "whole": ("INT NOT NULL", ["-1", "0", "1", "2", "3"], "number"),
    "big": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "-1", "0", "1"], "number"),
    "ubig": ("BIGINT UNSIGNED", ["18446744073709551615", "9223372036854775808", "9223372036854775807", "0", "1", "2"], "number"),
    "money": ("DECIMAL(10,2)", ["-1", "0", "1.00", "1.50", "2"], "number"),
    "price": ("DECIMAL(15,2) NOT NULL", ["-1", "0", "1.00", "1.50", "2"], "number"),
    "exact": ("DECIMAL(18,4)", ["-1", "0", "1.0000", "1.5000", "2"], "number"),
    "wide": ("DECIMAL(30,2)", ["-1", "0", "1.00", "1.50", "2"], "number"),
    "precise": ("DOUBLE", ["-1", "0", "1", "1.5", "2"], "number"),
    "single": ("FLOAT", ["-1", "0", "1", "1.5"], "number"),
    "rounded": ("DOUBLE(10,2)", ["-1", "0", "1", "1.5", "2"], "number"),
    "day": ("DATE", ["'2001-02-03'", "'2001-02-04'", "'9999-12-31'"], "time"),
    "noted": ("DATE NOT NULL", ["'2001-02-03'", "'2001-02-04'", "'0000-00-00'"], "time"),
    "moment": ("DATETIME", ["'2001-02-03 00:00:00'", "'2001-02-03 04:05:06'", "'2001-02-04 00:00:00'"], "time"),
    "fine": ("DATETIME(3)", ["'2001-02-03 00:00:00'", "'2001-02-03 04:05:06.789'", "'2001-02-04 00:00:00'"], "time"),
    "stamp": ("TIMESTAMP NULL", ["'2001-02-03 00:00:00'", "'2001-02-03 04:05:06'"], "time"),
    "span": ("TIME", ["'00:00:00'", "'12:34:56'", "'-01:00:00'"], "span"),
    "fold": ("VARCHAR(20) COLLATE utf8mb4_general_ci", ["'a'", "'A'", "'a '", "''", "'b'", "'é'", "'e'"], "text"),
    "other": ("VARCHAR(40) COLLATE utf8mb4_general_ci NOT NULL", ["'a'", "'A'", "''", "'b'", "'é'"], "text"),
    "nopad": ("VARCHAR(20) COLLATE utf8mb4_general_nopad_ci", ["'a'", "'A'", "'a '", "'b'"], "nopad"),
    "filled": ("CHAR(10) COLLATE utf8mb4_general_ci", ["'a'", "'A'", "''", "'b'"], "text"),
    "code": ("CHAR(4) COLLATE utf8mb4_general_ci NOT NULL", ["'a'", "'B'", "''", "'b'"], "text"),
    "bytes": ("VARCHAR(30) COLLATE utf8mb4_bin", ["'a'", "'A'", "''", "'b'"], "bytes"),
    "raw": ("VARBINARY(20)", ["'a'", "'a '", "x'00'", "''"], "raw"),
    "kind": ("ENUM('b','a')", ["'a'", "'b'"], "kind"),
    "sort": ("ENUM('a','b')", ["'a'", "'b'"], "kind"),
    "labels": ("SET('a','b','c')", ["'a'", "'b'", "'a,b'", "''", "'a,b,c'"], "kind"),
    "latin": ("VARCHAR(20) CHARACTER SET latin1", ["'a'", "'A'", "'a '", "''", "'é'"], "latin"),
    "year": ("YEAR", ["0", "1901", "1999", "2024", "2155"], "year"),
    "brief": ("YEAR(2)", ["0", "69", "70", "99"], "year"),
    "lengthy": ("DECIMAL(20,4)", ["-1", "0", "1.0000", "1.5000", "9999999999999999.9999", "-9999999999999999.9999"], "number"),
    "longer": ("DECIMAL(20,4) NOT NULL", ["-1", "0", "1.0000", "1.5000", "-9999999999999999.9999"], "number"),
    "digits": ("DECIMAL(38,0)", ["-1", "0", "1", "2", "18446744073709551615", "99999999999999999999999999999999999999"], "number"),
    "giant": ("DECIMAL(65,30)", ["-1", "0", "1", "1.5", "99999999999999999999999999999999999.999999999999999999999999999999",
                                 "-99999999999999999999999999999999999.999999999999999999999999999999"], "number"),
    "bits": ("BIT(5)", ["b'0'", "b'1'", "b'10'", "b'11111'"], "bit"),
    "flags": ("BIT(64)", ["b'0'", "b'1'", "b'10'", "18446744073709551615", "9223372036854775808"], "bit"),
    "block": ("BINARY(4)", ["'a'", "'a '", "x'00'", "x'ffffffff'", "''"], "raw"),
    "bulk": ("BLOB", ["'a'", "'a '", "x'00'", "x'61000000'", "''", "REPEAT('b', 300)"], "raw"),
    "uid": ("UUID", ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
                     "'123e4567-e89b-12d3-a456-426655440000'", "'a23e4567-e89b-72d3-a456-426655440000'"], "uuid"),
    "wherever": ("UUID NOT NULL", ["'00000000-0000-0000-0000-000000000000'", "'123e4567-e89b-12d3-a456-426655440000'"], "uuid"),
    "address": ("INET6", ["'::'", "'::ffff:1.2.3.4'", "'2001:db8::1'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'"], "inet"),
    "host": ("INET6 NOT NULL", ["'::'", "'2001:db8::1'", "'2001:db8::2'"], "inet"),
    "four": ("INET4", ["'0.0.0.0'", "'1.2.3.4'", "'255.255.255.255'"], "inet4"),
    "packed": ("VARCHAR(60) COMPRESSED COLLATE utf8mb4_general_ci", ["'a'", "'A'", "'a '", "''", "'b'", "REPEAT('b', 60)"], "text"),
    "zipped": ("TEXT COMPRESSED COLLATE utf8mb4_general_ci", ["'a'", "'A'", "'b'", "''", "REPEAT('b', 300)"], "text"),
    "stuffed": ("CHAR(6) COLLATE utf8mb4_general_nopad_ci", ["'a'", "'A'", "''", "'b'"], "nopad"),
    "wordy": ("TEXT COLLATE utf8mb4_general_nopad_ci", ["'a'", "'A'", "'a '", "''", "REPEAT('b', 300)"], "nopad"),
    "weighed": ("VARCHAR(20) COLLATE utf8mb4_uca1400_nopad_ai_ci", ["'a'", "'A'", "'ä'", "''"], "uca"),
    "loose": ("CHAR(6) COLLATE utf8mb4_uca1400_nopad_ai_ci", ["'a'", "'A'", "'ä'", "''"], "uca"),
    "looser": ("CHAR(9) COLLATE utf8mb4_uca1400_nopad_ai_ci NOT NULL", ["'a'", "'A'", "''"], "uca"),
    # With a character that has no weight. Not beside CHAR: of such values it is up to the server's plan whether they are equal.
    "fluid": ("VARCHAR(20) COLLATE utf8mb4_uca1400_nopad_ai_ci", ["'a'", "'A'", "'a '", "CONCAT('a', x'e2808b')", "'ä'", "''"], "weightless"),
    "flowing": ("VARCHAR(30) COLLATE utf8mb4_uca1400_nopad_ai_ci NOT NULL", ["'a'", "'A'", "CONCAT('a', x'e2808b')", "''"], "weightless"),
    "instant": ("TIMESTAMP(3) NULL", ["'2001-02-03 00:00:00'", "'2001-02-03 04:05:06.789'", "'2001-02-03 04:05:06'"], "time"),
    "lap": ("TIME(2)", ["'00:00:00'", "'12:34:56'", "'12:34:56.78'", "'-838:59:59.99'", "'838:59:59'"], "span"),
    "body": ("TEXT COLLATE utf8mb4_general_ci", ["'a'", "'A'", "'b'", "REPEAT('b', 300)"], "text"),
}
FLOATING = {"precise", "single", "rounded"}
# Which groups are compared with others, beside their own.
BESIDE = [("year", "number"), ("bit", "number"), ("bit", "year"), ("kind", "text"), ("latin", "text")]
FOLDED = {"fold", "other", "filled", "code", "body", "nopad", "precise", "single", "latin", "packed", "zipped", "stuffed", "wordy",
          "weighed", "loose", "looser", "fluid", "flowing"}  # of equal values any may be shown
MADE = {"tiny", "plain", "whole", "big", "fold", "other", "day", "moment"}  # of these a view's columns are made
VIRTUAL = {"tiny": "NULLIF(id % 5, 3)", "plain": "id % 7 - 1", "big": "id * 3", "fold": "CHAR(97 + id % 3 USING utf8mb4)",
           "moment": "'2001-02-03' + INTERVAL NULLIF(id % 4, 2) DAY"}  # what these are made of in few tables: the engine compares none of them
# Shown and compared, but not grouped or sorted by, nor made parts of texts.
KEYS_ONLY = {"labels", "brief", "bits", "flags", "block", "bulk", "uid", "wherever", "address", "host", "four", "giant", "packed",
             "zipped", "loose", "looser"}
NOT_INDEXED = {"body", "bulk", "packed", "zipped", "wordy"}
# Many values, of a number.
MANY = {
    "lengthy": "{}.2500", "longer": "{}.5", "digits": "{}", "giant": "{}.25", "fold": "'v{}'", "other": "'V{}'", "nopad": "'v{}'",
    "filled": "'v{}'", "code": "'V{}'", "body": "'V{}'", "packed": "'v{}'", "zipped": "'V{}'", "stuffed": "'V{}'", "wordy": "'v{}'",
    "weighed": "'v{}'", "loose": "'v{}'", "looser": "'V{}'", "latin": "'v{}'", "raw": "'v{}'", "block": "'v{}'", "bulk": "'v{}'",
    "bits": "{} % 32", "flags": "{}", "uid": "'00000000-0000-1000-8000-{:012}'", "wherever": "'00000000-0000-1000-8000-{:012}'",
    "address": "'::{}'", "host": "'::{}'", "four": "'10.0.1.{}'", "year": "1990 + {} % 100",
}
