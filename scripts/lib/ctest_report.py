"""Reads ctest's JUnit file. `skipped FILE` prints the skipped tests by reason: a test says "SKIPPED: reason" and exits
77. `failed FILE` prints a regular expression that makes ctest pick just the failed ones."""
import collections
import re
import sys
import xml.etree.ElementTree as ET


def print_skipped(cases):
    reasons = collections.defaultdict(list)
    for case in cases:
        if case.find("skipped") is None:
            continue
        said = re.search(r"SKIPPED: *(.+)", case.findtext("system-out") or "")
        reasons[said.group(1).strip() if said else "it gave no reason"].append(case.get("name"))
    for reason, names in sorted(reasons.items()):
        print(f"  skipped {len(names)}: {reason} ({', '.join(sorted(names))})")


def print_failed(cases):
    names = [re.escape(case.get("name")) for case in cases if case.get("status") == "fail"]
    print(f"^({'|'.join(names)})$")


def main(what, path):
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        cases = []
    {"skipped": print_skipped, "failed": print_failed}[what](cases)


if __name__ == "__main__":
    main(*sys.argv[1:])
