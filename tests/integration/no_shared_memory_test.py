"""Data where there is no shared memory: in a mount namespace whose /dev/shm takes no file, as in a pod that was given none.
What other loaders keep in named shared memory, and lose or find stale after a kill, is nowhere here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from s3_server import S3Test, run_tests

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "mds" / "golden"
HIDE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro,size=4k none /dev/shm && exec "$@"', "sh"]
CLAIM = """
from multiprocessing import shared_memory
shared_memory.SharedMemory(create=True, size=1)
"""


def what_is_missing():
    if shutil.which("unshare") is None or subprocess.run([*HIDE, "true"], capture_output=True).returncode != 0:
        return "no mount namespace can be made here (that takes root, and unshare)"
    if not pathlib.Path("/dev/shm").is_dir():
        return "there is no /dev/shm to hide"
    return None


class NoSharedMemory(S3Test):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-no-shm-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *words):
        return subprocess.Popen([*HIDE, *map(str, words)], cwd=self.folder, env=self.own, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, process, expected_code=0):
        said, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, expected_code, said)
        return said

    def test_the_machine_has_none(self):
        self.assertIn("Read-only file system", self.finish(self.start(sys.executable, "-c", CLAIM), expected_code=1))

    def test_several_processes_share_a_cache(self):
        shutil.copytree(GOLDEN / "split", self.server.bucket / "shared")
        known = json.loads((GOLDEN / "split" / "expected.json").read_text())["samples"]
        group = [self.start(BIN / "mds_probe", "--cache", self.folder / "cache", "--expect", "dump", "s3://data/shared")
                 for _ in range(3)]
        for process in group:
            self.assertEqual(json.loads(self.finish(process)), known)
        for i in range(5):
            self.assertEqual(self.server.count_reads(f"shared/shard.{i:05}.mds"), 1, "fetched once by all together")

    def test_a_run_is_killed_and_goes_on(self):
        run = [BIN / "shards", "--samples", 2000, "--batch", 7, "--epochs", 2, "--threads", 2]
        made = self.finish(self.start(*run, "--pause-ms", 0, "--run-name", "unbroken"))
        killed = self.start(*run, "--pause-ms", 5, "--save-every", 3, "--list")
        for line in killed.stdout:
            if " step 20 " in line:
                break
        killed.kill()
        killed.communicate()
        said = self.finish(self.start(*run, "--pause-ms", 0)).splitlines()
        self.assertRegex("\n".join(said), "(?m)^attempt 2 rank 0 of 1 goes on with step [1-9]")
        [done] = [line for line in said if line.startswith("done: ")]
        self.assertIn(done, made.splitlines())


if __name__ == "__main__":
    if why := what_is_missing():
        print(f"SKIPPED: {why}")
        sys.exit(77)
    run_tests()
