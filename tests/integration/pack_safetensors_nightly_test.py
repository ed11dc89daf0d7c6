"""safetensors and packs of ours, live and in both directions: what is written here it reads, what it writes is read here.
Needs an environment of the peers that has safetensors and xxhash (scripts/bench --peers makes one)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "pack_probe"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "checkpoint" / "pack" / "golden"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"


def find_peers():
    """The Python that has safetensors, or nothing."""
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        if subprocess.run([python, "-c", "import safetensors, xxhash"], capture_output=True).returncode == 0:
            return python
    return None


class Safetensors(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-safetensors-"))
        self.addCleanup(shutil.rmtree, self.scratch)

    def run_program(self, *words):
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        return done.stdout

    def checked(self, pack):
        return json.loads(self.run_program(PEERS, "-B", GOLDEN / "check.py", pack))

    def test_what_is_written_here_safetensors_reads(self):
        pack = self.scratch / "ours.safetensors"
        self.run_program(PROBE, "write", pack)
        found = self.checked(pack)
        self.assertGreater(len(found), 20)
        self.assertEqual(found, json.loads(self.run_program(PROBE, "show", pack)))

    def test_what_safetensors_writes_is_read_here(self):
        self.run_program(PEERS, "-B", GOLDEN / "make.py", self.scratch)
        pack = self.scratch / "pack.safetensors"
        self.assertEqual(json.loads(self.run_program(PROBE, "show", pack)), self.checked(pack))
        self.assertEqual(pack.read_bytes(), (GOLDEN / "pack.safetensors").read_bytes())

    def test_a_flipped_bit_is_noticed_here_and_there(self):
        pack = self.scratch / "ours.safetensors"
        self.run_program(PROBE, "write", pack)
        damaged = bytearray(pack.read_bytes())
        damaged[5000] ^= 16
        pack.write_bytes(damaged)
        for program in ((PROBE, "show"), (PEERS, "-B", GOLDEN / "check.py")):
            self.assertEqual(subprocess.run([*map(str, program), pack], capture_output=True).returncode, 1)


if __name__ == "__main__":
    PEERS = find_peers()
    if PEERS is None:
        print("SKIPPED: no environment of peers with safetensors and xxhash; scripts/bench --peers makes one")
        sys.exit(77)
    unittest.main(verbosity=2)
