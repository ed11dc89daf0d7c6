"""The documentation is a house with one door: docs/README.md leads to every page, and every link leads somewhere."""
import re
import unittest

import pages
from repository import Repository, TidyTest

NAMES = "base/contract/names.h"


def check_variables(repository):
    """Every variable that the two halves share is on a page of the reference."""
    text = "".join(repository.files[f"docs/reference/{name}.md"].text for name in ("options", "environment"))
    block = re.search(r"namespace env \{(.*?)\}  // namespace env", repository.files[NAMES].text, re.S)[1]
    for name in re.findall(r'= "(\w+)"', block):
        if f"`{name}`" not in text:
            yield f"{NAMES} has {name}, which is not on docs/reference/environment.md; add a row there"


class PagesTest(TidyTest):
    @classmethod
    def setUpClass(cls):
        cls.repository = Repository.from_git()

    def test_every_link_leads_somewhere(self):
        self.expect_none(pages.check_links(self.repository))

    def test_the_index_leads_to_every_page(self):
        self.expect_none(pages.check_paths(self.repository))

    def test_lines_are_short(self):
        self.expect_none(pages.check_lines(self.repository))

    def test_a_release_is_two_screens(self):
        self.expect_none(pages.check_changelog(self.repository))

    def test_every_shared_variable_is_described(self):
        self.expect_none(check_variables(self.repository))


class PagesSelfTest(unittest.TestCase):
    def found(self, check, files):
        return sorted(map(str, check(Repository(files))))

    def test_links(self):
        for link in ("b.md", "b.md#a-heading---more", "../README.md", "#top", "https://example.org/no.md", "../tests"):
            files = {"docs/a.md": f"# Top\n[x]({link})\n", "docs/b.md": "# A heading: `-` more\n", "README.md": "",
                     "tests/unit/a.cpp": ""}
            self.assertEqual(self.found(pages.check_links, files), [], link)
        for link, said in (("no.md", "docs/a.md:2 links to docs/no.md, which"), ("#no", "#no, which is no heading of docs/a.md"),
                           ("b.md#no", "which is no heading of docs/b.md"), ("../b.md", "links to b.md, which")):
            complaints = self.found(pages.check_links, {"docs/a.md": f"# Top\n[x]({link})\n",
                                                        "docs/b.md": "# B\n"})
            self.assertEqual(len(complaints), 1, link)
            self.assertIn(said, complaints[0])
        self.assertEqual(self.found(pages.check_links, {"a.md": "```\n[x](no.md)\n```\n`[y](no.md)`\n"}), [])
        self.assertEqual(len(self.found(pages.check_links, {"a.md": "[of two\nlines](no.md)\n"})), 1)

    def test_headings_of_one_name(self):
        self.assertEqual(list(pages.anchors("# One\n## One\n```\n# no\n```\n## `a b` ([c](d.md))\n")), ["one", "one-1", "a-b-c"])

    def test_paths(self):
        index = {"docs/README.md": "[a](train/a.md) [b](operate/b.md)"}
        fine = {**index, "docs/train/a.md": "", "docs/operate/b.md": "", "docs/train/c.txt": ""}
        self.assertEqual(self.found(pages.check_paths, fine), [])
        for path, said in (("docs/train/c.md", "is not reached from docs/README.md"), ("docs/train/b.md", "has the name of"),
                           ("docs/other/c.md", "is in no reader's folder"), ("docs/c.md", "is in no reader's folder"),
                           ("docs/train/more/c.md", "is in no reader's folder"), ("docs/train/a.json", "is a raw record")):
            self.assertTrue(any(said in complaint for complaint in self.found(pages.check_paths, {**fine, path: ""})), path)

    def test_lines(self):
        wide = "x" * 121
        self.assertEqual(self.found(pages.check_lines, {"a.md": f"{wide[:120]}\n| {wide} |\n", "CHANGELOG.md": wide}), [])
        self.assertEqual(len(self.found(pages.check_lines, {"docs/a.md": f"\n{wide}\n```\n{wide}\n```\n"})), 2)
        self.assertEqual(self.found(pages.check_lines, {"README.md": "\n" * 120}), [])
        release = "# Changelog\n\n## 0.2.0\n" + "- a\n" * 109
        self.assertEqual(self.found(pages.check_changelog, {"CHANGELOG.md": release + "\n## 0.1.0\n" + "- a\n" * 109}), [])
        [complaint] = self.found(pages.check_changelog, {"CHANGELOG.md": release + "- b\n"})
        self.assertIn("has 111 lines of 110 for '0.2.0'", complaint)
        self.assertIn("has 121 lines of 120", self.found(pages.check_lines, {"README.md": "\n" * 121})[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
