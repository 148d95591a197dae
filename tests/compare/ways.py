"""Three ways to one answer: the engine's, the server's over the same Hailstone table, and InnoDB's."""

import re

from engines import GROUPED, Difference, Pair, _kept, _shown, are_near

ENGINE, SERVER, INNODB = WAYS = "HAILSTONE", "Hailstone", "InnoDB"  # the second one is a session with hailstone_select_pushdown = OFF
TARGETS = {ENGINE: "target", SERVER: "target_by_server", INNODB: "target"}  # tables that each makes for itself
ROW = re.compile(r" at row \d+$")  # differs by the rows that a plan has read (differences.md)


class Ways(Pair):
    def __init__(self, server):
        super().__init__(server)
        connection = self._connections[SERVER] = self.connect(server)
        with connection.cursor() as cursor:
            cursor.execute("USE in_hailstone")
            cursor.execute("SET default_storage_engine = HAILSTONE, hailstone_select_pushdown = OFF")
        super().set("SET hailstone_select_pushdown = ON", ENGINE)

    def set(self, sql, *ways):
        super().set(sql, *(ways or WAYS))

    def answers(self, sql):
        """Of each way, in the order of WAYS. `sql`: the statement, or that of each way."""
        self.statements += 1
        return [self.run(way, sql if isinstance(sql, str) else sql[way]) for way in WAYS]

    def compare(self, sql, warnings=True, columns=True, near=False, shown=None, ordered=True):
        """Raises Difference, else returns the engine's answer. `ordered`: rows have one order. `warnings`: "which": their number may be another one, as plans evaluate a value more than
        once; `columns`: "kept": but for what a table of the server's tells otherwise; `near`: floating-point numbers may differ in their last digits."""
        answers = self.answers(sql)
        named = shown or sql
        for part, seen in (("errors", [answer.error for answer in answers]),
                           ("rows", [answer.rows if ordered else sorted(answer.rows) for answer in answers]),
                           ("columns", [_columns(answer, columns, named) for answer in answers] if columns else []),
                           ("affected", [answer.affected for answer in answers]),
                           ("warnings", [_warnings(answer, warnings) for answer in answers] if warnings else [])):
            if all(each == seen[0] for each in seen) or (near and part == "rows" and all(are_near(seen[0], each) for each in seen)):
                continue
            lines = [f"{part} differ for: {named}"]
            for way, each in zip(WAYS, seen):
                other = seen[1] if way == ENGINE else seen[0]
                lines.append(f"  {way}: {_some(part, each, other)}")
            failure = Difference("\n".join(lines))
            # Where the server differs by itself.
            failure.of_engine = seen[0] not in seen[1:]
            raise failure
        return answers[0]


def _columns(answer, columns, sql):
    if columns == "kept" or GROUPED.search(sql):
        return [_kept(*column, nulls=True) for column in answer.columns]
    return answer.columns


def _warnings(answer, warnings):
    all_of_them = sorted((code, ROW.sub("", text).replace(f"`{TARGETS[SERVER]}`", f"`{TARGETS[ENGINE]}`")) for code, text in answer.warnings)
    return all_of_them if warnings is True else sorted(set(all_of_them))


def _some(part, each, other):
    if part == "rows":
        return _shown("rows", each, other)
    if part in ("warnings", "columns") and other is not each:
        return f"{len(each)}, only here: {[one for one in each if one not in other][:6]}"
    return each
