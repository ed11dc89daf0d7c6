"""The record of a night of tests: docs/nightly.md, a row for each part. A row has the last result of the part, with commit and
day.

nightly_record.py RECORD tests REPORT TABLE [REGEX] records the tests of ctest's JUnit report; a test that was skipped, or did
less than the table of nightly_counts.py requires, is red. nightly_record.py RECORD part NAME green|red records another part."""
import datetime
import re
import subprocess
import sys

import nightly_counts
from skips import read_report

ROW = re.compile(r"^\| `([^`]+)` \| (green|red|not run) \| `([0-9a-f]{7,40})` \| (\d{4}-\d\d-\d\d) \|$", re.M)


def rows(text):
    """{part: (result, commit, day)}"""
    return {part: (result, commit, day) for part, result, commit, day in ROW.findall(text)}


def with_results(text, results, commit, day):
    """The page with the results of these parts; new parts come after its last row."""
    for part, result in results.items():
        row = f"| `{part}` | {result} | `{commit}` | {day} |"
        known = re.compile(rf"^\| `{re.escape(part)}` \|.*$", re.M)
        if known.search(text):
            text = known.sub(lambda _, row=row: row, text)
        else:
            last = list(ROW.finditer(text))[-1]
            text = text[:last.end()] + "\n" + row + text[last.end():]
    return text


def results_of(tests, table, regex):
    """{test: green or red}"""
    names = {test.get("name"): test for test in tests}
    wrong = list(nightly_counts.complaints(names, nightly_counts.of_tests(table, regex)))
    is_wrong = {name for name in names if any(re.match(rf"{re.escape(name)}\b(?!\w)", complaint) for complaint in wrong)}
    return {name: "green" if test.get("status") == "run" and name not in is_wrong else "red" for name, test in names.items()}


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


def note(record, results):
    changed = [line for line in git("status", "--porcelain").splitlines() if not line.endswith(record)]
    if changed:
        print(f"{record} is left as it is: no commit has the changes in {changed[0][2:].strip()} and {len(changed) - 1} other "
              "files, and a record names the commit that was tested; commit them, and run the night again")
        return
    with open(record) as file:
        text = file.read()
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    with open(record, "w") as file:
        file.write(with_results(text, results, git("rev-parse", "--short=12", "HEAD"), day))
    print(f"{record} says now how {len(results)} parts ended: commit it")


def main(record, what, *words):
    if what == "tests":
        report, table, *regex = words
        note(record, results_of(read_report(report), nightly_counts.table_of(table), regex[0] if regex else ""))
    else:
        name, result = words
        note(record, {name: result})


if __name__ == "__main__":
    main(*sys.argv[1:])
