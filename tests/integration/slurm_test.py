"""examples/slurm/train.sbatch under stand-ins for what Slurm does: srun numbers the ranks, the signal of the script's own
#SBATCH line reaches them, and scontrol requeues. Slurm itself needs daemons, accounts and a munge key."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from local_run import BIN, wait_until

SCRIPT = pathlib.Path(__file__).parents[2] / "examples/slurm/train.sbatch"
RANKS = 2

# As srun: numbers, one step of the job, the highest code of its ranks. The ranks' ids are left for whoever is to signal them.
SRUN = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys
words = sys.argv[1:]
while words[0].startswith("--"):
    words.pop(0)
size = int(os.environ["SLURM_NTASKS"])
ranks = []
for rank in range(size):
    env = dict(os.environ, SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank), SLURM_STEP_ID="0",
               SLURM_STEP_NUM_TASKS=str(size), SLURM_STEP_NUM_NODES="1")
    ranks.append(subprocess.Popen(words, env=env))
note = pathlib.Path(os.environ["STAND_IN"]) / "ranks.json"
(note.parent / "ranks.new").write_text(json.dumps([r.pid for r in ranks]))
os.rename(note.parent / "ranks.new", note)
codes = [rank.wait() for rank in ranks]
sys.exit(max(128 - code if code < 0 else code for code in codes))
"""
SCONTROL = """#!/bin/sh
echo "$*" >> "$STAND_IN/scontrol.txt"
"""


class Slurm(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-slurm-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)
        self.job = None
        self.addCleanup(self.end)

    def end(self):
        if self.job and self.job.poll() is None:
            for pid in self.ranks():
                os.kill(pid, signal.SIGKILL)
            self.job.wait(timeout=30)

    def ranks(self):
        note = self.root / "ranks.json"
        return json.loads(note.read_text()) if note.exists() else []

    def begin(self, *words, restarts=0, **variables):
        """One life of the job."""
        (self.root / "ranks.json").unlink(missing_ok=True)
        env = {"PATH": f"{self.root}:{os.environ['PATH']}", "STAND_IN": self.root, "SLURM_JOB_ID": 4711,
               "SLURM_JOB_NAME": "night", "SLURM_NTASKS": RANKS, "SLURM_NNODES": 1, "SLURM_RESTART_COUNT": restarts,
               "SLURM_JOB_END_TIME": int(time.time()) + 3600, "RATOON_SAVE_FOLDER": self.root / "saves", **variables}
        self.job = subprocess.Popen([SCRIPT, *map(str, words)], env={**os.environ, **{k: str(v) for k, v in env.items()}},
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self.job

    def finish(self):
        _, errors = self.job.communicate(timeout=60)
        return self.job.returncode, errors

    def requeued(self):
        note = self.root / "scontrol.txt"
        return note.read_text().splitlines() if note.exists() else []

    def steps(self, run="night"):
        return sorted({int(p.name[1:11]) for p in (self.root / "saves" / run / "manifests").glob("s*.json")})

    def signal_of_script(self):
        """(signal, seconds): what Slurm would send, and how long before the end."""
        name, ahead = re.search(r"^#SBATCH --signal=(\w+)@(\d+)$", SCRIPT.read_text(), re.MULTILINE).groups()
        return signal.Signals[f"SIG{name}"], int(ahead)

    def test_a_run_over_three_jobs(self):
        number, _ = self.signal_of_script()
        trainer = [BIN / "counter", "--save-every", "10", "--pause-ms", "20", "--steps"]
        for restarts in (0, 1):
            newest = max(self.steps(), default=0)
            # Older versions of Slurm do not say when the job ends: then the signal counts, and the time to save after it.
            self.begin(*trainer, 100_000, restarts=restarts, SLURM_JOB_END_TIME="", RATOON_GRACE_SECONDS=3)
            wait_until(lambda: max(self.steps(), default=0) > newest, "a checkpoint of this job")
            for pid in self.ranks():
                os.kill(pid, number)
            code, errors = self.finish()
            self.assertEqual(code, 0, errors)
            self.assertIn("left with exit code 80", errors)
            self.assertEqual(self.requeued(), ["requeue 4711"] * (restarts + 1))
        last = max(self.steps()) + 20
        self.begin(*trainer, last, restarts=2)
        code, errors = self.finish()
        self.assertEqual(code, 0, errors)
        self.assertEqual(len(self.requeued()), 2, "what is done is not requeued")
        self.assertEqual(max(self.steps()), last)

    def test_elements_of_an_array_are_runs_of_their_own(self):
        self.begin(BIN / "counter", "--steps", 5, "--pause-ms", 0, SLURM_ARRAY_TASK_ID=3)
        code, errors = self.finish()
        self.assertEqual(code, 0, errors)
        self.assertEqual(max(self.steps("night-3")), 5)

    def test_what_would_fail_again_is_not_requeued(self):
        self.begin("sh", "-c", "exit 82")
        self.assertEqual(self.finish()[0], 82)
        self.assertEqual(self.requeued(), [])

    def test_requeues_have_an_end(self):
        self.begin("sh", "-c", "exit 80", restarts=4, REQUEUES_MAX=4)
        code, errors = self.finish()
        self.assertEqual((code, self.requeued()), (80, []), errors)
        self.assertIn("after 4 requeues", errors)

    def test_without_a_trainer_it_says_how(self):
        self.begin()
        code, errors = self.finish()
        self.assertEqual(code, 82)
        self.assertIn("sbatch train.sbatch ./trainer", errors)

    def test_slurm_is_told_to_warn_and_to_requeue(self):
        number, ahead = self.signal_of_script()
        self.assertEqual((number, ahead), (signal.SIGUSR1, 120))
        self.assertIn("#SBATCH --requeue", SCRIPT.read_text())


if __name__ == "__main__":
    unittest.main()
