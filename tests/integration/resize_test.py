"""A run of four ranks goes on with three and then with five, and takes each sample once, in the order of a run of one."""

import re
import signal
import subprocess
import unittest

from group_test import torchrun
from local_run import BIN
from noticed_ranks import STEP, NoticedRanks

STEPS = 220
DONE = re.compile(rf"^done after {STEPS} steps, digest ([0-9a-f]{{16}})$", re.MULTILINE)


class Resize(NoticedRanks):
    def unbroken(self):
        done = subprocess.run([BIN / "drain_probe", "--agree", "", "--steps", str(STEPS), "--pause-ms", "0", "--run-name", "a",
                               "--save-folder", self.root / "unbroken"], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [words.split() for _, _, words in STEP.findall(done.stdout)], DONE.findall(done.stdout)

    def test_four_three_and_five_take_each_sample_once(self):
        sizes = []
        for size, until in ((4, 60), (3, 140), (5, None)):
            self.start("--save-every", 1_000_000, launcher=torchrun, size=size, steps=STEPS, held_at=until and until + 1)
            if until:
                self.wait_for_step(until)
                self.processes[0].send_signal(signal.SIGINT)
                self.gate.let_pass_until(self.have_ended, "the ranks to leave", STEPS)
            self.assertEqual(self.finish(), [130 if until else 0] * size, self.log())
            sizes += [size] * (self.committed() - len(sizes))
        self.assertEqual(sorted(set(sizes)), [3, 4, 5])
        taken = [[] for _ in range(STEPS)]
        for rank in range(5):
            for step, samples in self.steps(rank):
                taken[step].append(samples.split())
        self.assertEqual([len(parts) for parts in taken], sizes, "no step is missing, and none was made twice")
        samples, digest = self.unbroken()
        self.assertEqual([sum(parts, []) for parts in taken], samples)
        self.assertEqual(len(set(sum(samples, []))), 6 * STEPS, "an epoch has 10,000")
        self.assertEqual([DONE.findall(self.log(rank)) for rank in range(5)], [digest] * 5)


if __name__ == "__main__":
    unittest.main()
