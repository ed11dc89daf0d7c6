"""Data-parallel training under `ratoon run`: lose a process at any moment, end with the weights of a run that lost none,
bit for bit."""
import os
import pathlib
import random
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from local_run import LocalRun, wait_until  # noqa: E402
from trainer_run import AsUnbroken, TrainerRun  # noqa: E402

STEPS = 120
SILENT_SECONDS = 15  # of one that is stopped; the others may have to wait for a processor


class Digits(TrainerRun):
    """Bits do not depend on `pause_ms`, nor on a gate: a run that is to be hurt at a step is held there."""

    def __init__(self, members=3, pause_ms=0, held_at=None, **spec):
        super().__init__("digits" if held_at is None else "gated_digits", members, "--steps", STEPS, "--batch", 30,
                         "--pause-ms", pause_ms, held_at=held_at, **spec)


class DigitsRun(AsUnbroken, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        unbroken = Digits()
        cls.addClassCleanup(unbroken.close)
        unbroken.start()
        code, output = unbroken.finish()
        assert code == 0, output + str(unbroken.logs())
        cls.expected = unbroken.weights()
        cls.losses = unbroken.progress()
        assert cls.losses.keys() == {(step, rank) for step in range(STEPS) for rank in range(3)}, unbroken.logs()
        assert len(cls.expected) == 3 and len(set(cls.expected)) == 1, unbroken.logs()

    def run_of(self, *words, **more):
        run = Digits(*words, **more)
        self.addCleanup(run.close)
        return run.start()

    def test_kill_of_one(self):
        for index in (0, 2):  # that with the store, and another
            with self.subTest(member=index):
                run = self.run_of(held_at=40)
                run.wait_for_commit(20)
                survivors = [run.pids_of(i)[0] for i in range(3) if i != index]
                run.hurt(index)
                run.let_pass(60)
                wait_until(lambda r=run: r.has_stepped(2, 0), "a step in attempt 2")
                self.assertEqual([run.pids_of(i)[0] for i in range(3) if i != index], survivors,
                                 f"{run.output()}\n{run.logs()}")
                run.let_pass(STEPS)
                self.assert_as_unbroken(run)

    def test_stop_of_one(self):
        for index in (0, 1):
            with self.subTest(member=index):
                run = self.run_of(held_at=40, disruptionPolicy={"suspectAfterSeconds": SILENT_SECONDS})
                run.wait_for_commit(20)
                run.hurt(index, signal.SIGSTOP)
                run.let_pass(STEPS)
                self.assert_as_unbroken(run)
                self.assertEqual(run.job_status()["attempt"], 2)

    def test_kills_at_random_moments(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        run = self.run_of(3, 60, held_at=0)
        self.kill_at_random_moments(run, random.Random(seed), 3, 4, STEPS)
        self.assert_as_unbroken(run)

    def test_one_process_needs_nobody(self):
        run = self.run_of(1)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertEqual(len(run.weights()), 1)


class Averaging(unittest.TestCase):
    def begin_probe(self, mode, code=0):
        run = LocalRun("probe", {"numNodes": 3, "checkpointPolicy": {"intervalSteps": 4}}, ["average_probe", mode])
        self.addCleanup(run.close)
        found, output = run.start().finish()
        self.assertEqual(found, code, f"{output}\n{run.logs()}")
        return run

    def run_probe(self, mode, code=0):
        return self.begin_probe(mode, code).logs()

    def test_the_mean_of_whole_numbers_is_exact(self):
        logs = self.run_probe("whole")
        print(next(iter(logs.values())))
        for text in logs.values():
            self.assertIn("all as expected", text)

    def test_the_mean_of_any_numbers_has_the_same_bits_everywhere_and_always(self):
        digests = [re.findall("gradients ([0-9a-f]+)", text)
                   for _ in range(2) for text in self.run_probe("real").values()]
        self.assertEqual(len(digests), 6)
        self.assertEqual(len(digests[0]), 12)
        self.assertEqual(len(set(digests[0])), 12, "other numbers in every step")
        for other in digests[1:]:
            self.assertEqual(other, digests[0])

    def test_ranks_that_begin_with_other_weights_are_told(self):
        logs = self.run_probe("other-weights", code=82)
        for text in logs.values():
            self.assertIn("rank 2 has other weights than rank 0 at step 0: give all ranks the same seed", text)
            self.assertRegex(text, r"of \d+ parameters \d+ differ, first \"\S+\"")

    def test_a_second_model_with_other_weights_is_told_before_it_trains(self):
        for text in self.run_probe("other-second", code=82).values():
            self.assertIn("rank 2 has other weights than rank 0 at step 0: give all ranks the same seed", text)

    def test_weights_that_drift_apart_are_told_before_they_are_saved(self):
        run = self.begin_probe("drifts", code=82)
        for text in run.logs().values():
            self.assertIn("rank 2 has other weights than rank 0 at step 8: the ranks have drifted apart since step 4, ", text)
            self.assertIn("start again: this step was not saved", text)
            self.assertIn("of 5 parameters 1 differ, first \"small\"", text)
        saved = [path.name for path in run.folder.glob("checkpoints/*/*/*") if path.name.startswith("s0000000008")]
        self.assertEqual(saved, [])

    def test_weights_that_differ_after_a_resume_are_told_with_the_way_on(self):
        logs = self.run_probe("resumes-apart", code=82)
        told = [text for text in logs.values() if "rank 2 has other weights than rank 0 at step " in text]
        self.assertEqual(len(told), 3, logs)
        for text in told:
            self.assertRegex(text, r"at step [1-9]\d*: the ranks have drifted apart, because")
            self.assertIn("start one process alone, which continues with rank 0's weights", text)


if __name__ == "__main__":
    unittest.main()
