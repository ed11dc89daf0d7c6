"""Reads ctest's JUnit file. `skipped FILE` prints by reason what was skipped: whole tests, which say "SKIPPED: reason" and exit
77, and cases within programs. `unexpected FILE TABLE LANE` says of what was skipped and had no right to, by the table
tests/expected_skips.txt, and is red then. `failed FILE` prints a regular expression that makes ctest pick just the failed
tests."""
import collections
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


def main(what, path, *more):
    return {"skipped": print_skipped, "failed": print_failed, "unexpected": complain_of_unexpected}[what](
        read_report(path), *more)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
