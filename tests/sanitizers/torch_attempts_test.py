"""agent/src/torch under a sanitizer: two ranks go through attempts in the same processes. In each, weights and optimizer are
loaded and saved, gradients are averaged during backward(), and rank 1 leaves while rank 0 waits in a collective, which is given
up. In the last one they train to the end.

LibTorch itself is compiled without a sanitizer. What it does with memory is not seen, but for what it asks of the C library;
its mutexes and condition variables are seen, its atomic counts are not. ThreadSanitizer therefore takes the end of an object
whose last reference LibTorch let go for a race: each run had four such reports, of c10d::AsyncAllreduceWork, between
c10d::ProcessGroupGloo::runLoop and the release of our reference. ignore_noninstrumented_modules lets pass what calls from
LibTorch into the C library do to memory, and nothing of ours. AddressSanitizer needs no such word."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "attempts_probe"
ATTEMPTS = 4
# Words of every report; a process that leaves at once may print one and still end with 0.
REPORTS = ("Sanitizer:", "runtime error:")


def run_ranks(folder):
    """[(exit code, output)], by rank. Where one fails the other would wait for it for ever, and is ended."""
    outputs = [pathlib.Path(folder) / f"rank-{rank}.txt" for rank in range(2)]
    processes = [begin(rank, folder, output) for rank, output in enumerate(outputs)]
    try:
        while any(process.poll() is None for process in processes):
            if any(process.poll() for process in processes):
                break
            time.sleep(0.05)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [(process.returncode, output.read_text()) for process, output in zip(processes, outputs)]


def begin(rank, folder, output):
    group = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "none",
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    with open(output, "w") as out:
        return subprocess.Popen(
            [PROBE, str(ATTEMPTS), "--run-name", "a", "--save-folder", f"{folder}/s", "--save-every", "1st"],
            stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **{name: str(value) for name, value in group.items()},
                                                       "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"})


class TorchAttempts(unittest.TestCase):
    def test_collectives_that_are_given_up(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-sanitized-") as folder:
            ended = run_ranks(folder)
            for _, output in ended:
                self.assertEqual([word for word in REPORTS if word in output], [], output)
            for rank, (code, output) in enumerate(ended):
                self.assertEqual(code, 0, output)
                for attempt in range(1, ATTEMPTS + 1):
                    self.assertIn(f"\nattempt {attempt} kilobytes ", "\n" + output, f"rank {rank}")
                if rank == 0:
                    self.assertEqual(output.count("rank 1 has left the attempt"), ATTEMPTS - 1, output)


if __name__ == "__main__":
    if not PROBE.exists():
        print("SKIPPED: LibTorch is not here; scripts/setup --only build brings it")
        sys.exit(77)
    unittest.main()
