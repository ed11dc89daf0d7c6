"""`ratoon run` while the disk of its job folder hangs: a frozen ext4 answers no call that changes something, until it is
thawed. Losses are noticed and members are started again meanwhile. Needs root, for a volume in a mount namespace."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

from local_run import LocalRun, wait_until

IS_INSIDE = "RATOON_TEST_IS_IN_NAMESPACE"
STEPS = 400


def try_for_a_minute(*words):
    """What the last try of a command said. On a busy machine others may have the device or the file system for a moment."""
    deadline = time.monotonic() + 60
    while True:
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode == 0 or time.monotonic() > deadline:
            return done
        time.sleep(0.2)


def can_open_loop_devices():
    try:
        with open("/dev/loop-control", "rb"):
            return True
    except OSError:
        return False


class FrozenJobFolder(unittest.TestCase):
    def setUp(self):
        self.run_ = LocalRun(command=["gated_counter", "--steps", str(STEPS), "--pause-ms", "0"], held_at=30)
        self.addCleanup(self.run_.close)
        root = self.run_.root
        self.volume = root / "volume"
        self.volume.mkdir()
        image = root / "image"
        subprocess.run(["dd", "if=/dev/zero", f"of={image}", "bs=1M", "count=16"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        if not can_open_loop_devices():
            self.skipTest("no ext4 can be mounted and frozen here: /dev/loop-control cannot be opened")
        mounted = try_for_a_minute("mount", "-o", "loop", image, self.volume)
        if mounted.returncode != 0:
            self.skipTest(f"no ext4 can be mounted and frozen here: {mounted.stderr}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.volume])
        self.addCleanup(self.thaw)
        self.is_frozen = False
        self.run_.folder = self.volume / "run"
        self.run_.folder.mkdir()
        # Members save on another disk.
        self.saves = root / "saves"
        container = self.run_.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        container["command"] += ["--save-folder", str(self.saves)]
        self.run_.write_job()

    def log_on_another_disk(self):
        logs = self.run_.root / "logs"
        logs.mkdir()
        (self.run_.folder / "logs").symlink_to(logs)

    def freeze(self):
        frozen = try_for_a_minute("fsfreeze", "-f", self.volume)
        if frozen.returncode != 0:
            self.skipTest(f"no ext4 can be mounted and frozen here: {frozen.stderr}")
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            subprocess.run(["fsfreeze", "-u", self.volume], check=True)
        self.is_frozen = False

    def start_and_freeze(self):
        self.run_.start()
        wait_until(lambda: self.run_.job_status()["progress"]["step"] >= 10, "steps")
        self.freeze()

    def wait_for_words(self, *words):
        for text in words:
            wait_until(lambda t=text: t in self.run_.output(), f"{text!r} in the output: {self.run_.output()}")

    def step_of(self, attempt):
        return max((line[2] for line in self.run_.lines() if line[0] == attempt), default=0)

    def assert_completes(self):
        code, said = self.run_.finish()
        self.assertEqual(code, 0, said)
        self.assertEqual(self.run_.job_status()["phase"], "Succeeded")

    def test_a_loss_is_noticed_and_mended_while_it_is_frozen(self):
        self.log_on_another_disk()
        self.start_and_freeze()
        self.run_.hurt(0)
        self.run_.let_pass(60)
        wait_until(lambda: self.step_of(2) >= 50, f"steps of the second attempt: {self.run_.output()}")
        self.run_.hurt(1)
        self.run_.let_pass(90)
        wait_until(lambda: self.step_of(3) >= 80, f"steps of the third attempt: {self.run_.output()}")
        self.wait_for_words(f"writing {self.run_.folder}/status.json: the disk has not answered for 10 s")
        self.assertEqual(self.run_.job_status()["attempt"], 1, "nothing can be written")
        self.thaw()
        self.wait_for_words("the run's status is stored again")
        self.run_.let_pass(STEPS)
        self.assert_completes()
        told = (self.run_.folder / "events.jsonl").read_text()
        for attempt in (1, 2, 3):
            self.assertIn(f'"attempt":{attempt},"kind":"world"', told, "no line of the history is missing")

    def test_a_member_whose_log_is_on_it_starts_when_it_is_thawed(self):
        self.start_and_freeze()
        self.run_.hurt(0)
        self.wait_for_words("the log of counter-worker-0-i1 cannot be opened for now: its disk does not answer")
        self.thaw()
        self.run_.let_pass(STEPS)
        self.assert_completes()
        self.assertIn("counter-worker-0-i1", self.run_.logs())

    def test_a_run_that_ends_while_it_is_frozen_says_so_and_leaves_a_status_to_go_on_from(self):
        self.log_on_another_disk()
        self.start_and_freeze()
        self.run_.let_pass(STEPS)
        self.wait_for_words("the run's last status is not stored: ")
        # The kernel ends the thread that writes once the disk is thawed.
        self.thaw()
        code, said = self.run_.finish()
        self.assertEqual(code, 0, said)
        code, said = self.run_.start().finish()
        self.assertEqual(code, 0, said)
        self.assertEqual(self.run_.job_status()["phase"], "Succeeded")


if __name__ == "__main__":
    if missing := [program for program in ("unshare", "fsfreeze", "mkfs.ext4") if shutil.which(program) is None]:
        print(f"SKIPPED: {', '.join(missing)} not found")
        sys.exit(77)
    if IS_INSIDE not in os.environ:
        within = ["unshare", "--mount", "--propagation", "private"]
        if subprocess.run([*within, "true"], capture_output=True).returncode != 0:
            print("SKIPPED: no mount namespace can be made here (that takes root, and unshare)")
            sys.exit(77)
        os.environ[IS_INSIDE] = "1"
        os.execvp("unshare", [*within, sys.executable, str(pathlib.Path(__file__).resolve()), *sys.argv[1:]])
    unittest.main()
