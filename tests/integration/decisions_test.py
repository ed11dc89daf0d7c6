"""A program that stops early, keeps its best state and saves on wish decides as its unbroken run does, on one rank and on
several, whatever is lost, handed over and resized. decisions_nightly_test does a hundred of what is done here a few times."""

import os
import unittest

from deciding_run import Trial

PROGRAM = os.environ.get("RATOON_DECIDING_PROBE")  # another build of it
SEED = int(os.environ.get("RATOON_SEED", "27"))


class Decides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.pop("RATOON_SEED", None)  # trainers take it for their own
        print(f"RATOON_SEED={SEED}", flush=True)
        cls.trial = Trial(best_at=45, program=PROGRAM)

    def test_the_program_decides_all_that_there_is_to_decide(self):
        unbroken = self.trial.unbroken
        self.assertRegex(unbroken.finished["reason"], "^no better than ")
        self.assertEqual(unbroken.end, len(unbroken.history))
        self.assertGreater(len(unbroken.pins), 5)
        self.assertGreater(len(unbroken.saves - unbroken.pins.keys()), unbroken.end // 3)
        self.assertGreater(len(self.trial.pending), 5)

    def test_several_ranks_decide_as_one_does(self):
        for size in (2, 4):
            self.trial.check_unbroken(size)

    def test_one_rank(self):
        self.trial.check_disturbed(SEED, 1, ["kill_some", "hand_over", "kill_while_it_trains"])

    def test_two_ranks(self):
        self.trial.check_disturbed(SEED, 2, ["kill_some", "stop_and_resize", "kill_the_runner"])

    def test_four_ranks(self):
        kinds = ["kill_some", "kill_while_it_trains", "hand_over", "shrink_and_grow"]
        self.trial.check_disturbed(SEED, 4, kinds, is_elastic=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
