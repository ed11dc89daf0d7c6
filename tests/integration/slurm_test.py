"""examples/slurm/train.sbatch, run as Slurm would run it: the signal of its own #SBATCH line comes before the time limit, the
ranks save and leave, the job goes back into the queue, and the next start goes on, until the run is done."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from local_run import BIN, Gate
from noticed_ranks import STEP
from slurm_stand_in import Slurm, directives
from trainer_words_test import TRAINER, told_words, words_of

SCRIPT = pathlib.Path(__file__).parents[2] / "examples/slurm/train.sbatch"
STEPS = 1200


class SlurmScript(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-slurm-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.gate = Gate(self.root)
        self.slurm = Slurm(self.root)
        self.addCleanup(self.slurm.close)
        self.saves = self.root / "checkpoints"

    def sbatch(self, *words, **variables):
        """With the options before the script and the trainer behind it."""
        options = [word for word in words if str(word).startswith("--job-") or re.match(r"--\w+=", str(word))]
        trainer = words[len(options):]
        return self.slurm.sbatch("--job-name=night", *options, SCRIPT, *trainer, **variables)

    def commits(self, run="night"):
        return sorted({int(p.name[1:11]) for p in (self.saves / run / "manifests").glob("s*.json")})

    def end_by_signal(self, job, run="night", steps=0):
        """Where this life has saved something, its end is near. It makes `steps` steps before, and comes to no end after."""
        newest, lives = (self.commits(run) or [0])[-1], len(job.ends)
        self.gate.let_pass(self.gate.passing + steps)
        self.slurm.wait(lambda: (self.commits(run) or [0])[-1] > newest)
        self.slurm.send(job, job.warning()[0])
        self.gate.let_pass_until(lambda: self.slurm.look() or len(job.ends) > lives, "the end of this life", STEPS,
                                 pause_seconds=0.2)

    def test_jobs_on_two_nodes_that_end_again_and_again_make_one_run(self):
        (self.root / "words").mkdir()
        # Older versions of Slurm do not say when the job ends: then the signal counts, and the time to save after it.
        job = self.sbatch(BIN / "drain_probe", "--agree", self.root / "words", "--steps", STEPS, "--pause-ms", 1,
                          "--save-every", 50, SLURM_JOB_END_TIME="", RATOON_GRACE_SECONDS=20, **self.gate.environment)
        for _ in range(5):  # a machine that stands still for longer than the margin commits no save in time
            self.end_by_signal(job, steps=60)
            self.assertIn("the ranks left with exit code 80; the job goes back into the queue", self.slurm.output())
            last = max(int(step) for _, step, _ in STEP.findall(self.slurm.output()))
            if self.commits()[-1] == last + 1:
                break
        self.assertEqual(self.commits()[-1], last + 1, "the last step is saved for the signal")
        self.end_by_signal(job, steps=60)
        lives = len(job.ends)
        self.gate.let_pass(STEPS)
        self.slurm.wait()
        self.assertEqual(job.ends, ["requeued"] * lives + [0], self.slurm.output())
        self.assertEqual(self.slurm.requeues(), [f"requeue {job.number}"] * lives, "what is done is not requeued")
        self.assertEqual(self.commits()[-1], STEPS)
        self.assert_one_run(STEPS, ranks=2)

    def assert_one_run(self, steps, ranks):
        """All steps are there, in order, and a step that was made again took the same samples."""
        taken = {}
        for rank, step, samples in STEP.findall(self.slurm.output()):
            self.assertEqual(taken.setdefault((int(step), int(rank)), samples), samples, f"step {step} of rank {rank}")
        self.assertEqual(set(taken), {(step, rank) for step in range(steps) for rank in range(ranks)})
        samples = " ".join(taken.values()).split()
        self.assertEqual(len(set(samples)), 6 * steps, "an epoch has 10,000")
        self.assertEqual(self.slurm.output().count("rank 0 step 0 "), 1, "no life began anew")

    def test_elements_of_an_array_are_runs_of_their_own_and_requeue_themselves(self):
        jobs = self.sbatch("--array=3-4", "--nodes=1", BIN / "gated_counter", "--steps", STEPS, "--pause-ms", 1,
                           "--save-every", 20, SLURM_JOB_END_TIME="", RATOON_GRACE_SECONDS=20, **self.gate.environment)
        self.end_by_signal(jobs[1], "night-4", steps=30)
        self.gate.let_pass(STEPS)
        self.slurm.wait()
        self.assertEqual([job.ends for job in jobs], [[0], ["requeued", 0]], self.slurm.output())
        self.assertEqual(self.slurm.requeues(), [f"requeue {jobs[1].number}"])
        for element in (3, 4):
            self.assertEqual(self.commits(f"night-{element}")[-1], STEPS)
        report = subprocess.run([BIN / "ratoon", "report", self.saves / "night-4", "--json"], check=True, capture_output=True)
        self.assertEqual(json.loads(report.stdout)["attempts"], 2, "its jobs are one run")

    def test_the_end_of_the_job_is_announced_and_kept(self):
        """By the clock: eight seconds, with the signal five before their end, once a step says that it is listened to."""
        self.slurm.may_warn = lambda: " step 0 " in self.slurm.output()
        job = self.sbatch("--nodes=1", "--time=0:08", "--signal=USR1@5", BIN / "counter", "--steps", 1_000_000, "--pause-ms", 20)
        self.slurm.wait(lambda: job.ends)
        self.assertEqual(job.ends, ["requeued"], self.slurm.output())
        self.assertIn("the ranks left with exit code 80;", self.slurm.output())
        self.assertGreater(job.ended, job.began + 3)

    def test_a_node_that_fails_is_no_end(self):
        self.gate.let_pass(15)
        job = self.sbatch("--nodes=1", BIN / "gated_counter", "--steps", 200, "--save-every", 10, **self.gate.environment)
        self.slurm.wait(self.commits)
        self.slurm.fail_node(job)
        kept = self.commits()[-1]
        self.gate.let_pass(200)
        self.slurm.wait()
        self.assertEqual((job.ends, self.slurm.requeues()), (["node failed", 0], []), self.slurm.output())
        self.assertEqual(self.commits()[-1], 200)
        began = re.findall(r"^attempt 2 rank 0 step (\d+) ", self.slurm.output(), re.MULTILINE)
        self.assertEqual(int(began[0]), kept)

    def test_requeues_have_an_end(self):
        job = self.sbatch("--nodes=1", "sh", "-c", "exit 80", REQUEUES_MAX=2)
        self.slurm.wait()
        self.assertEqual(job.ends, ["requeued", "requeued", 80])
        self.assertIn("after 2 requeues", self.slurm.output())

    def test_what_another_start_or_node_may_mend_is_requeued(self):
        for code in (81, 84, 85, 86):
            job = self.sbatch("--nodes=1", "sh", "-c", f"exit {code}", REQUEUES_MAX=1)
            self.slurm.wait()
            self.assertEqual(job.ends, ["requeued", code])

    def test_what_would_fail_again_is_not_requeued(self):
        job = self.sbatch("sh", "-c", "exit 82")
        self.slurm.wait()
        self.assertEqual((job.ends, self.slurm.requeues()), ([82], []))

    def test_words_reach_the_trainer_byte_for_byte(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(1 << 30)))
        words = words_of(seed)
        trainer, told = self.root / "trainer.py", self.root / "told"
        trainer.write_text(TRAINER)
        job = self.slurm.sbatch("--job-name=night", "--nodes=1", SCRIPT, sys.executable, trainer, *words, WORDS=told)
        self.slurm.wait()
        self.assertEqual(job.ends, [0], self.slurm.output())
        self.assertEqual(told_words(told), [words], f"RATOON_SEED={seed}")

    def test_without_a_trainer_it_says_how(self):
        job = self.sbatch()
        self.slurm.wait()
        self.assertEqual(job.ends, [82])
        self.assertIn("sbatch train.sbatch ./trainer", self.slurm.output())

    def test_slurm_is_told_to_warn_and_to_requeue(self):
        job = self.sbatch("true")
        self.assertEqual((job.warning(), job.limit()), ((signal.SIGUSR1, 120), 4 * 3600))
        self.assertIn("requeue", directives(SCRIPT))


if __name__ == "__main__":
    unittest.main()
