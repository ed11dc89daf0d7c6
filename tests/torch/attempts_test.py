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

MEGABYTES = 40  # ten attempts' weights and gradients: what one attempt left would be this much after that many
OTHERS = 4  # threads and descriptors: a group that was given up a moment ago may still have its own


def sizes_of(attempts):
    """Of each rank: one (kilobytes, threads, descriptors) an attempt."""
    with tempfile.TemporaryDirectory(prefix="ratoon-attempts-") as folder:
        processes = []
        for rank in range(2):
            group = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2,
                     "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
            processes.append(subprocess.Popen(
                [BIN / "attempts_probe", str(attempts), "--run-name", "a", "--save-folder", f"{folder}/s",
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
    return [[tuple(map(int, found)) for found in LINE.findall(output)] for output in outputs]


class Attempts(unittest.TestCase):
    ATTEMPTS = 40
    SETTLED = 10  # attempts until caches and pools of LibTorch have what they keep

    def test_nothing_grows(self):
        for rank, sizes in enumerate(sizes_of(self.ATTEMPTS)):
            self.assertEqual([size[0] for size in sizes], list(range(1, self.ATTEMPTS + 1)), f"rank {rank}")
            _, kilobytes, threads, descriptors = sizes[self.SETTLED]
            print(f"{self.ATTEMPTS} attempts, rank {rank}: {sizes[self.SETTLED]}, at the end {sizes[-1]}")
            self.assertLess(sizes[-1][1] - kilobytes, MEGABYTES * 1024, f"rank {rank}: {sizes}")
            self.assertLessEqual(sizes[-1][2] - threads, OTHERS, f"rank {rank}: {sizes}")
            self.assertLessEqual(sizes[-1][3] - descriptors, OTHERS, f"rank {rank}: {sizes}")


if __name__ == "__main__":
    unittest.main()
