"""Pages, charts, scripts, and comments and texts of C++ name the noun: no nobody, somebody or whoever, no sentence that
begins with Who or What."""
import unittest

import stand_ins
from repository import ROOT, Repository, TidyTest

LEFT_WHEN_MADE = 4  # the sum of the list; lower it with the list


class StandInsTest(TidyTest):
    def test_no_word_stands_in_for_a_noun(self):
        left = stand_ins.read_list((ROOT / stand_ins.LIST).read_text())
        self.expect_none(stand_ins.check(Repository.from_git(), left))

    def test_the_list_only_shrinks(self):
        left = stand_ins.read_list((ROOT / stand_ins.LIST).read_text())
        self.assertLessEqual(sum(left.values()), LEFT_WHEN_MADE, "reword the sentence; do not add it to the list")


class StandInsSelfTest(unittest.TestCase):
    def found(self, text, path="docs/a.md", left=None):
        return [str(one) for one in stand_ins.check(Repository({path: text}), left or {})]

    def test_each_word_is_found_where_it_stands(self):
        for text, word in (("Nobody waits.", "Nobody"), ("It is somebody's.", "somebody"), ("To anybody else.", "anybody"),
                           ("All.\nWhoever asks.", "Whoever"), ("It runs, whatever it is.", "whatever"),
                           ("It waits no\nmore.", "no more"), ("Who leads writes.", "Who"), ("# What is kept\n", "What"),
                           ("It ends. What remains goes.", "What"), ("| What is lost | all? |", "What")):
            for path in ("docs/a.md", "scripts/a", "scripts/lib/a.py", "charts/ratoon/values.yaml", "crds/a.yaml", "README.md"):
                complaints = self.found(text, path)
                self.assertEqual(len(complaints), 1, (path, text))
                self.assertIn(f"says '{word}'", complaints[0])
        self.assertTrue(self.found("One.\n\nNobody waits.")[0].startswith("docs/a.md:3 says 'Nobody'; name the"))

    def test_questions_code_and_comparisons_are_free(self):
        for text in ("What is a job?", "Who leads, and why?\nThe newest.", "| What is\nit? | a |", "No more than ten.",
                     "With no more memory than that.", "`NobodyWaits` and `whatever`", "```\n# Nobody\n```\n",
                     "It says what it does.", "HangTest.NobodyIsBlamed"):
            self.assertEqual(self.found(text), [], text)

    def test_comments_and_texts_of_programs_are_read(self):
        for text in ("// Nobody waits.", 'fail("it waits for\\n" "nobody");', "int a;  // as somebody does", 'R"(to anybody)"',
                     "char c = '\"';  // To everybody else\n", 'const char* a = "\\"";  // whoever asks'):
            for path in ("agent/a.cpp", "base/a.h", "operator/core/a.cpp", "cli/a.cpp", "examples/a/a.cpp"):
                self.assertEqual(len(self.found(text, path)), 1, (path, text))
        for text in ("int nobody = 0;", 'call("a"), whatever, say("b");', "bool is_anybody_done() { return x == '/'; }"):
            self.assertEqual(self.found(text, "agent/a.cpp"), [], text)

    def test_other_files_are_not_read(self):
        for path in ("tests/unit/a.cpp", "docs/contribute/style.md", "docs/run.svg", "scripts/packages/servers/go.mod"):
            self.assertEqual(self.found("Nobody waits.", path), [], path)

    def test_the_list_is_exact(self):
        text = "Nobody waits. Somebody does."
        self.assertEqual(self.found(text, left={"docs/a.md": 2}), [])
        self.assertEqual(len(self.found(text, left={"docs/a.md": 1})), 2)
        self.assertIn("allows docs/a.md 3, and 2 are left", self.found(text, left={"docs/a.md": 3})[0])
        self.assertIn("names docs/b.md, which does not exist", self.found("", left={"docs/b.md": 1})[0])
        self.assertEqual(stand_ins.read_list("# text\ndocs/a.md 2\n"), {"docs/a.md": 2})


if __name__ == "__main__":
    unittest.main()
