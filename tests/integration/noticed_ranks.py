"""Ranks of drain_probe, which agree once a step and say which samples they take. Used by the tests beside it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from local_run import BIN, Gate, wait_until

STEP = re.compile(r"^rank (\d+) step (\d+) samples (.*)$", re.MULTILINE)


class NoticedRanks(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-notice-"))
        (self.root / "words").mkdir()
        self.gate = Gate(self.root)
        self.processes, self.left = [], []

    def tearDown(self):
        for process in self.left + self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.root)

    def start(self, *flags, launcher=None, size=1, steps=1000, before=(), ranks=None, held_at=None):
        """Starts all ranks, or those; logs go on at their end. `held_at`: the steps that they make before the gate lets more
        pass."""
        gate = {}
        if held_at is not None:
            self.gate.let_pass(held_at)
            gate = self.gate.environment
        self.left.extend(self.processes)
        self.processes = []
        for rank in range(size) if ranks is None else ranks:
            variables = launcher(rank, size) if launcher else {}
            with open(self.root / f"r{rank}.log", "a") as log:
                self.processes.append(subprocess.Popen(
                    [*before, BIN / "drain_probe", "--agree", self.root / "words", "--steps", str(steps),
                     "--save-folder", self.root / "s", "--run-name", "a", "--save-every", "50", *map(str, flags)],
                    stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                    env={**os.environ, **gate, **{name: str(value) for name, value in variables.items()}}))

    def log(self, rank=0):
        return (self.root / f"r{rank}.log").read_text()

    def steps(self, rank=0):
        """[(step, samples)] in the order in which they were trained."""
        return [(int(step), samples) for _, step, samples in STEP.findall(self.log(rank))]

    def wait_for_step(self, step, rank=0):
        wait_until(lambda: self.steps(rank) and self.steps(rank)[-1][0] >= step, f"step {step} of rank {rank}")

    def have_ended(self):
        return all(process.poll() is not None for process in self.processes)

    def finish(self):
        return [process.wait(timeout=180) for process in self.processes]

    def committed(self):
        return max((int(p.name[1:11]) for p in self.root.glob("s/a/manifests/*.json")), default=0)

    def assert_each_step_once(self, size=1, steps=1000):
        """No step is missing, none was trained twice, and no sample came twice."""
        samples = []
        for rank in range(size):
            self.assertEqual([step for step, _ in self.steps(rank)], list(range(steps)), self.log(rank))
            samples += [word for _, words in self.steps(rank) for word in words.split()]
        self.assertEqual(len(samples), 6 * steps)
        self.assertEqual(len(set(samples)), len(samples), "an epoch has 10,000")
        for rank in range(size):
            self.assertIn(f"done after {steps} steps", self.log(rank))
