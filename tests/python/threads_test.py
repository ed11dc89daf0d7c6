"""Calls that use the disk let other threads of Python run."""
import pathlib
import shutil
import tempfile
import threading
import time
import unittest

from ratoon import _core

FILES = 5_000  # in a folder whose list takes some 20 ms
PAUSE_SECONDS = 0.0005
ROUNDS_MIN, ROUNDS_MAX = 3, 50
HOLDING = 1_000_000  # a sum of so many numbers takes as long, and other threads wait for it


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-threads-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("packs", "manifests"):
            (cls.folder / name).mkdir()
            for number in range(FILES):
                (cls.folder / name / f"unknown-{number}").touch()

    def expect_turns_during(self, call):
        """Another thread runs more often than in a call that lets no other thread run. Both are repeated: a busy machine gives
        the other thread few turns in one call, or a few between two calls."""
        turns, is_over = [], threading.Event()

        def run():
            while not is_over.is_set():
                turns.append(None)
                time.sleep(PAUSE_SECONDS)

        def turns_in(one):
            before = len(turns)
            one()
            return len(turns) - before

        thread = threading.Thread(target=run)
        thread.start()
        rounds, during, stray = 0, 0, 0
        while rounds < ROUNDS_MIN or during <= 2 * stray + 5 and rounds < ROUNDS_MAX:
            during += turns_in(call)
            stray += turns_in(lambda: sum(range(HOLDING)))
            rounds += 1
        is_over.set()
        thread.join()
        self.assertGreater(during, 2 * stray + 5, f"in {rounds} calls")

    def test_looking_for_the_newest_checkpoint(self):
        self.expect_turns_during(lambda: _core.newest_in(self.folder))

    def test_removing_unfinished_saves(self):
        self.expect_turns_during(lambda: _core.sweep(self.folder, (5, 5)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
