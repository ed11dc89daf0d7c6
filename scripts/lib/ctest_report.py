"""Reads ctest's JUnit file. `skipped FILE` prints the skipped tests by reason: a test says "SKIPPED: reason" and exits
77. `failed FILE` prints a regular expression that makes ctest pick just the failed ones. `repeated FOLDER` prints a line a test
over all files of the folder: how often it ran, was skipped and failed; what a failed one said becomes a file beside them. Its
exit code is 1 where one failed or none ran."""
import collections
import pathlib
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


def cases_of(path):
    try:
        return list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return []


def print_repeated(folder):
    counts = collections.defaultdict(collections.Counter)
    for path in sorted(pathlib.Path(folder).glob("round-*.xml")):
        for case in cases_of(path):
            name, status = case.get("name"), case.get("status")
            counts[name][{"run": "passed", "fail": "failed"}.get(status, "skipped")] += 1
            if status == "fail":
                pathlib.Path(folder, f"{name}-{path.stem}.log").write_text(case.findtext("system-out") or "")
    for name, count in sorted(counts.items(), key=lambda item: (-item[1]["failed"], item[0])):
        print(f"  {name}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    failed, ran = (sum(count[what] for count in counts.values()) for what in ("failed", "passed"))
    print(f"{failed} of {failed + ran} runs failed")
    return 1 if failed > 0 or ran == 0 else 0


def main(what, path):
    if what == "repeated":
        sys.exit(print_repeated(path))
    {"skipped": print_skipped, "failed": print_failed}[what](cases_of(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
