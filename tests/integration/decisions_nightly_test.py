"""A hundred kills, hand-overs and resizes on each of 1, 2 and 4 ranks: the run decides and ends as its unbroken run does. And an
agent that forgets what was asked for is found.

RATOON_SEED and RATOON_DISTURBANCES (100) choose what is done; each disturbance is printed before it is made."""

import os
import pathlib
import random
import subprocess
import sys
import unittest

from deciding_run import Trial
from mutants import Mutant, MutantTest

SEED = int(os.environ.pop("RATOON_SEED", random.randrange(2**32)))  # trainers take the variable for their own
DISTURBANCES = int(os.environ.get("RATOON_DISTURBANCES", "100"))
KILLS = ["kill_some", "kill_while_it_trains", "kill_the_runner"]
OTHERS = ["hand_over", "suspend", "stop_and_resize"]
SESSION = "agent/src/session/"

# what is broken: (file, pattern, instead)
MUTANTS = {
    "requests that a resume forgets": (
        SESSION + "engine/engine_begin.cpp", r"    requests_\.resume\([^;]*;", ""),
    "requests that no receipt has": (
        SESSION + "engine/engine_saves.cpp", r"record\.requests = requests_\.pending\(\);", ""),
}


class Disturbed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"RATOON_SEED={SEED}", flush=True)
        cls.trial = Trial(best_at=9 * DISTURBANCES)

    def disturb(self, size, is_elastic=False):
        chance = random.Random(SEED + size)
        others = [*OTHERS, "shrink_and_grow"] if is_elastic else OTHERS
        kinds = [chance.choice(KILLS if chance.random() < 0.6 else others) for _ in range(DISTURBANCES)]
        self.trial.check_disturbed(SEED + size, size, kinds, is_elastic)
        print(f"{DISTURBANCES} disturbances, {sum(kind in KILLS for kind in kinds)} of them kills, beginning with {size} ranks",
              flush=True)

    def test_one_rank(self):
        self.disturb(1)

    def test_two_ranks(self):
        self.disturb(2)

    def test_four_ranks(self):
        self.disturb(4)

    def test_four_ranks_that_go_on_with_fewer(self):
        self.disturb(4, is_elastic=True)


class Found(MutantTest):
    def test_an_agent_that_forgets_what_was_asked_for(self):
        for what, (source, pattern, instead) in MUTANTS.items():
            with self.subTest(what):
                code, text = self.judge(Mutant(what, source, ((pattern, instead),), "deciding_probe", ""))
                self.assertEqual(code, 1, f"{what}: lives\n{text[-2000:]}")
                self.assertRegex(text, r"AssertionError: (end|pins): |steps \[[\d, ]+\] are not saved", what)

    def test_a_sound_one_passes(self):
        for source in sorted({source for source, _, _ in MUTANTS.values()}):
            with self.subTest(source):
                code, text = self.judge(Mutant("nothing", source, (), "deciding_probe", ""))
                self.assertEqual(code, 0, text[-2000:])

    def judge(self, mutant):
        """What decisions_test says of a program with that agent."""
        run = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("decisions_test.py")], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800,
                             env={**os.environ, "RATOON_DECIDING_PROBE": str(self.make(mutant))})
        return run.returncode, run.stdout


if __name__ == "__main__":
    unittest.main(verbosity=2)
