"""What GPUs do with digits, without one: four processes on the test accelerator, whose streams lag, average over the stand-in
for NCCL. A process is killed, stops, or gets notice at any moment; the weights at the end are those of an unbroken run."""
import os
import random
import signal
import unittest

from digits_run_test import SILENT_SECONDS, STEPS
from local_run import BIN, wait_until
from trainer_run import AsUnbroken, TrainerRun

RANKS = 4
NVML = BIN.parent / "tests/nvml_stand_in/libnvidia-ml.so.1"
os.environ["RATOON_TEST_ACCELERATOR_DEVICES"] = "4"
os.environ["RATOON_NCCL_STAND_IN_ABORT_MS"] = "30"  # as NCCL, which is not quick to abort
os.environ["RATOON_NCCL_STAND_IN_GARBAGE_IS_NAN"] = "1"


class Digits(TrainerRun):
    def __init__(self, nodes=RANKS, processes=1, pause_ms=0, held_at=None, **spec):
        super().__init__("digits_on_accelerator", nodes, "--device", "accelerator", "--steps", STEPS, "--batch", 32,
                         "--pause-ms", pause_ms, held_at=held_at, **spec)
        self.document["spec"]["processesPerNode"] = processes
        self.write_job()


class AcceleratorRun(AsUnbroken, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        unbroken = Digits()
        cls.addClassCleanup(unbroken.close)
        code, output = unbroken.start().finish()
        assert code == 0, output + str(unbroken.logs())
        cls.expected, cls.losses = unbroken.weights(), unbroken.progress()
        assert cls.losses.keys() == {(step, rank) for step in range(STEPS) for rank in range(RANKS)}, unbroken.logs()
        assert len(cls.expected) == RANKS and len(set(cls.expected)) == 1, unbroken.logs()

    def run_of(self, *words, **more):
        run = Digits(*words, **more)
        self.addCleanup(run.close)
        return run.start()

    def test_ranks_that_share_a_node_have_a_device_each(self):
        self.assert_as_unbroken(self.run_of(1, RANKS))

    def test_survivors_of_a_kill_train_on_in_their_processes(self):
        run = self.run_of(held_at=40)
        run.wait_for_commit(20)
        survivors = [run.pids_of(index)[0] for index in range(RANKS) if index != 1]
        run.hurt(1)
        run.let_pass(60)
        wait_until(lambda: run.has_stepped(2, 0), "a step in attempt 2")
        self.assertEqual([run.pids_of(index)[0] for index in range(RANKS) if index != 1], survivors,
                         f"{run.output()}\n{run.logs()}")
        run.let_pass(STEPS)
        self.assert_as_unbroken(run)

    def test_a_device_that_its_driver_calls_broken_is_left(self):
        run = Digits(held_at=40)
        self.addCleanup(run.close)
        script = run.root / "nvml"
        script.write_text("remap_pending 0\nremap_failed 1\n")
        trainer = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        trainer.setdefault("env", []).extend([{"name": "LD_PRELOAD", "value": str(NVML)},
                                              {"name": "TEST_NVML", "value": str(script)}])
        run.write_job()
        run.start()
        wait_until(lambda: "could not be replaced. Training continues on another machine" in "".join(run.logs().values()),
                   "a rank that leaves its device")
        script.write_text("temperature 40\n")
        run.let_pass(STEPS)
        self.assert_as_unbroken(run)

    def test_a_rank_that_stops_is_replaced(self):
        run = self.run_of(held_at=40, disruptionPolicy={"suspectAfterSeconds": SILENT_SECONDS})
        run.wait_for_commit(20)
        run.hurt(2, signal.SIGSTOP)
        run.let_pass(STEPS)
        self.assert_as_unbroken(run)
        self.assertEqual(run.job_status()["attempt"], 2)

    def test_notice_costs_no_step(self):
        # The grace is longer than the run: at its end a save may not fit on a busy machine, and steps are made again.
        run = self.run_of(RANKS, 1, 60, held_at=40, checkpointPolicy={"intervalSteps": 10, "graceSeconds": 300})
        run.wait_for_commit(20)
        run.hurt(3, signal.SIGTERM)
        run.let_pass(STEPS)
        self.assert_as_unbroken(run)
        for place, seen in run.progress().items():
            self.assertEqual(len(seen), 1, f"step and rank {place} was made again: {seen}")

    def test_kills_at_random_moments(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        run = self.run_of(RANKS, 1, 60, held_at=0)
        self.kill_at_random_moments(run, random.Random(seed), RANKS, 5, STEPS)
        self.assert_as_unbroken(run)


if __name__ == "__main__":
    unittest.main()
