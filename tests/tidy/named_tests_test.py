"""Pages that say of each row of a table which test stands for it: each one that they name is there, in the program that they
name with it."""
import re
import unittest

from named_tests import programs
from repository import Repository

PAGES = {"docs/contribute/checkpoint_failures.md": 26, "docs/contribute/checkpoint_promises.md": 41,
         "docs/contribute/operator_failures.md": 35, "docs/contribute/promises.md": 26}  # and how many rows they have at least


def rows(text):
    """What is said and the tests' names, of each row of the tables whose last column has tests."""
    is_of_tests = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            is_of_tests = False
        elif cells[-1] in ("test", "tests"):
            is_of_tests = True
        elif is_of_tests and cells[0] != "---":
            yield cells[0], re.findall("`([^`]+)`", cells[-1])


def faults(names, known):
    """What is wrong with a row's names: PROGRAM, PROGRAM: SUITE.CASE, PROGRAM: test_case, or a case alone, which is in the
    program that was named before it."""
    before = None
    for name in names:
        program, _, case = name.rpartition(": ")
        if not program and not ("." in case or case.startswith("test_")):
            program, case = case, ""
        program = program or before
        before = program
        if program is None:
            yield f"{name} is in no program: write PROGRAM: {name}"
        elif program not in known:
            yield f"{name}: there is no test {program}"
        elif case and not known[program].has(case):
            having = sorted(other.name for other in known.values() if other.has(case))
            yield f"{program} has no case {case}" + (f", which is in {', '.join(having)}" if having else "")


class NamedTests(unittest.TestCase):
    def test_each_is_there(self):
        repository = Repository.from_git()
        known, found = programs(repository), []
        for page, least in PAGES.items():
            rows_of_page = list(rows(repository.files[page].text))
            self.assertGreaterEqual(len(rows_of_page), least, page)
            for said, names in rows_of_page:
                self.assertTrue(names, f"{page} names no test: {said}")
                found += [f"{page}: {fault} ({said})" for fault in faults(names, known)]
        self.assertEqual(found, [], "\n".join(found))

    def test_what_is_not_there_is_seen(self):
        known = programs(Repository({
            "CMakeLists.txt": "", "tests/CMakeLists.txt": "",
            "tests/unit/tests.cmake": "ratoon_test(unit/some_test SOURCES one.cpp more.cpp LIBS laws)\n"
                                      "ratoon_test(unit/other_test)\nadd_library(laws OBJECT unit/laws.cpp)\n"
                                      "ratoon_python_test(unit/last_test)\nratoon_python_test(unit/some_test)\n",
            "tests/unit/one.cpp": "TEST_F(Some, Case) {", "tests/unit/more.cpp": "TEST(More, Case) {",
            "tests/unit/laws.cpp": '#include "tests/unit/laws.h"\n', "tests/unit/laws.h": "TEST_P(Laws, Hold) {",
            "tests/unit/other_test.cpp": "TEST(Other, One) {", "tests/unit/some_test.py": "  def test_in_python(self):",
            "tests/unit/base_test.py": "  def test_of_base(self):",
            "tests/unit/last_test.py": "from base_test import Base\nclass A:\n  def test_case(self):"}))
        for names in (["some_test"], ["some_test: Some.Case"], ["some_test: Some.*"], ["last_test: test_case"],
                      ["some_test: Some.Case", "More.Case", "some_test: Laws.Hold"], ["some_test: test_in_python"],
                      ["last_test: test_of_base", "test_case"]):
            self.assertEqual(list(faults(names, known)), [], names)
        for name in ("others_test", "other_test: Some.Case", "some_test: Some.Cases", "some_test: Other.*", "Some.Case",
                     "other_test: Other.Case", "some_test: test_case", "some_test: test_of_base"):
            self.assertEqual(len(list(faults([name], known))), 1, name)
        self.assertEqual(list(faults(["some_test", "Other.One"], known)), ["some_test has no case Other.One, which is in "
                                                                           "other_test"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
