"""TPC-DS's queries in MariaDB's words. DuckDB's extension has them in DuckDB's; here are the rules that rewrite any of them.

| DuckDB | MariaDB 10.11 |
| --- | --- |
| `"a name"` | `` `a name` `` |
| `CAST(x AS int)` | `CAST(x AS SIGNED)` |
| `SELECT x, * FROM t` | `SELECT x, t.* FROM t` |
| `Name.column` of `… AS NAME` | `name.column` of `… AS name` |
| `x NULLS FIRST` | `x`, as NULLs are first anyway |
| `x DESC NULLS FIRST` | `(x) IS NOT NULL, x DESC`, as they would be last; for a name of SELECT its expression |
| `d + 5`, of a DATE | `d + INTERVAL 5 DAY` |
| `GROUP BY ROLLUP (a, b)` | `GROUP BY a, b WITH ROLLUP`; where it is ordered or limited, a derived table is |
| the same with `GROUPING(a)` | a UNION ALL of the groups by all keys, by all but the last one …, and of all rows |
| `a FULL OUTER JOIN b ON c` | a UNION ALL of the left join, and of the right join's rows that have no partner |

An order without NULLS FIRST is MariaDB's where DuckDB is told so: default_null_order.
"""

import itertools
import re

_TOKEN = re.compile(r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<token>'(?:[^']|'')*' | "[^"]*" | [A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)? | \d+(?:\.\d+)? | <> | <= | >= | \|\| | [-+*/=<>(),;])""", re.VERBOSE)
# Behind these a parenthesis follows without a space: MariaDB tells functions by it.
_FUNCTIONS = {"abs", "avg", "cast", "coalesce", "concat", "count", "decimal", "grouping", "lower", "max", "min", "rank", "round", "stddev_samp",
              "substring", "sum", "upper"}
_AGGREGATES = {"avg", "count", "max", "min", "stddev_samp", "sum"}
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")
_SETS = ("UNION", "INTERSECT", "EXCEPT")
_OPERATORS = ("AND", "AS", "BETWEEN", "DATE", "IN", "IS", "LIKE", "NOT", "NULL", "OR")  # of conditions


class Parens(list):
    """What is between a pair of parentheses. Statements are lists of these and of texts: words, numbers, strings, signs."""


def parse(sql):
    """A statement; of `a . b` one word, and no comments and no semicolon."""
    nodes, place = [[]], 0
    while place < len(sql):
        found = _TOKEN.match(sql, place)
        if not found:
            raise ValueError(f"what is this: {sql[place:place + 40]}")
        place = found.end()
        token = found["token"]
        if token == "(":
            nodes.append(Parens())
        elif token == ")":
            inner = nodes.pop()
            nodes[-1].append(inner)
        elif token and token != ";":
            nodes[-1].append(re.sub(r"\s*\.\s*", ".", token) if token[0].isalpha() or token[0] == "_" else token)
    if len(nodes) != 1:
        raise ValueError(f"a parenthesis is open: {sql}")
    return nodes[0]


def render(nodes):
    text, before = "", ""
    for node in nodes:
        piece = f"({render(node)})" if isinstance(node, Parens) else node
        glued = not text or node == "," or (isinstance(node, Parens) and before.lower() in _FUNCTIONS)
        text += piece if glued else " " + piece
        before = piece
    return text


def translate(sql, dates):
    """A query of DuckDB's as MariaDB has it. `dates`: names of the columns whose type is DATE."""
    nodes = parse(sql)
    tables = {node.partition(".")[0].lower() for node in _flat(nodes) if _is_name(node) and "." in node}
    return render(_rewrite(_substitute(nodes, lambda node, _: _small(node, tables)), dates))


def without_limit(sql):
    """The query, with its order, and all of its rows."""
    head, clauses = _clauses(parse(sql))
    clauses.pop("LIMIT", None)
    return render(_joined(head, clauses))


def limit_of(sql):
    """Rows at most; 0: all."""
    _, clauses = _clauses(parse(sql))
    return int(clauses["LIMIT"][1]) if "LIMIT" in clauses else 0


def order_of(sql, names):
    """Places of the answer's columns, from 0, by which its rows are ordered; `names`: the columns'. An expression that is
    no column is left out."""
    _, clauses = _clauses(parse(sql))
    selected = [render(_without_alias(item)) for item in _split(clauses["SELECT"][1:])]
    places = []
    for item in _split(clauses["ORDER"][2:]) if "ORDER" in clauses else []:
        text = render(_ordered(item)[0])
        if text.isdigit():
            places.append(int(text) - 1)
        elif text.lower() in map(str.lower, names):
            places.append([name.lower() for name in names].index(text.lower()))
        elif text in selected:
            places.append(selected.index(text))
    return tuple(places)


def conditions_of(sql):
    """How many conditions of its blocks compare one column with constants, and are joined with others by AND."""
    counter = itertools.count()
    _without_conditions(parse(sql), set(), counter)
    return next(counter)


def without_conditions(sql, numbers):
    """The query without those of these conditions, counted from 0."""
    return render(_without_conditions(parse(sql), numbers, itertools.count()))


# --- the rules

def _rewrite(nodes, dates):
    nodes = type(nodes)(_rewrite(node, dates) if isinstance(node, Parens) else node for node in nodes)
    nodes = _simple(nodes, dates)
    nodes = _orders(nodes)
    if not any(_is(node, "SELECT") for node in nodes):
        return nodes
    if any(_is(node, *_SETS) for node in nodes):
        return nodes  # of whose blocks none has what follows
    head, clauses = _clauses(nodes)
    _name_star(clauses)
    _join_fully(clauses)
    clauses = _roll_up(clauses)
    return type(nodes)(_joined(head, clauses))


def _simple(nodes, dates):
    """Names, casts, and days that are added to a date."""
    done = type(nodes)()
    for place, node in enumerate(nodes):
        if isinstance(node, str) and node.startswith('"'):
            node = f"`{node[1:-1]}`"
        elif isinstance(node, Parens) and done and _is(done[-1], "CAST") and _is(node[-1], "INT", "INTEGER", "BIGINT"):
            node = Parens([*node[:-1], "SIGNED"])
        elif isinstance(node, str) and node.isdigit() and done[-1:] in (["+"], ["-"]) and _is_date(done[-2:-1], dates):
            done += ["INTERVAL", node, "DAY"]
            continue
        done.append(node)
    return done


def _is_date(nodes, dates):
    return bool(nodes) and isinstance(nodes[0], str) and nodes[0].rpartition(".")[2].lower() in dates


def _small(node, tables):
    """For a table's name, or a column's with it, the same with the table's name in small letters; None: the node is none."""
    if not _is_name(node) or node.partition(".")[0].lower() not in tables:
        return None
    table, point, column = node.partition(".")
    return [table.lower() + point + column]


def _orders(nodes):
    """Each ORDER BY of a block or of a window."""
    done, place, named = type(nodes)(), 0, _named(nodes)
    while place < len(nodes):
        if not (_is(nodes[place], "ORDER") and _is(nodes[place + 1], "BY")):
            done.append(nodes[place])
            place += 1
            continue
        end = next((end for end in range(place, len(nodes)) if _is(nodes[end], "LIMIT", "ROWS", "RANGE")), len(nodes))
        items = []
        for item in _split(nodes[place + 2:end]):
            value, descending, nulls = _ordered(item)
            direction = ["DESC"] if descending else []
            # NULLs would be where they are without a word.
            if nulls and (nulls == "FIRST") == descending:
                items.append([Parens(named.get(render(value), value)), "IS", *(["NOT"] if descending else []), "NULL"])
            items.append([*value, *direction])
        done += ["ORDER", "BY", *_with_commas(items)]
        place = end
    return done


def _ordered(item):
    """(what is ordered, whether it descends, FIRST or LAST as it is said of NULLs or None)."""
    nulls = None
    if len(item) > 2 and _is(item[-2], "NULLS"):
        nulls, item = item[-1].upper(), item[:-2]
    descending = _is(item[-1], "DESC")
    return (item[:-1] if _is(item[-1], "ASC", "DESC") else item), descending, nulls


def _name_star(clauses):
    select, source = clauses["SELECT"], clauses.get("FROM", [])
    clauses["SELECT"] = [f"{source[1]}.*" if node == "*" and select[place - 1] == "," else node for place, node in enumerate(select)]


def _join_fully(clauses):
    source = clauses.get("FROM", [])
    full = next((place for place, node in enumerate(source) if _is(node, "FULL")), None)
    if full is None:
        return
    left = source[1:full]
    join = full + (2 if _is(source[full + 1], "OUTER") else 1)
    on = next(place for place, node in enumerate(source) if _is(node, "ON"))
    right, condition = source[join + 1:on], source[on:]
    names = [side[-1].lower() for side in (left, right)]
    used = {}
    for clause, nodes in clauses.items():
        if clause != "FROM":
            clauses[clause] = _substitute(nodes, lambda node, _: _column_of(node, names, used))
    columns = _with_commas([[name, "AS", column] for name, column in used.items()])
    partner = next(node for node in _flat(condition) if isinstance(node, str) and node.lower().startswith(names[0] + "."))
    both = Parens(["SELECT", *columns, "FROM", *left, "LEFT", "JOIN", *right, *condition, "UNION", "ALL",
                   "SELECT", *columns, "FROM", *left, "RIGHT", "JOIN", *right, *condition, "WHERE", partner, "IS", "NULL"])
    clauses["FROM"] = ["FROM", both, "AS", "joined_fully"]


def _column_of(node, names, used):
    """What stands for a column of one of two tables; None: the node is none. Notes it."""
    if not isinstance(node, str) or node.partition(".")[0].lower() not in names or "." not in node:
        return None
    return [used.setdefault(node.lower(), node.lower().replace(".", "_"))]


def _roll_up(clauses):
    group = clauses.get("GROUP", [])
    if len(group) < 3 or not _is(group[2], "ROLLUP"):
        return clauses
    keys = [render(key) for key in _split(group[3])]
    if any(_is(node, "GROUPING") for nodes in clauses.values() for node in _flat(nodes)):
        return _rolled_by_hand(clauses, keys)
    block = {**clauses, "GROUP": ["GROUP", "BY", *_with_commas([[key] for key in keys]), "WITH", "ROLLUP"]}
    outer = {clause: block.pop(clause) for clause in ("ORDER", "LIMIT") if clause in block}
    if not outer:
        return block
    return {"SELECT": ["SELECT", "*"], "FROM": ["FROM", Parens(_joined([], block)), "AS", "rolled_up"], **outer}


def _rolled_by_hand(clauses, keys):
    totals = {}  # aggregate -> its name

    def outside(node, behind):
        """What stands outside for GROUPING() and an aggregate, each with what it is made of; None: the node is neither."""
        if _is(node, "GROUPING"):
            return [f"grouping_{render(behind[0])}"]
        if isinstance(node, str) and node.lower() in _AGGREGATES and not _is((*behind, "", "")[1], "OVER"):
            return [totals.setdefault(render([node, behind[0]]), f"total_{len(totals) + 1}")]
        return None

    outer = {clause: _substitute(clauses[clause], outside, ("GROUPING", *_AGGREGATES)) for clause in ("SELECT", "ORDER", "LIMIT") if clause in clauses}
    blocks = []
    for count in range(len(keys), -1, -1):
        columns = [[key if place < count else "NULL", "AS", key] for place, key in enumerate(keys)]
        columns += [[str(int(place >= count)), "AS", f"grouping_{key}"] for place, key in enumerate(keys)]
        columns += [[total, "AS", name] for total, name in totals.items()]
        block = {"SELECT": ["SELECT", *_with_commas(columns)], **{clause: clauses[clause] for clause in ("FROM", "WHERE") if clause in clauses}}
        if count:
            block["GROUP"] = ["GROUP", "BY", *_with_commas([[key] for key in keys[:count]])]
        blocks += ["UNION", "ALL", *_joined([], block)] if blocks else _joined([], block)
    return {"SELECT": outer.pop("SELECT"), "FROM": ["FROM", Parens(blocks), "AS", "rolled_up"], **outer}


# --- conditions

def _without_conditions(nodes, numbers, counter):
    done, place = type(nodes)(), 0
    while place < len(nodes):
        node = nodes[place]
        place += 1
        if not _is(node, "WHERE"):
            done.append(_without_conditions(node, numbers, counter) if isinstance(node, Parens) else node)
            continue
        end = next((end for end in range(place, len(nodes)) if _is(nodes[end], *_CLAUSES, *_SETS)), len(nodes))
        kept = [_without_conditions(condition, numbers, counter) for condition in _conditions(nodes[place:end])
                if not (_is_of_constants(condition) and next(counter) in numbers)]
        for condition in kept:
            done += ["WHERE" if condition is kept[0] else "AND", *condition]
        place = end
    return done


def _conditions(nodes):
    """What AND joins."""
    if any(_is(node, "OR") for node in nodes):
        return [nodes]
    parts, between = [[]], False
    for node in nodes:
        if _is(node, "AND") and not between:
            parts.append([])
            continue
        between = _is(node, "BETWEEN") or (between and not _is(node, "AND"))
        parts[-1].append(node)
    return parts


def _is_of_constants(condition):
    words = list(_flat(condition))
    columns = [word for word in words if _is_name(word) and word.lower() not in _FUNCTIONS and not _is(word, *_OPERATORS)]
    return len(columns) == 1 and any(word[0] == "'" or word[0].isdigit() for word in words)


# --- lists of nodes

def _is(node, *words):
    return isinstance(node, str) and node.upper() in words


def _flat(nodes):
    for node in nodes:
        if isinstance(node, Parens):
            yield from _flat(node)
        else:
            yield node


def _split(nodes):
    """At its commas."""
    parts = [[]]
    for node in nodes:
        if node == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def _with_commas(parts):
    return [node for part in parts for node in (",", *part)][1:]


def _clauses(nodes):
    """(what is before the first SELECT, each clause of it and of the blocks behind it by its first word). Of several blocks the last
    one's ORDER BY and LIMIT are those of all."""
    starts = [place for place, node in enumerate(nodes) if _is(node, *_CLAUSES)]
    clauses = {}
    for start, end in zip(starts, [*starts[1:], len(nodes)]):
        clauses.setdefault(nodes[start].upper(), []).extend(nodes[start:end])
    return list(nodes[:starts[0]]), clauses


def _joined(head, clauses):
    return [*head, *(node for clause in _CLAUSES for node in clauses.get(clause, ()))]


def _substitute(nodes, replace, with_parens=()):
    """`replace` is asked for each word, with the nodes behind it; of the words in `with_parens` it stands for the parentheses behind them, too."""
    done, place = type(nodes)(), 0
    while place < len(nodes):
        node = nodes[place]
        stand_in = replace(node, nodes[place + 1:])
        if stand_in is not None:
            done += stand_in
            place += 2 if _is(node, *(word.upper() for word in with_parens)) else 1
            continue
        done.append(_substitute(node, replace, with_parens) if isinstance(node, Parens) else node)
        place += 1
    return done


def _named(nodes):
    """Of a block, what SELECT has a name for, by the name."""
    if not any(_is(node, "SELECT") for node in nodes):
        return {}
    items = _split(_clauses(nodes)[1]["SELECT"][1:])
    return {render(item[-1:]): value for item in items if len(value := _without_alias(item)) < len(item)}


def _without_alias(item):
    if len(item) > 2 and _is(item[-2], "AS"):
        return item[:-2]
    if len(item) > 1 and _is_name(item[-1]) and (isinstance(item[-2], Parens) or _is_name(item[-2]) or _is(item[-2], "END")):
        return item[:-1]
    return item


def _is_name(node):
    return isinstance(node, str) and (node[0].isalpha() or node[0] in '_"`') and not _is(node, "END", "DISTINCT")
