"""scripts/quickstart with the programs of this build: stopped half-way, begun afresh, and with a trainer whose weights differ."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import BIN, is_running, wait_until  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/quickstart"

# digits, but for a seed that changes between the two runs.
OTHER_SEED = """#!/bin/sh
case $RATOON_SAVE_FOLDER in */unbroken/*) set -- "$@" --seed 18 ;; esac
exec {digits} "$@"
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-quickstart-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.folder = self.root / "runs"

    def start(self, programs=BIN):
        self.output = self.root / "output.txt"
        with open(self.output, "w") as output:
            process = subprocess.Popen([SCRIPT, "--programs", programs, "--folder", self.folder], stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=180)

    def status(self, name="with-losses"):
        file = self.folder / name / "status.json"
        return json.loads(file.read_text()) if file.exists() else {"members": []}

    def expect(self, process, code):
        """What it printed."""
        found = process.wait(timeout=600)
        self.assertEqual(found, code, self.output.read_text())
        return self.output.read_text()

    def test_stopped_and_begun_afresh_it_ends_with_the_same_bits(self):
        process = self.start()
        status = wait_until(lambda: (lambda s: s if len([m for m in s["members"] if m["pids"]]) == 3 else None)(self.status()),
                            "three members", 60)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        self.assertIn("nothing is left running", self.expect(process, 130))
        for pid in [status["runner_pid"], *(pid for m in status["members"] for pid in m["pids"])]:
            self.assertFalse(is_running(pid), f"{pid} outlived it")

        said = self.expect(self.start(), 0)
        self.assertEqual(len(list((self.folder / "with-losses/before").iterdir())), 1, "what the first one left")
        done = [(e["kind"], e.get("notice_seconds")) for e in self.status()["on_purpose"]]
        self.assertEqual(done, [("kill", None), ("reclaim", None), ("reclaim", 3.0)])
        self.assertGreaterEqual(len(self.status()["recoveries"]), 3)
        self.assertEqual(self.status("unbroken")["on_purpose"], [])
        self.assertRegex(said, r"equal, bit for bit, although \d+ times something was taken away")
        for name in ("steps", "samples", "digest of the samples", "sha256 of the tensors"):
            self.assertRegex(said, rf"(?m)^{name} +(\w+) +\1$")
        report = re.search(r"the report, for a browser: (\S+)", said)[1]
        self.assertIn("<!DOCTYPE html>", pathlib.Path(report).read_text()[:100])

    def test_other_weights_are_red(self):
        programs = self.root / "programs"
        programs.mkdir()
        (programs / "ratoon").symlink_to(BIN / "ratoon")
        (programs / "digits").write_text(OTHER_SEED.format(digits=BIN / "digits"))
        (programs / "digits").chmod(0o755)
        said = self.expect(self.start(programs), 1)
        self.assertIn("the two runs differ (digest of the samples, sha256 of the tensors), and they must not", said)
        self.assertNotIn("bit for bit", said)


if __name__ == "__main__":
    unittest.main()
