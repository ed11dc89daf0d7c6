"""Files of torch.save and safetensors, live and in both directions, for every type, empty, of no dimension, strided and
shared. Needs the environment of the peers (scripts/bench --peers makes it)."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "interop_probe"
LIVE = pathlib.Path(__file__).resolve().parent / "interop_live.py"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"


def find_peers():
    """The Python that has both, or nothing."""
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        if subprocess.run([python, "-c", "import torch, safetensors, numpy"], capture_output=True).returncode == 0:
            return python
    return None


class Live(unittest.TestCase):
    def test_states_survive_both_directions(self):
        with tempfile.TemporaryDirectory(prefix="ratoon-interop-") as folder:
            seed = random.SystemRandom().randrange(1 << 31)
            done = subprocess.run([PEERS, LIVE, PROBE, folder, str(seed)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=1800)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:])


if __name__ == "__main__":
    PEERS = find_peers()
    if PEERS is None:
        print("SKIPPED: no environment of the peers with torch and safetensors; scripts/bench --peers makes it")
        sys.exit(77)
    unittest.main(verbosity=2)
