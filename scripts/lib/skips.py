"""Skips although ctest is green: whole tests, and cases within passed programs. Reads ctest's JUnit file."""
import dataclasses
import re
import xml.etree.ElementTree as ET

WHOLE = "-"  # in place of a case
NO_REASON = "it gave no reason"
_OF_PYTHON = re.compile(r"^SKIPPED CASE ([^:\n]+): (.*)$", re.M)
_OF_GTEST = re.compile(r"\[  SKIPPED \] ([\w./]+)( \(\d+ ms\))?$", re.M)
_REASON_OF_GTEST = re.compile(r": Skipped\n(.+)")


@dataclasses.dataclass(frozen=True, order=True)
class Skip:
    test: str
    case: str
    reason: str

    def __str__(self):
        return self.test if self.case == WHOLE else f"{self.test}: {self.case}"


def read_report(path):
    """The tests of the report; none without a report."""
    try:
        return list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return []


def skips_in(tests):
    return [skip for test in tests for skip in skips_of(test)]


def skips_of(test):
    name, said = test.get("name"), test.findtext("system-out") or ""
    if test.find("skipped") is not None:
        reason = re.search(r"SKIPPED: *(.+)", said)
        return [Skip(name, WHOLE, reason[1].strip() if reason else NO_REASON)]
    cases = {case: reason.strip() or NO_REASON for case, reason in _OF_PYTHON.findall(said)}
    cases.update(_cases_of_gtest(said))
    return [Skip(name, case, reason) for case, reason in cases.items()]


def _cases_of_gtest(said):
    """The line of a case comes after its reason. All are listed again at the end, which is never cut off."""
    cases, begin = {}, 0
    for found in _OF_GTEST.finditer(said):
        case, is_line_of_case = found.groups()
        reasons = _REASON_OF_GTEST.findall(said[begin:found.start()]) if is_line_of_case else []
        cases.setdefault(case, reasons[-1].strip() if reasons else NO_REASON)
        begin = found.end()
    return cases
