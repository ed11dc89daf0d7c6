"""Reads ctest's JUnit file. `skipped FILE` prints skipped tests by reason: whole tests, which print "SKIPPED: reason" and exit
with 77, and cases within programs. `unexpected FILE TABLE LANE` prints skips that the table tests/expected_skips.txt does not
expect, and is red if there are any. `failed FILE` prints a regular expression with which ctest picks only the failed tests.
`repeated FOLDER` prints a line for each test over all files of the folder: the number of runs, skips and failures. It writes the
output of each failed run into a file beside them. Its exit code is 1 if a test failed or none ran."""
import collections
import pathlib
import re
import sys

import expected_skips
from skips import read_report, skips_in


def print_skipped(tests):
    reasons = collections.defaultdict(list)
    for skip in skips_in(tests):
        reasons[skip.reason].append(str(skip))
    for reason, names in sorted(reasons.items()):
        print(f"  skipped {len(names)}: {reason} ({', '.join(sorted(names))})")


def complain_of_unexpected(tests, table, lane):
    complaints = expected_skips.complaints(skips_in(tests), expected_skips.read_table(table), lane)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def print_failed(tests):
    names = [re.escape(test.get("name")) for test in tests if test.get("status") == "fail"]
    print(f"^({'|'.join(names)})$")


def print_repeated(folder):
    counts = collections.defaultdict(collections.Counter)
    for path in sorted(pathlib.Path(folder).glob("round-*.xml")):
        for case in read_report(path):
            name, status = case.get("name"), case.get("status")
            counts[name][{"run": "passed", "fail": "failed"}.get(status, "skipped")] += 1
            if status == "fail":
                pathlib.Path(folder, f"{name}-{path.stem}.log").write_text(case.findtext("system-out") or "")
    for name, count in sorted(counts.items(), key=lambda item: (-item[1]["failed"], item[0])):
        print(f"  {name}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    failed, ran = (sum(count[what] for count in counts.values()) for what in ("failed", "passed"))
    print(f"{failed} of {failed + ran} runs failed")
    return 1 if failed > 0 or ran == 0 else 0


def main(what, path, *more):
    if what == "repeated":
        return print_repeated(path)
    return {"skipped": print_skipped, "failed": print_failed, "unexpected": complain_of_unexpected}[what](
        read_report(path), *more)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
