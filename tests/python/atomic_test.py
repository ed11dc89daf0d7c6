"""ratoon.atomic_save and ratoon.AtomicDirectory: all or nothing, also where the process is killed, forks or raises."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import ratoon


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-atomic-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "model.bin"

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


class AtomicSave(Scratch):
    def test_a_file_appears_whole(self):
        with ratoon.atomic_save(self.path) as file:
            file.write(b"one, ")
            file.write(b"two")
            self.assertFalse(self.path.exists())
        self.assertEqual((self.path.read_bytes(), self.files()), (b"one, two", ["model.bin"]))
        with ratoon.atomic_save(str(self.path), "w") as file:
            file.write("grün")
        self.assertEqual(self.path.read_bytes(), "grün".encode())

    def test_an_error_leaves_what_was_there(self):
        self.path.write_bytes(b"old")
        for error in (ValueError, KeyboardInterrupt, SystemExit):
            with self.assertRaises(error):
                with ratoon.atomic_save(self.path) as file:
                    file.write(b"new")
                    raise error
            self.assertEqual((self.path.read_bytes(), self.files()), (b"old", ["model.bin"]))

    def test_a_kill_leaves_what_was_there(self):
        self.path.write_bytes(b"old")
        script = ("import ratoon, sys\n"
                  "with ratoon.atomic_save(sys.argv[1]) as file:\n"
                  "    file.write(b'new' * 100000)\n"
                  "    print('writing', flush=True)\n"
                  "    sys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", script, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "writing\n")
            child.send_signal(signal.SIGKILL)
            child.wait()
        self.assertEqual(self.path.read_bytes(), b"old")

    def test_a_file_that_is_there_may_be_kept(self):
        self.path.write_bytes(b"old")
        with self.assertRaises(ratoon.RatoonError) as caught:
            with ratoon.atomic_save(self.path, replaces=False) as file:
                file.write(b"new")
        self.assertEqual((caught.exception.exit_code, self.path.read_bytes(), self.files()), (82, b"old", ["model.bin"]))

    def test_a_forked_child_takes_nothing_away(self):
        saving = ratoon.atomic_save(self.path)
        file = saving.__enter__()
        child = os.fork()
        if child == 0:
            left = SystemExit()
            os._exit(0 if saving.__exit__(SystemExit, left, None) is False else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        file.write(b"whole")
        saving.__exit__(None, None, None)
        self.assertEqual((self.path.read_bytes(), self.files()), (b"whole", ["model.bin"]))

    def test_what_is_refused(self):
        for call, code in ((lambda: ratoon.atomic_save(self.path, "ab"), 82),
                           (lambda: ratoon.atomic_save(self.folder / "none" / "model.bin"), 82)):
            with self.assertRaises(ratoon.RatoonError) as caught:
                with call():
                    self.fail("it was opened")
            self.assertEqual(caught.exception.exit_code, code)


class Directory(Scratch):
    def test_directories_are_finished_or_never_were(self):
        saver = ratoon.AtomicDirectory(self.folder, keep=2)
        self.assertIsNone(saver.latest())
        for number in range(4):
            directory = saver.prepare()
            (directory / "step").write_text(str(number))
            self.assertEqual(saver.finalize(directory), saver.latest())
        self.assertEqual(self.files(), ["checkpoint_2", "checkpoint_3", "latest"])
        (saver.prepare() / "step").write_text("4")
        again = ratoon.AtomicDirectory(str(self.folder))
        self.assertEqual((again.latest() / "step").read_text(), "3")
        self.assertEqual(list(again.prepare().iterdir()), [])

    def test_ranks_meet_at_their_barrier(self):
        barrier, seen = threading.Barrier(3), {}

        def save(rank):
            saver = ratoon.AtomicDirectory(self.folder, rank=rank, barrier=barrier.wait)
            for step in range(3):
                directory = saver.prepare()
                (directory / f"rank_{rank}").write_text(str(step))
                seen.setdefault(step, set()).add(saver.finalize(directory))

        ranks = [threading.Thread(target=save, args=(rank,)) for rank in range(3)]
        for thread in ranks:
            thread.start()
        for thread in ranks:
            thread.join()
        latest = ratoon.AtomicDirectory(self.folder).latest()
        self.assertEqual([(latest / f"rank_{rank}").read_text() for rank in range(3)], ["2"] * 3)
        self.assertEqual([len(seen[step]) for step in range(3)], [1, 1, 1])

    def test_what_a_barrier_raises_comes_out(self):
        def barrier():
            raise ZeroDivisionError("the ranks are gone")

        saver = ratoon.AtomicDirectory(self.folder, barrier=barrier)
        with self.assertRaisesRegex(ZeroDivisionError, "the ranks are gone"):
            saver.prepare()

    def test_a_lost_link_is_refused(self):
        saver = ratoon.AtomicDirectory(self.folder)
        saver.finalize(saver.prepare())
        (self.folder / "latest").unlink()
        with self.assertRaises(ratoon.RatoonError) as caught:
            saver.latest()
        self.assertEqual(caught.exception.exit_code, 83)


if __name__ == "__main__":
    unittest.main(verbosity=2)
