"""The expected skips and their conditions: the table tests/expected_skips.txt."""
import dataclasses
import fnmatch

import machine_facts


@dataclasses.dataclass(frozen=True)
class Row:
    conditions: tuple
    test: str
    case: str
    reason: str

    def takes(self, skip):
        return all(fnmatch.fnmatchcase(said, wanted)
                   for said, wanted in ((skip.test, self.test), (skip.case, self.case), (skip.reason, self.reason)))

    def applies(self, lane, has):
        return any(holds(condition, lane, has) for condition in self.conditions)


def holds(condition, lane, has):
    kind, _, what = condition.partition(" ")
    return what == lane if kind == "lane" else not has(what)


def read_table(path):
    """Without a table no skip is expected."""
    try:
        with open(path) as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
    except FileNotFoundError:
        return []
    return [read_row(line, path) for line in lines]


def read_row(line, path):
    cells = [cell.strip() for cell in line.split("|")]
    conditions = tuple(condition.strip() for condition in cells[0].split(","))
    known = [condition.startswith("lane ") or condition.removeprefix("no ") in machine_facts.FACTS and
             condition.startswith("no ") for condition in conditions]
    if len(cells) != 4 or not all(known):
        raise SystemExit(f"{path} has the line '{line.strip()}'; expected condition | test | case | reason, with conditions "
                         f"'lane NAME' or 'no FACT', a fact being one of {', '.join(machine_facts.FACTS)}")
    return Row(conditions, *cells[1:])


def complaints(skips, table, lane, has=machine_facts.has):
    """A sentence for each skip that no row of the table expects here."""
    said = []
    for skip in sorted(skips):
        taking = [row for row in table if row.takes(skip)]
        if any(row.applies(lane, has) for row in taking):
            continue
        where = " or ".join(sorted({condition for row in taking for condition in row.conditions}))
        only = f"it is expected with {where} only" if taking else "no line of tests/expected_skips.txt expects it"
        said.append(f"{skip} was skipped: {skip.reason}; {only}. Next: bring what it lacks, or add the line")
    return said
