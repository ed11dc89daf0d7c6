"""Deadlines that real processes keep: SIGTERM's, a time limit's, and that of a Slurm job."""

import signal
import time
import unittest

from group_test import srun, torchrun
from local_run import wait_until
from noticed_ranks import NoticedRanks


class Deadlines(NoticedRanks):
    def test_sigterm_to_one_rank_saves_and_ends_all_at_one_step(self):
        for _ in range(5):  # a machine that stands still for longer than the margin commits no save in time
            self.start("--grace-seconds", 30, "--pause-ms", 1, launcher=torchrun, size=3, held_at=21)
            self.wait_for_step(20, rank=1)
            self.processes[1].send_signal(signal.SIGTERM)
            self.gate.let_pass_until(self.have_ended, "the ranks to leave", 1000)
            self.assertEqual(self.finish(), [80, 80, 80], self.log(1))
            if "which is saved" in self.log(1):
                break
            self.tearDown()
            self.setUp()
        last = {rank: self.steps(rank)[-1][0] + 1 for rank in range(3)}
        self.assertEqual(set(last.values()), {self.committed()}, "all at the step that is saved")
        self.assertIn(f"left because of SIGTERM at step {last[1]}, which is saved", self.log(1))
        self.assertIn("a notice that another rank received", self.log(0))
        self.start("--pause-ms", 1, launcher=torchrun, size=3)
        self.assertEqual(self.finish(), [0, 0, 0], self.log(0))
        self.assert_each_step_once(size=3)

    def test_a_time_limit_ends_before_the_clock(self):
        """Where the machine stands still for longer than the margin, no save can end in time: tried again."""
        for _ in range(5):
            self.start("--time-limit", "6s", steps=1_000_000)
            self.assertEqual(self.finish(), [80], self.log())
            end = self.log().strip().splitlines()[-1]
            self.assertIn("left because of the time limit of 6s", end)
            if "which is saved" in end:
                break
        self.assertIn(f"at step {self.committed()}, which is saved", end)
        self.assertEqual(self.committed(), self.steps()[-1][0] + 1)

    def test_slurms_signal_saves_at_once_and_leaves_at_the_end_of_the_job(self):
        for seconds in (20, 60, 180):  # a busy machine takes longer to start, to step and to save
            if self.end_by_slurm(seconds):
                break
        self.assertEqual(self.committed(), self.steps(1)[-1][0] + 1)

    def end_by_slurm(self, seconds):
        """A job of so many seconds, with the signal after a few steps. Returns whether that was enough for both saves."""
        end = int(time.time()) + seconds
        before = self.committed()
        self.start("--save-every", 1_000_000, launcher=lambda rank, size: {**srun(rank, size), "SLURM_JOB_END_TIME": end},
                   size=2, steps=1_000_000)
        begun = len(self.steps())
        wait_until(lambda: self.have_ended() or len(self.steps()) > begun + 5, "a few steps, or the end of the job")
        if not self.have_ended():
            self.processes[0].send_signal(signal.SIGUSR1)
            wait_until(lambda: self.have_ended() or self.committed() > before, "a save at once")
        trains_on = not self.have_ended()
        self.assertEqual(self.finish(), [80, 80], self.log(0))
        return trains_on and self.committed() == self.steps(1)[-1][0] + 1


if __name__ == "__main__":
    unittest.main()
