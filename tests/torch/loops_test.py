"""A loop as people write it, on 1, 2 and 4 ranks in turn: killed and handed over, it ends with the decisions and the bits of an
unbroken run. RATOON_SEED repeats a run."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from example_run import Stages, seed_and_count  # noqa: E402
from local_run import BIN  # noqa: E402

SEED, DISTURBANCES = seed_and_count(in_ci=3)


class Loops(unittest.TestCase):
    def test_a_run_that_is_disturbed_ends_as_an_unbroken_one(self):
        trial = Stages([BIN / "loops_probe", "--epochs", 15], [(1, 18), (2, 39), (4, None)])
        made = max(int(line.split()[4]) for line in trial.unbroken.results if "critic's" in line)
        self.assertTrue(60 < made < 180, f"the number of optimizer steps depends on the data: {made}")
        done, runs = trial.check_through(SEED, DISTURBANCES, at_once=3)
        print(f"{done} disturbances over {runs} runs")


if __name__ == "__main__":
    unittest.main()
