"""Sums and means over ranks: the same bits on all of them, the same run whatever is lost, and a sentence where ranks call
different ones."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from group_test import torchrun
from local_run import BIN, Gate, wait_until

LINE = re.compile(r"rank (\d+) step (\d+) (sum .*)")
STEPS = 30


class Sums(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-sums-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.gate = Gate(self.root)
        self.processes = {}
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start(self, rank, size, run="a", **more):
        words = [BIN / "sums_probe", str(STEPS), "--run-name", run, "--save-folder", self.root / "s", "--save-every", "3"]
        with open(self.root / f"{run}-{rank}.log", "a") as log:
            self.processes[rank] = subprocess.Popen(
                words, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **self.gate.environment, **more,
                     **{name: str(value) for name, value in torchrun(rank, size).items()}})

    def log(self, rank, run="a"):
        return (self.root / f"{run}-{rank}.log").read_text()

    def steps(self, rank, run="a"):
        """{step: what it printed of it}; a step that is made again prints the same."""
        found = {}
        for line in self.log(rank, run).splitlines():
            if match := LINE.fullmatch(line):
                self.assertEqual(found.setdefault(int(match[2]), match[3]), match[3], f"step {match[2]} of rank {rank}")
        return found

    def pins(self, run="a"):
        """{step: reason}; a checkpoint that retention has removed is no pinned one."""
        listed = json.loads(subprocess.run([BIN / "ratoon", "checkpoint", "list", self.root / "s" / run, "--json"],
                                           check=True, stdout=subprocess.PIPE).stdout)
        return {one["step"]: one["pinned_why"] for one in listed["checkpoints"] if one["pinned"]}

    def wait_done(self, size, run="a"):
        for rank in range(size):
            self.assertEqual(self.processes[rank].wait(timeout=180), 0, self.log(rank, run))

    def test_all_ranks_have_the_same_bits_whatever_is_lost(self):
        self.gate.let_pass(STEPS)
        for rank in range(3):
            self.start(rank, 3, "unbroken")
        self.wait_done(3, "unbroken")
        expected = self.steps(0, "unbroken")
        self.assertEqual(sorted(expected), list(range(14)), "a step after 4 values that are no better than that of step 8")
        self.assertIn("attempt 1 ranks 3\n", self.log(1, "unbroken"))
        self.assertTrue(expected[0].endswith(f" exact {2**53 + 1}"), expected[0])
        self.assertEqual([self.steps(rank, "unbroken") for rank in (1, 2)], [expected, expected])
        best = {10: "best error: 0 (save_best)", 7: "best error: 1 (save_best)", 11: "best hits: 7 (save_best)"}
        self.assertEqual(self.pins("unbroken"), best)
        self.assertIn("best: error 0 at step 10, hits 7 at step 11", self.log(0, "unbroken"))

        for lost, passing in ((1, 5), (0, 9)):
            self.gate.let_pass(passing)
            for rank in range(3):
                if rank not in self.processes or self.processes[rank].poll() is not None:
                    self.start(rank, 3)
            wait_until(lambda p=passing: all(p - 1 in self.steps(rank) for rank in range(3)), f"step {passing - 1}")
            self.processes[lost].send_signal(signal.SIGKILL)
            self.processes[lost].wait()
        self.start(0, 3)
        self.gate.let_pass(STEPS)
        self.wait_done(3)
        self.assertEqual([self.steps(rank) for rank in range(3)], [expected] * 3)
        self.assertEqual(self.pins(), best)

    def test_one_rank_adds_up_its_own(self):
        self.gate.let_pass(STEPS)
        self.start(0, 1)
        self.wait_done(1)
        alone = self.steps(0)
        self.processes.clear()
        for rank in range(2):
            self.start(rank, 2, "two")
        self.wait_done(2, "two")
        self.assertEqual(alone, self.steps(0, "two"), "sums of whole numbers are the same in any world")

    def test_calls_that_differ_are_refused_with_both(self):
        for wrong, said in (("order", 'rank 0 called sum() and rank 1 called mean("other") instead'),
                            ("count", "with 2 numbers of type double on rank 0 and with 1 number of type double on rank 1"),
                            ("type", "2 numbers of type double on rank 0 and with 1 number of type std::int32_t on rank 1")):
            with self.subTest(wrong):
                self.gate.let_pass(STEPS)
                for rank in range(2):
                    self.start(rank, 2, wrong, TEST_WRONG=wrong)
                for rank in range(2):
                    self.assertEqual(self.processes[rank].wait(timeout=180), 82, self.log(rank, wrong))
                    self.assertIn(said, self.log(rank, wrong))


if __name__ == "__main__":
    unittest.main()
