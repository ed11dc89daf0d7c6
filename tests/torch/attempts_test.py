"""Attempt after attempt in the same two processes, each of which gives up a collective: what a process takes of memory, threads
and descriptors stays as it was."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
LINE = re.compile(r"^attempt (\d+) kilobytes (\d+) threads (\d+) descriptors (\d+)$", re.M)

MEGABYTES = 12  # the weights and the optimizer of one attempt: far less than 20 attempts would leave
OTHERS = 8  # threads and descriptors: pools may come to have a few more, but not one an attempt


def outputs_of(attempts, *words):
    """What each of the two ranks printed."""
    with tempfile.TemporaryDirectory(prefix="ratoon-attempts-") as folder:
        processes = []
        for rank in range(2):
            group = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2,
                     "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
            processes.append(subprocess.Popen(
                [BIN / "attempts_probe", str(attempts), *words, "--run-name", "a", "--save-folder", f"{folder}/s",
                 "--save-every", "1000st"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, **{name: str(value) for name, value in group.items()}}))
        try:
            outputs = [process.communicate()[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
    for process, output in zip(processes, outputs):
        assert process.returncode == 0, output
    return outputs


def sizes_of(attempts):
    """Of each rank: one (kilobytes, threads, descriptors) an attempt."""
    return [[tuple(map(int, found)) for found in LINE.findall(output)] for output in outputs_of(attempts)]


class Attempts(unittest.TestCase):
    ATTEMPTS = 40
    WINDOW = 10  # the first attempts fill what LibTorch keeps; the least of ten leaves out groups that end late

    def test_nothing_grows(self):
        for rank, sizes in enumerate(sizes_of(self.ATTEMPTS)):
            self.assertEqual([size[0] for size in sizes], list(range(1, self.ATTEMPTS + 1)), f"rank {rank}")
            first, last = (tuple(map(min, zip(*part))) for part in (sizes[self.WINDOW:2 * self.WINDOW], sizes[-self.WINDOW:]))
            print(f"{self.ATTEMPTS} attempts, rank {rank}: {first}, at the end {last}")
            self.assertLess(last[1] - first[1], MEGABYTES * 1024, f"rank {rank}: {sizes}")
            self.assertLessEqual(last[2] - first[2], OTHERS, f"rank {rank}: {sizes}")
            self.assertLessEqual(last[3] - first[3], OTHERS, f"rank {rank}: {sizes}")


if __name__ == "__main__":
    unittest.main()
