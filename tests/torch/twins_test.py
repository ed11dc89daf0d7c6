"""The examples and their twins without Ratoon: how many lines lie between them, and that nothing else does."""
import difflib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
# How many lines are written at most, and by how many an example is longer than its twin. One line of each of the first
# two picks the device of a process.
LINES = {"digits": (16, 10), "charlm": (18, 10), "raw_buffers": (25, 10), "finetune": (25, 10), "gan": (16, 10), "dqn": (18, 13)}


def code_of(name):
    """Lines of code: comments and empty lines are no part of what one adds, nor is where a line is broken."""
    text = (ROOT / "examples" / name.removeprefix("plain_") / f"{name}.cpp").read_text()
    return [line.strip() for line in re.sub(r"[ ]*//[^\n]*", "", text).splitlines() if line.strip()]


def difference(name):
    """How many lines diff marks with + and -: a line that changed is one of each."""
    marks = [line[0] for line in difflib.ndiff(code_of(f"plain_{name}"), code_of(name))]
    return marks.count("+"), marks.count("-")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Twins(unittest.TestCase):
    def test_lines_that_one_adds(self):
        for name, (most, growth) in LINES.items():
            written, gone = difference(name)
            print(f"{name}: {written} lines written or changed, {gone} of {len(code_of('plain_' + name))} gone")
            self.assertLessEqual(written, most, name)
            self.assertLessEqual(written - gone, growth, f"{name} grows by more")

    def test_the_plain_ones_know_nothing_of_ratoon(self):
        for name in LINES:
            self.assertNotIn("ratoon", "\n".join(code_of(f"plain_{name}")))

    def test_one_process_ends_with_the_weights_of_the_plain_run(self):
        words = ["--steps", 60, "--batch", 8]
        plain = run(BIN / "plain_charlm", *words)
        with tempfile.TemporaryDirectory() as folder:
            alone = run(BIN / "charlm", *words, "--save-folder", folder, "--run-name", "alone", "--save-every", 20)
        lines = re.compile("^(?:attempt|weights) .*$", re.M)
        self.assertEqual(len(lines.findall(plain)), 61)
        self.assertEqual(lines.findall(alone), lines.findall(plain), "each loss, and the weights")
        self.assertEqual(alone.splitlines()[-1], plain.splitlines()[-1], "what it writes")

    def test_the_plain_digits_learn(self):
        said = run(BIN / "plain_digits", "--steps", 40, "--batch", 30)
        losses = [float(loss) for loss in re.findall(r"loss (\S+)", said)]
        self.assertEqual(len(losses), 40)
        self.assertLess(losses[-1], losses[0])

    def test_the_plain_gan_and_dqn_run(self):
        for name in ("plain_gan", "plain_dqn"):
            self.assertRegex(run(BIN / name, "--steps", 5, "--batch", 8), "(?s)step 4 loss .*\nweights [0-9a-f]{16}\n")


if __name__ == "__main__":
    unittest.main()
