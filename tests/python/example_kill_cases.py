"""Two programs of examples/python are killed once. Run by example_kill_test.py. A start is a fork of this process, because the
import of PyTorch takes longer than a whole run."""
import contextlib
import os
import pathlib
import random
import runpy
import signal
import sys
import tempfile
import traceback
import unittest

import torch

import ratoon.torch
from example_programs import PROGRAMS, Life, Run, draw_seed, weights

torch.set_num_threads(1)  # a forked child has none of the threads of a pool


class Fork:
    """A program in a child, with the part of subprocess.Popen that Life needs."""

    def __init__(self, folder, program, words):
        reading, writing = os.pipe()
        self._code = None
        self.pid = os.fork()
        if self.pid:
            os.close(writing)
            self.stdout = os.fdopen(reading)
            return
        code = 1
        try:
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            os.close(writing)
            os.close(reading)
            os.chdir(folder)
            sys.argv = [str(program), *words]
            runpy.run_path(str(program), run_name="__main__")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def poll(self):
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, limit_s):
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


class ForkLife(Life):
    def kill(self):
        """At once: these programs start no processes that would have to be found first."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        return self.end() == -signal.SIGKILL


class Forks(Run):
    def start(self, *words):
        return ForkLife(Fork(self.folder, self._command[0], [*self._command[1:], *words]))


class Kills(unittest.TestCase):
    def test_a_kill_changes_no_loss_and_no_weight(self):
        draws = random.Random(draw_seed())
        for name, words in (("loop", ["--epochs", "1"]), ("gpt", ["--steps", "60"])):
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="ratoon-examples-") as folder:
                unbroken, broken = (Forks(pathlib.Path(folder) / one, [PROGRAMS / f"{name}.py", *words], None)
                                    for one in ("unbroken", "broken"))
                unbroken.finish()
                # The other half of the steps is left to a test that sees a step late.
                step = draws.randrange(2, max(unbroken.printed) // 2)
                broken.kill_at(step, draws.uniform(0, 2 * unbroken.pace))
                broken.finish()
                self.assertEqual(broken.kills, 1)
                self.assertEqual(broken.printed, unbroken.printed)
                self.assertEqual(weights(broken.folder / f"{name}.pt"), weights(unbroken.folder / f"{name}.pt"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
