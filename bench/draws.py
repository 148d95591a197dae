"""Random numbers in DuckDB's SQL that are the same on every machine, for every number of threads and in every version.

Each is a function of a row's number and of a salt, which tells the draws of a row apart: two steps of a multiplication
modulo the prime 2^31 - 1, with the higher bits folded into the lower ones.
"""

_PRIME = 2**31 - 1
_FACTORS = (1103515245, 1597334677)


def prepare(execute):
    """Defines the functions; `execute` runs a statement of DuckDB."""
    execute(f"CREATE OR REPLACE MACRO draw_step(x, factor) AS (xor(x, x >> 15) * factor) % {_PRIME}")
    execute("CREATE OR REPLACE MACRO draw(key, salt) AS draw_step(draw_step("
            f"(CAST(key AS BIGINT) + salt * 1000003) % {_PRIME} + 1, {_FACTORS[0]}), {_FACTORS[1]})")


def mix(key, salt):
    """A whole number from 0 to 2^31 - 2."""
    return f"draw({key}, {salt})"


def chance(key, salt):
    """From 0 to less than 1."""
    return f"(draw({key}, {salt}) / {_PRIME}.0)"


def wide(key, salt):
    """A whole number of 63 bits."""
    return f"(draw({key}, {salt}) * 4294967296 + draw({key}, {salt} + 500))"


def zipf(key, salt, highest):
    """A rank from 1 to `highest`, the k-th about 1/k as often as the first."""
    return f"CAST(floor(pow({highest} + 1, {chance(key, salt)})) AS BIGINT)"


def skewed(key, salt, count, power):
    """A rank from 0 to less than `count`; the greater the power, the more often a low one."""
    return f"CAST(floor({count} * pow({chance(key, salt)}, {power})) AS BIGINT)"


def pick(values, key, salt):
    """One of some SQL expressions, each as often."""
    return f"[{', '.join(values)}][1 + draw({key}, {salt}) % {len(values)}]"
