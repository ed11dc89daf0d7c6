"""scripts/contribute/draw: the same seed draws the same names and sentences, from the population that its help describes."""
import importlib.machinery
import importlib.util
import subprocess
import unittest

from repository import ROOT, Repository

PATH = ROOT / "scripts" / "contribute" / "draw"


def load():
    loader = importlib.machinery.SourceFileLoader("draw", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("draw", loader))
    loader.exec_module(module)
    return module


FILES = Repository({
    "base/core/pause.h": "// Pause: how long to wait before the next try.\n//\n//     Pause pause = first_pause();\n"
                         "namespace ratoon {\nclass Pause {\n  explicit Pause(int tries);\n  Duration next_pause();\n"
                         "  int tries_ = 0;\n};\n}\n",
    "base/core/pause.cpp": "Duration Pause::next_pause() {\n  int doubled = 2;\n  return fail(\"the disk is full: \"\n"
                           "    \"free some space there\");\n}\n"
                           "Duration Pause::next_pause(int) {\n  return fail(name_of(rank, 2) + \" has left \" +\n"
                           "      text_of(run) + \", attempt \" + std::to_string(attempt_));\n}\n"
                           "Row Pause::next_pause(Row) { return {\"<text x='1' y='2' class='scale'>\", number(1) +\n"
                           "      \", \" + number(2) + \"/s, \" + number(3) + \" left\"}; }\n",
    "docs/a.md": "# A heading of four words\n\nOne sentence stands here. `Code` begins the second one.\n\n"
                 "```\nno sentence of four words\n```\n\n| a | table has no sentences |\n",
    "tests/a.cpp": "// Tests are not in the population.\nint of_a_test();\n",
})


class DrawTest(unittest.TestCase):
    def test_names(self):
        found = [name for _, name in load().population(FILES, "names")]
        self.assertEqual(found, ["Pause::next_pause", "pause", "Pause", "Pause::next_pause", "Pause::tries_",
                                 "pause"])

    def test_sentences(self):
        found = [sentence for _, sentence in load().population(FILES, "sentences")]
        self.assertEqual(found, ["the disk is full: free some space there", "{} has left {}, attempt {}",
                                 "Pause: how long to wait before the next try.",
                                 "One sentence stands here.", "`Code` begins the second one."])

    def test_a_seed_draws_the_same_again(self):
        draw = load().draw
        once = draw(FILES, "seed", 3, "names")
        self.assertEqual(draw(FILES, "seed", 3, "names"), once)
        self.assertEqual(len(set(once)), 3)
        self.assertEqual(len(draw(FILES, "seed", 100, "sentences")), 5)
        self.assertTrue(any(draw(FILES, str(seed), 3, "names") != once for seed in range(10)))

    def test_a_sentence_stands_in_its_place(self):
        place_of = load().place_of
        self.assertEqual(place_of(FILES.files["base/core/pause.h"], "Pause: how long to wait before the next try."),
                         "\n    | // Pause: how long to wait before the next try.\n    | //")
        self.assertIn('return fail("the disk is full: "\n',
                      place_of(FILES.files["base/core/pause.cpp"], "the disk is full: free some space there"))
        self.assertIn('" has left "',
                      place_of(FILES.files["base/core/pause.cpp"], "{} has left {}, attempt {}"))
        self.assertEqual(place_of(FILES.files["docs/a.md"], "`Code` begins the second one."),
                         "\n    | # A heading of four words"
                         "\n    | One sentence stands here. `Code` begins the second one.")

    def test_the_command_refuses_what_it_does_not_take(self):
        for arguments, said in ((["1", "2"], "takes a seed"), (["1", "x", "names"], "takes a seed"),
                                (["1", "2", "words"], "takes a seed")):
            run = subprocess.run([PATH, *arguments], text=True, capture_output=True, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn(said, run.stderr)
        self.assertIn("names|sentences", subprocess.run([PATH, "--help"], text=True, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    unittest.main()
