"""Trainers whose output goes to a program that ends before they do: `trainer | tee log` and a Ctrl-C, which ends tee, too;
a collector of logs that is started anew. They go on, save, and end with the code that a file would give them."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from local_run import BIN, wait_until


class ClosedOutput(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-output-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.trainer = self.tee = None
        self.addCleanup(self.clean_up)

    def clean_up(self):
        for process in (self.trainer, self.tee):
            if process and process.poll() is None:
                process.kill()
                process.wait()

    def start(self, probe, *flags):
        """`probe ... 2>&1 | tee log` as a shell starts it: one group of processes."""
        self.log = self.root / "log"
        self.tee = subprocess.Popen(["tee", self.log], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                    preexec_fn=os.setpgrp)
        self.trainer = subprocess.Popen(
            [BIN / probe, "--steps", "1000000", "--pause-ms", "5", *map(str, flags), "--save-folder", self.root / "s",
             "--run-name", "a", "--save-every", "1000000"],
            stdout=self.tee.stdin, stderr=subprocess.STDOUT, preexec_fn=lambda: os.setpgid(0, self.tee.pid),
            restore_signals=True)  # Python ignores SIGPIPE: a shell does not
        self.tee.stdin.close()

    def committed(self):
        return max((int(p.name[1:11]) for p in self.root.glob("s/a/manifests/*.json")), default=0)

    def assert_saves_and_leaves(self, probe, first_words):
        self.start(probe)
        wait_until(lambda: self.log.exists() and re.search(first_words, self.log.read_text()), "the first steps")
        os.killpg(self.tee.pid, signal.SIGINT)
        self.assertEqual(self.trainer.wait(timeout=180), 130, self.log.read_text())
        self.assertGreater(self.committed(), 0, self.log.read_text())

    def test_ctrl_c_that_ends_tee_too_saves_and_leaves(self):
        self.assert_saves_and_leaves("drain_probe", r"rank 0 step 5 ")

    def test_so_it_does_for_a_session_in_place(self):
        self.assert_saves_and_leaves("in_place_probe", r"attempt 1 rank 0 step 0 ")

    def test_who_reads_no_longer_ends_nothing(self):
        self.start("drain_probe", "--steps", 300)
        wait_until(lambda: self.log.exists() and "step 5 " in self.log.read_text(), "the first steps")
        self.tee.kill()
        self.assertEqual(self.trainer.wait(timeout=180), 0, self.log.read_text())
        self.assertEqual(self.committed(), 300)


if __name__ == "__main__":
    unittest.main()
