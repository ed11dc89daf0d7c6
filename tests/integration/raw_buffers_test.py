"""The example without LibTorch: it ends, keeps its best weights and writes its table as an unbroken run, whatever is killed,
handed over and resized. RATOON_DISTURBANCES says how often, RATOON_SEED repeats a run."""

import subprocess
import tempfile
import unittest

from example_run import Stages, seed_and_count
from local_run import BIN

SEED, DISTURBANCES = seed_and_count(in_ci=5)
STEPS = 400
WORDS = ["--steps", STEPS, "--batch", 6, "--validate-every", 2, "--patience", 3]


class RawBuffers(unittest.TestCase):
    def test_disturbed_it_is_as_unbroken(self):
        trial = Stages([BIN / "raw_buffers", *WORDS], [(2, 40), (3, 80), (1, None)])
        decisions = trial.unbroken.decisions
        self.assertEqual(decisions.finished["reason"], "the loss no longer falls")
        self.assertLess(decisions.end, STEPS)
        self.assertEqual(len(decisions.pins), 1)
        rows = trial.unbroken.files["losses.csv"].splitlines()
        self.assertEqual([int(row.split(",")[0]) for row in rows], list(range(1, decisions.end, 2)))
        done, runs = trial.check_through(SEED, DISTURBANCES, at_once=5)
        print(f"{done} disturbances over {runs} runs")

    def test_one_process_is_as_its_twin(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--steps", "40", "--batch", "8"]
            plain, alone = [
                subprocess.run(command, cwd=folder, text=True, capture_output=True, check=True, timeout=180).stdout
                for command in ([BIN / "plain_raw_buffers", *words],
                                [BIN / "raw_buffers", *words, "--save-folder", folder, "--run-name", "alone"])]
        self.assertEqual(plain, "".join(line for line in alone.splitlines(True) if line.startswith(("attempt", "weights"))))

    def test_flags_that_are_not_known(self):
        for words, why in ((["--step", "3"], "--step is no flag"), (["--steps", "3x"], "--steps needs a whole number"),
                           (["--seed"], "--seed needs a number")):
            for program in ("raw_buffers", "plain_raw_buffers"):
                refused = subprocess.run([BIN / program, *words], text=True, capture_output=True, timeout=180)
                self.assertEqual(refused.returncode, 82)
                self.assertIn(why, refused.stderr)


if __name__ == "__main__":
    unittest.main()
