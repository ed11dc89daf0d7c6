"""Bit for bit through kills: digits, on one process and on four, dies of SIGKILL at random moments, again and again. Losses and
weights are those of a run that nothing happened to. RATOON_KILLS sets how often (12), RATOON_SEED repeats a run."""
import os
import random
import subprocess
import time
import unittest

from digits_run_test import STEPS, Digits

KILLS = int(os.environ.get("RATOON_KILLS", 12))
KILLS_OF_A_RUN = 10 if KILLS > 100 else 6
SECONDS = 60 * int(os.environ.get("RATOON_NIGHTLY_MINUTES", 60)) // 2


class Kills(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        self.chance = random.Random(seed)
        self.kills = 0

    def run_of(self, members, pause_ms):
        run = Digits(members, pause_ms)
        self.addCleanup(run.close)
        return run.start()

    def unbroken(self, members):
        run = self.run_of(members, 0)
        code, output = run.finish()
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        self.assertEqual(run.progress().keys(), {(step, rank) for step in range(STEPS) for rank in range(members)})
        return run.weights()[0], {place: seen[0][1] for place, seen in run.progress().items()}

    def is_hurt(self, run, members):
        """Whether a process of a member that is chosen by chance was killed; it may have none at the moment."""
        pids = run.pids_of(self.chance.randrange(members))
        if pids:
            try:
                os.kill(pids[0], 9)
                return True
            except ProcessLookupError:
                pass
        return False

    def assert_same_through_kills(self, members, expected):
        run = self.run_of(members, 10)
        kills = 0
        while kills < min(KILLS_OF_A_RUN, KILLS - self.kills):
            try:
                run.process.wait(self.chance.uniform(0.05, 1.0))
                break
            except subprocess.TimeoutExpired:
                kills += self.is_hurt(run, members)
        self.kills += kills
        code, output = run.finish(400)
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        weights, losses = expected
        self.assertEqual(run.progress().keys(), losses.keys(), "each rank has said each step")
        self.assertEqual(set(run.weights()), {weights}, f"{output}\n{run.logs()}")
        for place, seen in run.progress().items():
            for attempt, loss in seen:
                self.assertEqual(loss, losses[place], f"step and rank {place}, attempt {attempt}")

    def test_weights_and_losses_are_as_unbroken(self):
        expected = {members: self.unbroken(members) for members in (1, 4)}
        deadline, runs = time.monotonic() + SECONDS, 0
        while self.kills < KILLS and time.monotonic() < deadline:
            for members, one in expected.items():
                self.assert_same_through_kills(members, one)
                runs += 1
        print(f"{self.kills} kills over {runs} runs of one process and of four")
        self.assertGreaterEqual(self.kills, KILLS, f"{SECONDS} s were too few: scripts/nightly takes more minutes")


if __name__ == "__main__":
    unittest.main()
