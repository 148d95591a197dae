"""The functions that MariaDB's own main test suite calls most, and who computes them: the section of docs/functions.md that the grid writes and holds to what EXPLAIN says."""

import collections
import os
import re

from calls import CALLS, PLACE
from cells import state_of
from function_uses import count_uses
from program import PROJECT, Failure
from ways import ENGINE

PAGE = os.path.join(PROJECT, "docs", "functions.md")
HEAD = "| function | uses | computed by the engine | by the server, for the engine | left to the server |\n| --- | ---: | --- | --- | --- |\n"
MOST = 40
SERIES = "10.11."  # whose suite and answers the page has
DEFINITION = ("(id INT NOT NULL, i INT, u INT UNSIGNED, n DECIMAL(15,2), w DECIMAL(38,10), f DOUBLE, s VARCHAR(50), b VARBINARY(50), d DATE, m DATETIME(6), z TIMESTAMP NULL, "
              "t TIME, g ENUM('a', 'b'))")
# Columns by what a call's place may have; the name of a type is shown on the page.
NUMBERS = {"INT": "i", "DECIMAL": "n", "wide DECIMAL": "w", "DOUBLE": "f"}
COLUMNS = {"n": NUMBERS, "w": {"INT": "i"}, "v": {"INT": "u"}, "e": {"DECIMAL": "n", "wide DECIMAL": "w"}, "f": {"DOUBLE": "f"}, "t": {"text": "s", "bytes": "b"},
           "d": {"DATE": "d", "DATETIME": "m", "TIMESTAMP": "z"}, "s": {"TIME": "t"}, "c": {"truth": "i > 5"}, "j": {"text": "s"}, "g": {"ENUM": "g"},
           "x": {**NUMBERS, "text": "s", "bytes": "b", "DATE": "d", "DATETIME": "m", "TIMESTAMP": "z", "TIME": "t", "ENUM": "g"}}
CONSTANTS = {"k": "5", "i": "2", "l": "'a'", "o": "'%a%'", "r": "'^a+'", "m": "'2024-01-31'", "u": "DAY", "p": "'%Y-%m'", "q": "'$.a'"}
# Of names that do not stand in a template as they are, or also in others' templates.
PATTERNS = {"-": r"^- <| - <(?!i> <u>)", "AND": r"\) AND ", "NOT": r"^NOT ", "MOD": r"MOD| % ", "IS NULL": r" IS (NOT )?(NULL|UNKNOWN)", "IS TRUE": r" IS (NOT )?(TRUE|FALSE)", "REGEXP": r" REGEXP ",
            "+ INTERVAL": r"\+ INTERVAL|DATE_ADD|ADDDATE\(", "- INTERVAL": r"- INTERVAL|DATE_SUB|SUBDATE\(", "LENGTH": r"^(OCTET_)?LENGTH\(", "CASE": r"^CASE", "TIME": r"(?<![A-Z])TIME\(", "ADDTIME": r"ADDTIME\(", "COLUMN_CREATE": r"COLUMN_CREATE\(", "COLLATE": r" COLLATE ", "+": r"<n> \+ <|<e> \+ <|<w> \+ <(?!n> IN)"}


def _templates(name):
    pattern = re.compile(PATTERNS.get(name) or (rf"^{name}\(" if re.fullmatch(r"\w+", name) and name not in ("DIV", "IN", "LIKE", "OR", "XOR", "BETWEEN", "COLLATE") else
                                                rf"(?<=[>)]) (NOT )?{re.escape(name)} "))
    return [(kind, template) for kind, templates in CALLS.values() for template in templates if pattern.search(template) and "<y>" not in template]


def _fillings(template):
    """The template with each type in the places of its first letter that stands for values, by the type's name."""
    letters = [letter for letter in PLACE.findall(template) if letter in COLUMNS]
    letters = [letter for letter in letters if letter != "c"] or letters
    for shown, column in COLUMNS[letters[0]].items() if letters else [("constants", "")]:
        def fill(match, column=column):
            letter = match.group(1)
            return CONSTANTS.get(letter) or (column if letter == letters[0] else next(iter(COLUMNS[letter].values())))
        yield shown, PLACE.sub(fill, template)


def _row(ways, name, uses):
    states = collections.defaultdict(set)
    templates = _templates(name)
    if not templates:
        raise Failure(f"the suite of the server calls {name} {uses} times, and tests/compare/calls.py has no call of it: add one")
    for kind, template in templates:
        for shown, call in _fillings(template):
            # Of some types the function is not.
            if state := state_of(ways, call, kind, "used"):
                states[shown].add(state)
    if not states:
        raise Failure(f"EXPLAIN fails of all calls of {name} that tests/compare/calls.py has")
    cells = {state: [shown + (" in part" if state == "computed" and len(states[shown]) > 1 else "") for shown in states if state in states[shown]] for state in ("computed", "asked", "left")}
    return f"| {name.replace('|', chr(92) + '|')} | {uses:,} | " + " | ".join(", ".join(cells[state]) for state in ("computed", "asked", "left")) + " |\n"


def _table(server, ways):
    ways.run(ENGINE, "DROP TABLE IF EXISTS used")
    ways.run(ENGINE, f"CREATE TABLE used {DEFINITION}")
    ways.run(ENGINE, "INSERT INTO used (id) VALUES (1), (2)")
    root = os.path.join(PROJECT, "build", "mariadb")
    uses = count_uses(os.path.join(root, "source"), os.path.join(server.facts["mariadb_root"], "usr/share/mysql/mysql-test"))
    return HEAD + "".join(_row(ways, name, count) for name, count in sorted(uses.items(), key=lambda each: (-each[1], each[0]))[:MOST])


def check_page(server, ways, write=False):
    """That the page has the table as it is, or, `write`, makes it so."""
    if not server.facts["version"].startswith(SERIES):
        print(f"the functions that are used most are not looked at: the page has those of MariaDB {SERIES}x")
        return
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    begin = page.find(HEAD)
    if begin < 0:
        raise Failure(f"{PAGE} has no table that begins with: {HEAD}")
    end = page.index("\n\n", begin) + 1
    table = _table(server, ways)
    if write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page[:begin] + table + page[end:])
    elif page[begin:end] != table:
        old, new = page[begin:end].splitlines(), table.splitlines()
        different = [f"  {line}" for line in new if line not in old]
        raise Failure("docs/functions.md does not say what the engine computes of the functions that are used most:\n" + "\n".join(different) +
                      "\nrun tests/compare/grid --write-page")
