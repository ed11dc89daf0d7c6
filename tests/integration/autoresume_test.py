"""--autoresume=false: a start that finds checkpoints is refused, whoever starts it; what a launcher starts again after a loss is
the same start, and goes on."""

import os
import re
import signal
import subprocess
import unittest

from group_test import STEPS, GroupOfCounters, torchrun
from local_run import BIN, LINE, LocalRun, wait_until

NOT_AGAIN = "must not resume from them (--autoresume false): set --autoresume=true to resume from them, "


class Autoresume(GroupOfCounters):
    FLAGS = ("--autoresume=false",)

    def launch(self, *flags):
        """`ratoon launch` of one counter that is alone; its first process is killed after a commit where that is asked for."""
        return subprocess.Popen([BIN / "ratoon", "launch", "--", *self.words(*flags)], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env={**os.environ, **self.gate.environment})

    def test_under_ratoon_launch(self):
        running = self.launch("--autoresume=false")
        self.addCleanup(running.kill)
        self.wait_for_commit(1)
        (child,) = subprocess.run(["ps", "-o", "pid=", "--ppid", str(running.pid)], text=True, capture_output=True,
                                  check=True).stdout.split()
        os.kill(int(child), signal.SIGKILL)
        self.gate.let_pass(STEPS)
        output = running.communicate(timeout=180)[0]
        self.assertEqual(running.returncode, 0, output)
        self.assertIn("was killed by signal 9; it is started again", output)
        begun = [(int(m[1]), int(m[3])) for m in map(LINE.match, output.splitlines()) if m and m[1] == "2"]
        self.assertGreaterEqual(begun[0][1], 10, "it goes on from a checkpoint")

        second = self.launch("--autoresume=false")
        output = second.communicate(timeout=180)[0]
        self.assertEqual(second.returncode, 82, output)
        self.assertRegex(output, re.escape(NOT_AGAIN) + "--overwrite=true to set them aside .*, or another --run-name")
        second = self.launch()
        output = second.communicate(timeout=180)[0]
        self.assertEqual(second.returncode, 0, output)

    def refused(self, variables=()):
        for rank in (0, 1):
            self.start(rank, {**torchrun(rank, 2), **dict(variables)})
        for rank, process in self.processes.items():
            self.assertEqual(process.wait(timeout=180), 82, self.log(rank))
            self.assertIn(NOT_AGAIN + "or another --run-name to begin a new run", self.log(rank).splitlines()[-1])

    def test_under_torchrun(self):
        self.start_all(torchrun, 2)
        for attempt, rank in ((1, 1), (2, 0)):  # by a launcher that starts one alone again
            self.wait_for_commit(attempt)
            self.kill(rank)
            self.start(rank, torchrun(rank, 2))
        self.wait_for_commit(3)
        for rank in (0, 1):
            self.kill(rank)
        before = set(self.root.glob("s/a/manifests/*.json"))
        self.refused()  # another launch, though its name is the same: "none"
        self.refused({"TORCHELASTIC_RESTART_COUNT": 1})  # and what it starts again
        self.assertEqual(set(self.root.glob("s/a/manifests/*.json")), before)

    def test_torchrun_starts_all_again(self):
        self.start_all(torchrun, 2)
        self.wait_for_commit(1)
        for rank in (1, 0):
            self.kill(rank)
        for rank in (0, 1):
            self.start(rank, {**torchrun(rank, 2), "TORCHELASTIC_RESTART_COUNT": 1})
        self.assert_all_done(2)

    def test_a_coordinator_always_resumes(self):
        run = LocalRun(command=["counter", "--autoresume=false"], spec={"numNodes": 1})
        self.addCleanup(run.close)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        logs = "".join(log.read_text() for log in (run.folder / "logs").glob("*.log"))
        self.assertIn("--autoresume cannot be false if a coordinator restarts members", logs)


if __name__ == "__main__":
    unittest.main()
