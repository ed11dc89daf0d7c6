"""finetune, gan and dqn end, decide and keep what an unbroken run does, whatever is killed, handed over and resized.
RATOON_DISTURBANCES says how often each is disturbed, RATOON_SEED repeats a run."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from example_run import Stages, seed_and_count  # noqa: E402
from local_run import BIN  # noqa: E402

SEED, DISTURBANCES = seed_and_count(in_ci=2)


class Examples(unittest.TestCase):
    def check(self, trial):
        done, runs = trial.check_through(SEED, DISTURBANCES, at_once=6)
        print(f"{done} disturbances over {runs} runs")

    def test_finetune(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-finetune-") as folder:
            words = ["--steps", "60", "--batch", "48", "--save-folder", folder, "--run-name", "digits"]
            subprocess.run([BIN / "digits", *words], check=True, stdout=subprocess.DEVNULL, timeout=180)
            [manifest] = pathlib.Path(folder).glob("digits/manifests/*.json")
            words = ["--epochs", 6, "--batch", 24, "--load-from", manifest]
            trial = Stages([BIN / "finetune", *words], [(2, 50), (3, None)])
            decisions = trial.unbroken.decisions
            self.assertEqual(decisions.finished["reason"], "the loss no longer falls")
            self.assertEqual(len(decisions.pins), 2)
            self.check(trial)

    def test_gan(self):
        trial = Stages([BIN / "gan", "--steps", 60, "--batch", 48], [(2, 30), (3, None)])
        trained = max(int(line.split()[-2]) for line in trial.unbroken.results if line.startswith("the generator"))
        self.assertTrue(0 < trained < 60, f"in some steps, but not in each: {trained}")
        self.check(trial)

    def test_dqn(self):
        trial = Stages([BIN / "dqn", "--steps", 1500], [(1, None)], pause_ms=3)
        self.assertEqual(trial.unbroken.decisions.finished["reason"], "solved")
        self.check(trial)


if __name__ == "__main__":
    unittest.main()
