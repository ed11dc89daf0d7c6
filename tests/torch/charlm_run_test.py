"""The GPT of letters under `ratoon run`: killed and resumed, with dropout and a learning rate that follows the step, it
ends with the weights of a run that lost nothing; and it learns, from its own text and from a file."""
import re
import signal
import subprocess
import tempfile
import pathlib
import unittest

from trainer_run import TrainerRun
from local_run import BIN, wait_until

STEPS = 60


class CharlmRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        unbroken = cls.begin()
        cls.addClassCleanup(unbroken.close)
        code, output = unbroken.finish()
        assert code == 0, output + str(unbroken.logs())
        cls.expected = unbroken.weights()
        cls.losses = unbroken.progress()
        assert len(cls.expected) == 2 and len(set(cls.expected)) == 1, unbroken.logs()

    @staticmethod
    def begin(held_at=None):
        """A run that is to be hurt at a step is held there."""
        program = "charlm" if held_at is None else "gated_charlm"
        return TrainerRun(program, 2, "--steps", STEPS, "--batch", 8, held_at=held_at).start()

    def assert_as_unbroken(self, run):
        code, output = run.finish()
        self.assertEqual(code, 0, f"{output}\n{run.logs()}")
        self.assertEqual(run.weights(), self.expected)
        self.assertEqual(run.progress().keys(), self.losses.keys(), "each rank has said each step")
        for place, seen in run.progress().items():
            for _, loss in seen:
                self.assertEqual(loss, self.losses[place][0][1], f"step and rank {place}")

    def test_a_kill_of_each_in_turn(self):
        run = self.begin(held_at=25)
        self.addCleanup(run.close)
        for attempt in (1, 2):
            run.let_pass(25 * attempt)
            run.wait_for_commit(20 * attempt, attempt)
            run.hurt(attempt - 1)
            wait_until(lambda a=attempt: run.job_status()["attempt"] > a, f"an attempt after {attempt}")
        run.let_pass(STEPS)
        self.assert_as_unbroken(run)
        self.assertTrue(run.has_stepped(3, 0), "it was trained in three attempts")

    def test_interrupted_and_started_again(self):
        run = self.begin(held_at=20)
        self.addCleanup(run.close)
        run.wait_for_commit(20)
        run.process.send_signal(signal.SIGINT)
        run.let_pass_until(lambda: run.process.poll() is not None, "the run to leave", STEPS, 0.5)
        self.assertEqual(run.finish()[0], 130)
        self.assertEqual(run.weights(), [])
        run.let_pass(STEPS)
        run.start()
        self.assert_as_unbroken(run)

    def test_it_learns_and_writes(self):
        for rank in (0, 1):
            self.assertLess(float(self.losses[STEPS - 1, rank][0][1]), float(self.losses[0, rank][0][1]) - 0.5)

    def test_text_that_is_given(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text"
            text.write_text("abc" * 100)
            words = ["--text", text, "--steps", "30", "--batch", "4"]
            said = subprocess.run([BIN / "plain_charlm", *words], capture_output=True, text=True, check=True).stdout
            self.assertRegex(said.splitlines()[-1], "^[abc]{100,}$")
            self.assertEqual(len(re.findall("^attempt", said, re.M)), 30)
            text.write_text("too short")
            for wrong, why in ((text, "has 9 bytes, and at least 49 are needed"), (text.parent / "none", "cannot be opened")):
                refused = subprocess.run([BIN / "plain_charlm", "--text", wrong], capture_output=True, text=True)
                self.assertEqual(refused.returncode, 82)
                self.assertIn(why, refused.stderr)


if __name__ == "__main__":
    unittest.main()
