"""A trainer whose program forks a helper that does not exec: the helper keeps none of the run's locks after the trainer has
been killed, and a SIGTERM ends it."""

import os
import signal
import unittest

from group_test import torchrun
from local_run import is_running, wait_until
from noticed_ranks import NoticedRanks


class ForkedChild(NoticedRanks):
    def setUp(self):
        super().setUp()
        self.helper = None
        self.addCleanup(self.end_helper)

    def end_helper(self):
        if self.helper and self.helper_lives():
            os.kill(self.helper, signal.SIGKILL)

    def helper_lives(self):
        return is_running(self.helper)

    def start_with_helper(self, size, rank, steps):
        number = self.root / "helper"
        launcher = torchrun if size > 1 else None
        self.start("--fork", number, "--fork-at", 60, "--fork-rank", rank, launcher=launcher, size=size, steps=steps)
        wait_until(number.exists, "the helper")
        self.helper = int(number.read_text())
        self.wait_for_step(70, rank=rank)

    def test_of_a_trainer_that_is_killed_keeps_no_lock_of_the_run(self):
        self.start_with_helper(1, 0, steps=100_000)
        self.processes[0].kill()
        self.processes[0].wait()
        self.assertTrue(self.helper_lives())
        self.start(steps=100)
        self.assertEqual(self.finish(), [0], self.log())

    def test_of_a_rank_that_is_killed_does_not_hide_its_death(self):
        self.start_with_helper(2, 1, steps=100_000)
        self.processes[1].kill()
        wait_until(lambda: "rank 1 is gone" in self.log(0), "rank 0 to see that rank 1 is gone")
        self.assertTrue(self.helper_lives())

    def test_ends_by_a_sigterm_as_other_processes_do(self):
        self.start_with_helper(1, 0, steps=100_000)
        os.kill(self.helper, signal.SIGTERM)
        wait_until(lambda: not self.helper_lives(), "the helper to end")
        reached = self.steps()[-1][0]
        self.wait_for_step(reached + 5)
        self.assertIsNone(self.processes[0].poll(), "the trainer was not told")


if __name__ == "__main__":
    unittest.main()
