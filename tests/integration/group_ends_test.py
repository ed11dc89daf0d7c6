"""Ranks that a launcher numbered and that end while others train: for good, for a fault of the moment, and by a Ctrl-C that
comes to one of them before a counted save and to another after it."""

import signal
import unittest

from group_test import torchrun
from local_run import wait_until
from noticed_ranks import NoticedRanks


class ForGood(NoticedRanks):
    def assert_ends_the_others(self, rank, code):
        self.start("--fail-with", code, "--fail-at", 60, "--fail-rank", rank, launcher=torchrun, size=3, steps=100_000,
                   held_at=60)
        wait_until(lambda: self.committed() == 50, "the save of step 50")
        self.gate.let_pass(100_000)
        codes = self.finish()  # who waited for it would do so for ten minutes
        self.assertEqual(codes, [code if one == rank else 82 for one in range(3)], self.log(rank))
        for other in {0, 1, 2} - {rank}:
            self.assertIn(f"rank {rank} ended for good: the probe was asked to fail", self.log(other))
            self.assertEqual(self.steps(other)[-1][0], 60, "it was within that step")
        self.assertEqual(self.committed(), 50)

    def test_a_wrong_configuration_of_rank_0_ends_all(self):
        self.assert_ends_the_others(0, 82)

    def test_a_wrong_configuration_of_another_ends_all(self):
        self.assert_ends_the_others(2, 82)

    def test_bad_checkpoints_of_one_end_all(self):
        self.assert_ends_the_others(1, 83)

    def assert_one_that_cannot_join_ends_the_others(self, rank):
        """It goes back to a step that there is none of, and says so before it has called."""
        self.start(launcher=torchrun, size=3, steps=60)
        self.assertEqual(self.finish(), [0, 0, 0], self.log(0))
        self.start(launcher=torchrun, size=3, steps=100_000, ranks=[one for one in range(3) if one != rank])
        others = self.processes
        self.start("--resume-from", 7, launcher=torchrun, size=3, steps=100_000, ranks=[rank])
        self.assertEqual(self.finish(), [82], self.log(rank))
        self.assertEqual([process.wait(timeout=120) for process in others], [82, 82], "they would wait ten minutes")
        for other in {0, 1, 2} - {rank}:
            self.assertIn("--resume-from 7: the run has no checkpoint of that step", self.log(other))

    def test_rank_0_that_cannot_join_ends_all(self):
        self.assert_one_that_cannot_join_ends_the_others(0)

    def test_another_that_cannot_join_ends_all(self):
        self.assert_one_that_cannot_join_ends_the_others(2)

    def test_any_other_end_is_waited_for(self):
        failing = ("--fail-with", 7, "--fail-at", 60, "--fail-rank", 1)
        self.start(*failing, launcher=torchrun, size=2, steps=100)
        first, second = self.processes
        self.assertEqual(second.wait(timeout=180), 7, self.log(1))
        wait_until(lambda: "attempt 1 ends at step 60" in self.log(0), "rank 0 to leave the attempt")
        self.assertIsNone(first.poll(), self.log(0))
        self.start(launcher=torchrun, size=2, steps=100, ranks=(1,))
        self.assertEqual([first.wait(timeout=180), *self.finish()], [0, 0], self.log(1))


class CtrlCAroundASave(NoticedRanks):
    """Ranks that agree on nothing, the faster one past a save that the slower one has yet to make."""

    def assert_all_leave_with_that_save(self, slow):
        go_on = self.root / "go-on"
        self.start("--agree", "", "--save-every", 1000, "--pause-ms", 3, "--grace-seconds", 300,
                   "--hold", go_on, "--hold-at", 995, "--hold-rank", slow, launcher=torchrun, size=2, steps=100_000,
                   held_at=1900)
        wait_until(lambda: "held" in self.log(slow), f"rank {slow} to come near the save", 180)
        self.wait_for_step(1003, rank=1 - slow)
        for process in self.processes:
            process.send_signal(signal.SIGINT)
        go_on.touch()
        self.assertEqual(self.finish(), [130, 130], self.log(0) + self.log(1))
        self.assertEqual(self.committed(), 1000)
        self.assertEqual(self.steps(slow)[-1][0], 999)
        self.assertLess(self.steps(1 - slow)[-1][0], 1999, "it goes on to no save of its own")
        self.start("--agree", "", "--save-every", 1000, launcher=torchrun, size=2, steps=1010)
        self.assertEqual(self.finish(), [0, 0], self.log(0) + self.log(1))
        for rank in (0, 1):
            self.assertEqual([step for step, _ in self.steps(rank)[-10:]], list(range(1000, 1010)))
            self.assertIn("done after 1010 steps", self.log(rank))

    def test_where_rank_0_has_yet_to_save(self):
        self.assert_all_leave_with_that_save(0)

    def test_where_another_has_yet_to_save(self):
        self.assert_all_leave_with_that_save(1)


if __name__ == "__main__":
    unittest.main()
