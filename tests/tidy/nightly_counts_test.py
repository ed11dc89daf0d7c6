"""What scripts/nightly counts is printed so that it can be counted: a line that begins with a number and the word."""
import re
import unittest

from repository import ROOT

TESTS = ROOT / "tests"
# print(f"{count} kills ..."), std::printf("%llu kills ..."), std::cout << count << " kills ..."
BEGINS = r'(print\(f"\{{[^}}]+\}}|printf\(\s*"%\w+|std::cout << [\w.()]+ << ") {what}\b'


def rows():
    lines = (TESTS / "nightly_counts.txt").read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def sources_of(test):
    """integration.object_cache_kill_nightly_test: that file, the test of the day that it is made of, and what that one runs."""
    name = re.sub(r"_\d+$", "", test.partition(".")[2])
    files = {path.stem: path for path in TESTS.rglob("*_test.*") if path.suffix in (".py", ".cpp")}
    stems = {name, name.replace("_nightly", "")} & set(files)
    stems |= {word for stem in stems for word in re.findall(r"\w+_test\b", files[stem].read_text())}
    return [files[stem] for stem in sorted(stems & set(files))]


class NightlyCounts(unittest.TestCase):
    def test_each_is_printed_at_the_beginning_of_a_line(self):
        self.assertGreater(len(rows()), 0)
        for test, _, what in rows():
            with self.subTest(test):
                texts = [path.read_text() for path in sources_of(test)]
                self.assertTrue(texts, "no such test")
                self.assertTrue(any(re.search(BEGINS.format(what=what), text) for text in texts),
                                f"no line that it prints begins with a number and '{what}'")


if __name__ == "__main__":
    unittest.main()
