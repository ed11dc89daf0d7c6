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


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-threads-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("packs", "manifests"):
            (cls.folder / name).mkdir()
            for number in range(FILES):
                (cls.folder / name / f"unknown-{number}").touch()

    def turns_during(self, call):
        """How often another thread runs during a call."""
        turns, is_over = [], threading.Event()

        def run():
            while not is_over.is_set():
                turns.append(None)
                time.sleep(PAUSE_SECONDS)

        thread = threading.Thread(target=run)
        thread.start()
        before = len(turns)
        call()
        during = len(turns) - before
        is_over.set()
        thread.join()
        return during

    def test_looking_for_the_newest_checkpoint(self):
        self.assertGreater(self.turns_during(lambda: _core.newest_in(self.folder)), 5)

    def test_removing_unfinished_saves(self):
        self.assertGreater(self.turns_during(lambda: _core.sweep(self.folder, (5, 5))), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
