"""How often the SELECTs of MariaDB's main test suite call each function and operator, but for aggregates and window functions."""

import collections
import glob
import os
import re

from program import Failure

# Other words for one function.
SAME = {"SUBSTR": "SUBSTRING", "MID": "SUBSTRING", "UCASE": "UPPER", "LCASE": "LOWER", "CEIL": "CEILING", "RLIKE": "REGEXP", "!=": "<>", "&&": "AND", "||": "OR", "!": "NOT",
        "%": "MOD", "LENGTHB": "LENGTH", "OCTET_LENGTH": "LENGTH", "CHARACTER_LENGTH": "CHAR_LENGTH", "DATE_ADD": "+ INTERVAL", "ADDDATE": "+ INTERVAL", "DATE_SUB": "- INTERVAL",
        "SUBDATE": "- INTERVAL", "DAY": "DAYOFMONTH", "CURRENT_TIMESTAMP": "NOW", "LOCALTIME": "NOW", "LOCALTIMESTAMP": "NOW", "CURRENT_DATE": "CURDATE", "CURRENT_TIME": "CURTIME",
        "POSITION": "LOCATE", "POWER": "POW", "SHA": "SHA1", "SCHEMA": "DATABASE", "NVL": "IFNULL"}
OPERATORS = re.compile(r"<=>|<=|>=|<>|!=|<<|>>|:=|&&|\|\||[-+*/%=<>&|^~!(),.;]")
WORD_OPERATORS = {"DIV", "MOD", "LIKE", "REGEXP", "RLIKE", "XOR", "OR", "COLLATE"}
TOKEN = re.compile(OPERATORS.pattern + r"|[A-Za-z_$][\w$]*|@@?[\w.`$]+|\d[\w.]*|'s'|`i`")
# Strings become 's' and names in quotes `i`, so that nothing in them counts.
QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`|/\*.*?\*/|--[ \t][^\n]*|#[^\n]*", re.S)
# What stands between operands as a word, so that a sign behind it has no operand on its left.
BETWEEN_OPERANDS = {"SELECT", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "BY", "IN", "LIKE", "DIV", "MOD", "XOR", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN", "DISTINCT", "ALL", "INTERVAL",
                    "RETURN", "LIMIT", "SET", "VALUES", "REGEXP", "RLIKE", "IS", "AS"}


def names_of_parser(source):
    """Of the native functions, and of those that the grammar has, by the server's own lists."""
    with open(os.path.join(source, "sql/item_create.cc"), encoding="utf-8") as file:
        native = set(re.findall(r'STRING_WITH_LEN\("(\w+)"\) *\}, *BUILDER', file.read()))
    with open(os.path.join(source, "sql/lex.h"), encoding="utf-8") as file:
        symbols = re.findall(r'\{ *"(\w+)",\s*(?:SYM|SYM_H|TOK)\((\w+)\)', file.read())
    with open(os.path.join(source, "sql/sql_yacc.yy"), encoding="utf-8") as file:
        grammar = file.read()
    rules = "".join(grammar[grammar.index(f"\n{first}:"):grammar.index(f"\n{behind}:")] for first, behind in
                    [("column_default_non_parenthesized_expr", "function_call_generic")])
    tokens = set(re.findall(r"^\s*(?:\| )?(\w+) *(?:\n\s*)?(?:'\('|optional_braces|opt_time_precision)", rules, re.M))
    words = {name for name, token in symbols if token in tokens}
    if len(native) < 150 or len(words) < 30:
        raise Failure(f"the server's lists in {source} are not as expected: {len(native)} functions, {len(words)} of the grammar")
    # In a SELECT these are no functions of a row.
    return {name for name in native | words if not name.startswith("SQL_TSI_")} - {"VALUES", "VALUE", "DEFAULT", "ROW", "EXISTS"}


def selects(text):
    """The statements of a test, each from its first SELECT on, without what is quoted."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*(--|#|(let|eval|echo|source|error|if|while|inc|dec|exec)\b)", line) or re.match(r"\s*(eval\b|--eval\b)", line)]
    code = QUOTED.sub(lambda quoted: {"`": "`i`", "'": "'s'", '"': "'s'"}.get(quoted.group()[0], " "), "\n".join(lines))
    # A test may end its statements with other characters.
    for statement in re.split(r";|(?:\||//|\$\$)[ \t]*$", code, flags=re.M):
        if start := re.search(r"\bselect\b", statement, re.I):
            yield statement[start.start():]


def count_in(statement, names, counts):
    tokens = [token if token in ("'s'", "`i`") else token.upper() for token in TOKEN.findall(statement)]
    between, depth = [], 0  # of BETWEEN, whose AND is none; at which depth of parentheses
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else ""
        behind = tokens[number + 1] if number + 1 < len(tokens) else ""
        second = tokens[number + 2] if number + 2 < len(tokens) else ""
        has_left = bool(before) and before not in BETWEEN_OPERANDS and (before in (")", "'s'", "`i`") or re.match(r"[\w@$]", before))
        name = None
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
        elif before == ".":
            continue
        elif token == "BETWEEN":
            between.append(depth)
            name = token
        elif token == "AND":
            if depth in between:
                between.remove(depth)
            else:
                name = token
        elif token == "IN" and behind == "(":
            name = None if second == "SELECT" else token
        elif token == "NOT":
            name = None if behind in ("IN", "LIKE", "BETWEEN", "REGEXP", "RLIKE", "NULL", "EXISTS", "TRUE", "FALSE", "UNKNOWN") else token
        elif token == "IS":
            of = second if behind == "NOT" else behind
            name = "IS NULL" if of in ("NULL", "UNKNOWN") else "IS TRUE" if of in ("TRUE", "FALSE") else None
        elif token == "CASE" and before != "END":
            name = token
        elif token in "+-" and behind == "INTERVAL":
            name = f"{token} INTERVAL"
        elif token == "*":
            name = token if has_left and behind not in ("", ")", ",", "FROM") else None
        elif token == "-":
            name = token if has_left else None if re.match(r"\d", behind) else token
        elif token in ("+", "/", "%", "&", "|", "^"):
            name = token if has_left else None
        elif token in ("=", "<", ">", "<=", ">=", "<>", "!=", "<=>", "<<", ">>", "~", "!", "&&", "||"):
            name = token
        elif token in WORD_OPERATORS and has_left and not (token == "MOD" and behind == "(" and not has_left):
            name = token
        elif token in names and (behind == "(" or token in ("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_USER")):
            name = token
        if name:
            counts[SAME.get(name, name)] += 1


def count_uses(source, tests):
    """By function. `source`: the folder of the server's source; `tests`: that of its test suites."""
    names = names_of_parser(source)
    counts = collections.Counter()
    files = sorted(glob.glob(os.path.join(tests, "main", "*.test")))
    if not files:
        raise Failure(f"there are no tests in {tests}/main")
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            for statement in selects(file.read()):
                count_in(statement, names, counts)
    return counts
