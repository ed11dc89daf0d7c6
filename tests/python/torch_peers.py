"""Cases that need PyTorch: they run in the environment of the peers, which scripts/bench --peers makes."""
import os
import pathlib
import subprocess
import sys
import unittest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ratoon"


def find_peers():
    """The Python that has PyTorch and is of the version that the package was compiled for, or nothing."""
    version = ".".join(map(str, sys.version_info[:2]))
    for stamp in sorted(CACHE.glob("peers-*/.ratoon-complete")):
        python = stamp.parent / "bin" / "python3"
        script = f"import sys, torch, ratoon; assert sys.version.startswith('{version}.')"
        if subprocess.run([python, "-c", script], capture_output=True).returncode == 0:
            return python
    return None


def find_trainers():
    """The newest folder with Lightning and the needs of Hugging Face's Trainer beside the peers, or nothing."""
    return max((stamp.parent for stamp in CACHE.glob("trainers-*/.ratoon-complete")), default=None,
               key=lambda folder: folder.stat().st_mtime)


def run_cases(name: str, needs_trainers: bool = False, limit_s: int = 840) -> None:
    """Runs a file of cases as the one test of this program."""
    peers, trainers = find_peers(), find_trainers() if needs_trainers else None
    if peers is None or (needs_trainers and trainers is None):
        print("SKIPPED: no environment of peers with PyTorch and Lightning; scripts/bench --peers makes one")
        sys.exit(77)
    environment = os.environ | ({"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{trainers}"} if trainers else {})

    class Cases(unittest.TestCase):
        def test_its_cases(self):
            done = subprocess.run([peers, pathlib.Path(__file__).with_name(name)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=limit_s, env=environment)
            self.assertEqual(done.returncode, 0, done.stdout[-8000:])
            self.assertIn("OK", done.stdout)

    sys.exit(not unittest.TextTestRunner(verbosity=2).run(Cases("test_its_cases")).wasSuccessful())
