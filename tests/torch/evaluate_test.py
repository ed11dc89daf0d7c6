"""What digits trained is read right by evaluate: from the run, from a step of it, and from the file of its end."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"


def run(program, *words):
    return subprocess.run([BIN / program, *map(str, words)], capture_output=True, text=True, check=False)


class Evaluate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ratoon-evaluate-")
        cls.addClassCleanup(folder.cleanup)
        cls.run_folder = pathlib.Path(folder.name) / "digits"
        done = run("digits", "--steps", 200, "--save-every", 100, "--save-folder", folder.name, "--run-name", "digits")
        assert done.returncode == 0, done.stderr

    def accuracy_of(self, *words):
        done = run("evaluate", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        what, accuracy = re.fullmatch(r"(.*): accuracy ([0-9.]+) on 2048 pictures\n", done.stdout).groups()
        return what, float(accuracy)

    def test_the_run_its_steps_and_its_file_agree(self):
        before = sorted((str(path), path.stat().st_mtime_ns) for path in self.run_folder.rglob("*"))
        what, newest = self.accuracy_of(self.run_folder)
        self.assertIn("s0000000200.a0001.json", what)
        self.assertGreater(newest, 0.5)  # of ten digits; weights that are not trained read one in ten
        self.assertEqual(self.accuracy_of(self.run_folder, 200)[1], newest)
        self.assertEqual(self.accuracy_of(self.run_folder / "weights.safetensors")[1], newest)
        what, earlier = self.accuracy_of(self.run_folder, 100)
        self.assertIn("s0000000100", what)
        self.assertNotEqual(earlier, newest)
        self.assertEqual(sorted((str(path), path.stat().st_mtime_ns) for path in self.run_folder.rglob("*")), before)

    def test_what_is_not_there(self):
        for words, sentence in ((("/nonexistent",), "there is no checkpoint in /nonexistent/manifests"),
                                ((self.run_folder, 51), "there is no checkpoint of step 51")):
            done = run("evaluate", *words)
            self.assertEqual(done.returncode, 82, done.stdout)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
