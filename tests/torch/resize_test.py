"""digits on four ranks, then three, then five learns as it does on four. Sums over other numbers of ranks and other dropout have
other bits, so the losses are compared: the mean over the last steps, within LOSS_TOLERANCE of that of the unbroken run."""
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from group_test import torchrun  # noqa: E402
from local_run import BIN  # noqa: E402

SIZES, STEPS_OF_A_SIZE = (4, 3, 5), 80
STEPS, LAST = len(SIZES) * STEPS_OF_A_SIZE, 40
LOSS_TOLERANCE = 0.05  # of the loss at the beginning, which is ln 10; where the sizes change is no chance, so the loss is none
LINE = re.compile(r"^attempt \d+ rank \d+ step (\d+) loss (\S+)$", re.M)


class Resize(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-resize-"))
        self.addCleanup(shutil.rmtree, self.root)

    def log(self, name, rank):
        return (self.root / f"{name}-{rank}.log").read_text()

    def train(self, name, size, steps):
        """To the end after so many steps, which a later start moves."""
        processes = []
        for rank in range(size):
            with open(self.root / f"{name}-{rank}.log", "a") as log:
                processes.append(subprocess.Popen(
                    [BIN / "digits", "--steps", str(steps), "--batch", "60", "--save-folder", self.root, "--run-name", name,
                     "--save-every", "1000000st"], stdout=log, stderr=subprocess.STDOUT,
                    env={**os.environ, **{key: str(value) for key, value in torchrun(rank, size).items()}}))
        try:
            for rank, process in enumerate(processes):
                self.assertEqual(process.wait(timeout=240), 0, self.log(name, rank))
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def losses(self, name):
        """Of each step, the mean over its ranks, which have as many samples each."""
        of_ranks = {}
        for path in self.root.glob(f"{name}-*.log"):
            for step, loss in LINE.findall(path.read_text()):
                of_ranks.setdefault(int(step), []).append(float(loss))
        self.assertEqual(sorted(of_ranks), list(range(STEPS)))
        return [statistics.mean(of_ranks[step]) for step in range(STEPS)], [len(of_ranks[step]) for step in range(STEPS)]

    def test_it_learns_as_a_run_that_kept_its_size(self):
        self.train("kept", 4, STEPS)
        for number, size in enumerate(SIZES, 1):
            self.train("resized", size, number * STEPS_OF_A_SIZE)
        kept, _ = self.losses("kept")
        resized, sizes = self.losses("resized")
        self.assertEqual(sizes, [size for size in SIZES for _ in range(STEPS_OF_A_SIZE)],
                         "each step once, on as many ranks as there were")
        first, end_of_kept, end = kept[0], statistics.mean(kept[-LAST:]), statistics.mean(resized[-LAST:])
        print(f"loss {first:.3f}, at the end {end_of_kept:.3f} with four ranks, {end:.3f} with four, three and five")
        self.assertLess(end_of_kept, first / 2, "there is something to learn")
        self.assertLess(abs(end - end_of_kept), LOSS_TOLERANCE * first)
        self.assertEqual(kept[:STEPS_OF_A_SIZE], resized[:STEPS_OF_A_SIZE], "the same bits until the size changes")


if __name__ == "__main__":
    unittest.main()
