"""Prints the tests that ctest skipped, by reason, from its JUnit file: a test says "SKIPPED: reason" and exits 77."""
import collections
import re
import sys
import xml.etree.ElementTree as ET


def skipped_by_reason(path):
    reasons = collections.defaultdict(list)
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is None:
            continue
        said = re.search(r"SKIPPED: *(.+)", case.findtext("system-out") or "")
        reasons[said.group(1).strip() if said else "it gave no reason"].append(case.get("name"))
    return reasons


def main(path):
    try:
        reasons = skipped_by_reason(path)
    except (OSError, ET.ParseError):
        return
    for reason, names in sorted(reasons.items()):
        print(f"  skipped {len(names)}: {reason} ({', '.join(sorted(names))})")


if __name__ == "__main__":
    main(sys.argv[1])
