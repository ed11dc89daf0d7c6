"""tests/expected_skips.txt names tests and cases that there are: a line of one that is gone would excuse nothing."""
import fnmatch
import sys
import unittest

from named_tests import programs
from repository import ROOT, Repository

sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import expected_skips  # noqa: E402
import skips  # noqa: E402


def faults(rows, known):
    for row in rows:
        wanted = row.test.partition(".")[2].removesuffix("_*")
        named = [program for name, program in known.items() if fnmatch.fnmatchcase(name, wanted)]
        if not named:
            yield f"{row.test}: there is no such test"
        elif row.case not in ("*", skips.WHOLE) and not any(has_case(program, row.case) for program in named):
            yield f"{row.test} has no case {row.case}"


def has_case(program, wanted):
    cases = {f"{suite}.{case}" for suite, case in program.cases} | program.methods
    return any(fnmatch.fnmatchcase(case, wanted) for case in cases)


class ExpectedSkips(unittest.TestCase):
    def test_each_line_is_of_a_test_and_a_case_that_there_are(self):
        rows = expected_skips.read_table(ROOT / "tests/expected_skips.txt")
        self.assertGreater(len(rows), 20)
        self.assertEqual(list(faults(rows, programs(Repository.from_git()))), [])

    def test_what_is_not_there_is_seen(self):
        known = programs(Repository({"tests/CMakeLists.txt": "", "tests/unit/tests.cmake": "ratoon_test(unit/some_test)\n",
                                     "tests/unit/some_test.cpp": "TEST(Some, Case) {"}))
        for test, case, count in (("unit.some_test", "Some.*", 0), ("unit.*", "Some.Case", 0), ("unit.some_test", "-", 0),
                                  ("unit.other_test", "*", 1), ("unit.*", "Other.*", 1)):
            rows = [expected_skips.read_row(f"no root | {test} | {case} | *", "a table")]
            self.assertEqual(len(list(faults(rows, known))), count, (test, case))


if __name__ == "__main__":
    unittest.main()
