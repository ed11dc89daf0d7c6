"""nightly_counts.py REPORT TABLE [REGEX]: checks a night's tests by ctest's JUnit report. A test that was skipped is red, and so
is one with a skipped case: scripts/nightly builds everything that its tests need. A test that did less than the table requires is
red too, with any exit code. Each printed line "1000 kills ..." counts by itself, also after dots or a name that unittest has put
into that line. A row with several numbers requires one of each printed line, in their order. A missing table requires nothing. In
a night of some tests only the table requires those that match REGEX."""
import os
import re
import sys

from skips import read_report, skips_of

LINE_BEGIN = r"^(?:[.FEsxu]*|test_\w+ \(.*\) \.\.\. )"


def table_of(path):
    """[(test, least numbers, unit)]"""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        rows = [line.split("|") for line in file if line.strip() and not line.startswith("#")]
    return [(test.strip(), [int(number) for number in least.split()], what.strip()) for test, least, what in rows]


def of_tests(table, regex):
    return [row for row in table if re.search(regex, row[0])]


def complaints(tests, table):
    for name, test in tests.items():
        yield from (f"{skip} was skipped: {skip.reason}" for skip in skips_of(test))
    for name, least, what in table:
        if name not in tests:
            yield f"{name} did not run"
        elif tests[name].find("skipped") is None:
            printed = tests[name].findtext("system-out") or ""
            counts = [int(count) for count in re.findall(rf"{LINE_BEGIN}(\d+) {what}\b", printed, re.M)]
            print(f"{name}: {', '.join(f'{count} {what}' for count in counts) or f'no {what}'}")
            required = least * len(counts) if len(least) == 1 else least
            if not counts or len(counts) != len(required) or any(done < number for done, number in zip(counts, required)):
                yield f"{name} has to do {', '.join(map(str, least))} {what} or more"


def main(report, table, regex=""):
    found = list(complaints({test.get("name"): test for test in read_report(report)}, of_tests(table_of(table), regex)))
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
