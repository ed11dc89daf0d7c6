"""Signals to real processes: alone, under `ratoon launch`, and as ranks that torchrun or srun numbered."""

import pathlib
import re
import signal
import subprocess
import unittest

from group_test import torchrun
from local_run import BIN, wait_until
from noticed_ranks import NoticedRanks


class Notices(NoticedRanks):
    def test_ctrl_c_saves_and_the_printed_command_goes_on(self):
        self.start(held_at=8)
        self.wait_for_step(7)
        self.processes[0].send_signal(signal.SIGINT)
        self.gate.let_pass_until(self.have_ended, "the rank to leave", 1000)
        self.assertEqual(self.finish(), [130], self.log())
        self.assertEqual(self.committed(), self.steps()[-1][0] + 1)
        command = re.search(r"which is saved; the same command continues the run: (.*)$", self.log(), re.MULTILINE)[1]
        with open(self.root / "r0.log", "a") as log:
            self.assertEqual(subprocess.run(command, shell=True, stdout=log, stderr=log, timeout=180).returncode, 0)
        self.assert_each_step_once()

    def test_ctrl_c_to_one_rank_ends_all_as_a_person_did(self):
        self.start(launcher=torchrun, size=2, steps=100_000)
        self.wait_for_step(5, rank=1)
        self.processes[1].send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), [130, 130], self.log(0))
        self.assertIn("the same command continues the run", self.log(0))

    def test_a_second_ctrl_c_ends_at_once(self):
        self.start("--pause-ms", 600_000)
        self.wait_for_step(0)
        self.processes[0].send_signal(signal.SIGINT)
        # One that comes while the first is pending is none.
        status = pathlib.Path(f"/proc/{self.processes[0].pid}/status")
        wait_until(lambda: re.search(r"ShdPnd:\s*0+$", status.read_text(), re.MULTILINE), "the first to arrive")
        self.assertIsNone(self.processes[0].poll(), "it waits for the step")
        self.processes[0].send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), [130])
        self.assertEqual(self.committed(), 0)

    def test_usr1_elsewhere_saves_and_goes_on(self):
        self.start("--save-every", 1_000_000, held_at=4)
        self.wait_for_step(3)
        self.processes[0].send_signal(signal.SIGUSR1)
        self.gate.let_pass_until(lambda: 0 < self.committed() < 1000, "a save before the end", 1000)
        self.gate.let_pass(1000)
        self.assertEqual(self.finish(), [0], self.log())
        self.assert_each_step_once()

    def test_without_signals_sigterm_does_what_it_always_did(self):
        self.start("--signals", "false", steps=100_000)
        self.wait_for_step(3)
        self.processes[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(), [-signal.SIGTERM])

    def test_the_launcher_hands_signals_on(self):
        launch = (BIN / "ratoon", "launch", "--nproc", "1", "--")
        self.start("--grace-seconds", 300, before=launch, steps=100_000)
        self.wait_for_step(3)
        self.processes[0].send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), [130], self.log())
        self.assertEqual(self.committed(), self.steps()[-1][0] + 1)
        for _ in range(5):  # a machine that stands still for longer than the margin commits no save in time
            begun = len(self.steps())
            self.start("--grace-seconds", 20, "--pause-ms", 10, before=launch, steps=100_000)
            wait_until(lambda made=begun: len(self.steps()) > made + 3, "a few steps")
            self.processes[0].send_signal(signal.SIGTERM)
            self.assertEqual(self.finish(), [80], self.log())
            if self.committed() == self.steps()[-1][0] + 1:
                break
        self.assertEqual(self.committed(), self.steps()[-1][0] + 1)

    def test_ranks_that_wait_for_others_leave_when_told(self):
        self.start(launcher=lambda rank, size: torchrun(rank, 2), size=1)
        wait_until(lambda: list(self.root.glob("s/a/meeting/*")), "rank 0 to wait")
        self.processes[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(), [80], self.log())
        self.assertIn("outside of an attempt", self.log())

    def test_ctrl_c_while_others_are_waited_for_is_a_persons(self):
        self.start(launcher=lambda rank, size: torchrun(rank, 2), size=1)
        wait_until(lambda: list(self.root.glob("s/a/meeting/*")), "rank 0 to wait")
        self.processes[0].send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), [130], self.log())

    def test_a_time_limit_passes_while_others_are_waited_for(self):
        self.start("--time-limit", "4s", "--signals", "false", launcher=lambda rank, size: torchrun(rank, 2), size=1)
        self.assertEqual(self.finish(), [80], self.log())

    def test_a_run_that_finishes_early_is_complete(self):
        self.start("--finish-at", 40, launcher=torchrun, size=2)
        self.assertEqual(self.finish(), [0, 0], self.log(0))
        self.assertEqual([self.steps(rank)[-1][0] for rank in (0, 1)], [40, 40])
        self.assertEqual(self.committed(), 41)
        self.assertIn("finished at step 41: the loss no longer falls", self.log(0))
        self.start(launcher=torchrun, size=2)  # the criterion would not end it any more
        self.assertEqual(self.finish(), [0, 0], self.log(0))
        self.assertEqual([self.steps(rank)[-1][0] for rank in (0, 1)], [40, 40], "started again it is complete at once")
        self.assertEqual(self.log(0).count("finished at step 41: the loss no longer falls"), 2)

    def test_deterministic_is_refused_where_nothing_computes(self):
        self.start("--deterministic")
        self.assertEqual(self.finish(), [82], self.log())
        self.assertIn("include <ratoon/torch.h>", self.log())

    def test_what_makes_no_sense_is_one_sentence_and_82(self):
        for flags, part in ((["--time-limit", "soon"], "--time-limit must be a time"),
                            (["--notice-signal", "KILL"], "--notice-signal must be USR1"),
                            (["--grace-seconds", "100000"], "--grace-seconds must be at most")):
            with self.subTest(flags=flags):
                self.start(*flags)
                self.assertEqual(self.finish(), [82], self.log())
                self.assertIn(part, self.log())


if __name__ == "__main__":
    unittest.main()
