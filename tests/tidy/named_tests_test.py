"""Pages that say of each row of a table which test stands for it: each one that they name is there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"docs/checkpoints/failures.md": 26, "docs/checkpoints/promises.md": 41, "docs/operations/pitfalls.md": 35,
         "docs/promises.md": 26}  # and how many rows they have at least


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


def is_there(name, sources):
    """PROGRAM, PROGRAM: SUITE.CASE, PROGRAM: test_case, or without the program, which the one before named."""
    program, _, case = name.rpartition(": ")
    case, program = (case, program) if program or "." in case or case.startswith("test_") else ("", case)
    if program and not any(re.search(rf"(?<![\w]){program}(?![\w])", text) for path, text in sources.items()
                           if path.endswith(".cmake")):
        return False
    if not case:
        return True
    suite, _, one = case.partition(".")
    if not one:
        return any(f"def {case}(" in text for text in sources.values())
    any_or_one = r"\w+" if one == "*" else one
    wanted = rf"(?:TEST(?:_F|_P)?|RC_GTEST_PROP)\(\s*{suite}\s*,\s*{any_or_one}\s*[,)]"
    return any(re.search(wanted, text) for path, text in sources.items() if path.endswith(".cpp"))


def read_sources():
    paths = [path for ending in ("cpp", "py", "cmake") for path in (ROOT / "tests").rglob("*." + ending)]
    return {str(path): path.read_text() for path in paths}


class NamedTests(unittest.TestCase):
    def test_each_is_there(self):
        sources = read_sources()
        for page, least in PAGES.items():
            found = list(rows((ROOT / page).read_text()))
            self.assertGreaterEqual(len(found), least, page)
            for said, names in found:
                self.assertTrue(names, f"{page} names no test: {said}")
                for name in names:
                    self.assertTrue(is_there(name, sources), f"{page} names a test that is not there: {name}")

    def test_what_is_not_there_is_seen(self):
        sources = {"a.cmake": "ratoon_test(unit/some_test", "a.cpp": "TEST_F(Some, Case) {", "a.py": "def test_case(self):"}
        for name in ("some_test", "some_test: Some.Case", "Some.Case", "Some.*", "some_test: test_case"):
            self.assertTrue(is_there(name, sources), name)
        for name in ("other_test", "other_test: Some.Case", "some_test: Some.Cases", "Other.*", "some_test: test_cases",
                     "me_test"):
            self.assertFalse(is_there(name, sources), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
