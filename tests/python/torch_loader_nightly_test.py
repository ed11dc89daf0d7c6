"""ratoon.torch under PyTorch itself: a resumed run sees the batches of an unbroken one, bit for bit, with 0 and 2 workers.
Needs the environment of the peers (scripts/bench --peers makes it)."""
import os
import pathlib
import subprocess
import sys
import unittest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"
CASES = pathlib.Path(__file__).with_name("torch_loader_cases.py")


def find_peers():
    """The Python that has PyTorch and is of the version that the package was compiled for, or nothing."""
    version = ".".join(map(str, sys.version_info[:2]))
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        script = f"import sys, torch, ratoon; assert sys.version.startswith('{version}.')"
        if subprocess.run([python, "-c", script], capture_output=True).returncode == 0:
            return python
    return None


class Loader(unittest.TestCase):
    def test_its_cases(self):
        done = subprocess.run([PEERS, CASES], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=840)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:])
        self.assertIn("OK", done.stdout)


if __name__ == "__main__":
    PEERS = find_peers()
    if PEERS is None:
        print("SKIPPED: no environment of peers with PyTorch; scripts/bench --peers makes one")
        sys.exit(77)
    unittest.main(verbosity=2)
