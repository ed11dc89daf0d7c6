"""nightly_counts.py REPORT TABLE: what a night's tests did, from ctest's JUnit report. A test that was skipped is red: the
night makes all that its tests need. So is one that did less than the table says, whatever its exit code: each line
"1000 kills ..." that it printed counts for itself. A table that is not there asks for nothing."""
import os
import re
import sys
import xml.etree.ElementTree


def table_of(path):
    """[(test, at least, of what)]"""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        rows = [line.split("|") for line in file if line.strip() and not line.startswith("#")]
    return [(test.strip(), int(least), what.strip()) for test, least, what in rows]


def complaints(tests, table):
    for name, test in tests.items():
        if test.find("skipped") is not None:
            reason = re.search(r"SKIPPED: (.*)", test.findtext("system-out") or "")
            yield f"{name} was skipped: {reason[1] if reason else 'it says nothing'}"
    for name, least, what in table:
        if name not in tests:
            yield f"{name} did not run"
        elif tests[name].find("skipped") is None:
            counts = [int(count) for count in re.findall(rf"^(\d+) {what}\b", tests[name].findtext("system-out") or "", re.M)]
            print(f"{name}: {', '.join(f'{count} {what}' for count in counts) or f'no {what}'}")
            if not counts or min(counts) < least:
                yield f"{name} has to do {least} {what} or more"


def main(report, table):
    root = xml.etree.ElementTree.parse(report).getroot()
    found = list(complaints({test.get("name"): test for test in root.iter("testcase")}, table_of(table)))
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
