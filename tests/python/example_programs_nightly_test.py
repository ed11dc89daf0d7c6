"""Each program of examples/python, killed RATOON_TRIALS times (40) at random points, has the losses, decisions and weights of an
unbroken run, bit for bit. The plain twins run, too."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from example_programs import LINE, PROGRAMS, Run, draw_seed, environment, weights

sys.path.insert(0, str(PROGRAMS.parents[1] / "tests/integration"))
from slurm_stand_in import Slurm  # noqa: E402

KILLS = int(os.environ.get("RATOON_TRIALS", 40))
BATCH_SCRIPT = PROGRAMS.parent / "slurm/train.sbatch"
VARIABLES = environment()


def torchrun(ranks, name):
    return ["torchrun", "--standalone", "--nproc-per-node", ranks, PROGRAMS / f"{name}.py"]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-examples-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.draws = random.Random(draw_seed())

    def make(self, name, command, files=None):
        run = Run(self.folder / name, command, VARIABLES)
        if files:
            shutil.copytree(files, run.folder / files.name)
        return run

    def assert_same(self, broken, unbroken, kills=KILLS):
        name = next(unbroken.folder.glob("*.pt")).name
        self.assertEqual(broken.printed, unbroken.printed)
        self.assertEqual(weights(broken.folder / name), weights(unbroken.folder / name))
        self.assertGreaterEqual(broken.kills, kills * 3 // 4)
        print()
        print(f"{broken.kills} kills of {name}", flush=True)

    def check(self, command, files=None):
        unbroken, broken = self.make("unbroken", command, files), self.make("broken", command, files)
        decisions = unbroken.finish()
        broken.kill_often(KILLS, unbroken, self.draws)
        self.assertEqual(broken.finish(), decisions)
        self.assert_same(broken, unbroken)
        return decisions

    def sbatch(self, name, program, *words, **more):
        folder = self.folder / name
        folder.mkdir()
        slurm = Slurm(folder)
        self.addCleanup(slurm.close)
        # Without the end of the job the signal alone counts, as with older versions of Slurm.
        variables = {**VARIABLES, "PATH": f"{folder}:{VARIABLES['PATH']}", "SLURM_JOB_END_TIME": "", "REQUEUES_MAX": KILLS,
                     "RATOON_GRACE_SECONDS": 2, **more}
        return slurm, slurm.sbatch("--job-name=night", BATCH_SCRIPT, "python3", PROGRAMS / f"{program}.py", *words,
                                   **variables)

    def printed(self, slurm):
        lines = {}
        for line in slurm.output().splitlines():
            if found := LINE.match(line):
                self.assertEqual(lines.setdefault(int(found[1]), line), line)
        return lines


class Programs(Case):
    def test_a_plain_loop(self):
        self.check(["python3", PROGRAMS / "loop.py"])

    def test_a_gpt(self):
        self.check(["python3", PROGRAMS / "gpt.py"])

    def test_ddp(self):
        self.check(torchrun(2, "ddp"))

    def test_fsdp_on_four_and_then_on_three_ranks(self):
        unbroken, broken = self.make("unbroken", []), self.make("broken", [])
        for ranks, first, end in ((4, 2, 60), (3, 62, 120)):
            words = [*torchrun(ranks, "fsdp"), "--steps", end]
            unbroken.finish(*words)
            broken.kill_often(KILLS // 2, unbroken, self.draws, *words, first=first)
            broken.finish(*words)
        self.assert_same(broken, unbroken, KILLS // 2 * 2)

    def test_lightning(self):
        decisions = self.check(["python3", PROGRAMS / "lightning_fit.py"])
        self.assertRegex(decisions[0], r"^best epoch=\d+-step=\d+\.ckpt, stopped in epoch [1-9]")

    def test_hugging_face(self):
        self.check(["python3", PROGRAMS / "hugging_face.py"])

    def test_a_damaged_checkpoint_of_hugging_face_is_not_resumed(self):
        run = self.make("damaged", ["python3", PROGRAMS / "hugging_face.py"])
        run.finish("--steps", 6)
        model, = run.folder.glob("checkpoints/latest/checkpoint-*/model.safetensors")
        data = bytearray(model.read_bytes())
        data[-1] ^= 1
        model.write_bytes(data)
        life = run.start("--steps", 20)
        self.assertEqual((life.end(), life.steps()), (1, {}))
        self.assertIn("is damaged", life.lines[-1])

    def test_mds(self):
        files = self.make("files", ["python3", PROGRAMS / "write_mds.py"])
        files.finish()
        self.check(["python3", PROGRAMS / "mds.py"], files.folder / "points")

    def test_slurm(self):
        words = ["--epochs", 4 * KILLS]  # after a notice it trains on for most of the time until the job ends
        unbroken, job = self.sbatch("unbroken", "slurm", *words)
        unbroken.wait()
        self.assertEqual(job.ends, [0], unbroken.output()[-4000:])
        steps = max(self.printed(unbroken))
        broken, job = self.sbatch("broken", "slurm", *words)
        notices = 0
        for step in sorted(self.draws.sample(range(2, steps - 2), KILLS)):
            broken.wait(lambda: job.is_over() or job.process and max(self.printed(broken), default=0) >= step)
            if job.is_over():
                break
            lives = len(job.ends)
            if self.draws.random() < 0.5:
                notices += 1
                broken.send(job, signal.SIGUSR1)
            else:
                broken.fail_node(job)
            broken.wait(lambda: len(job.ends) > lives)
        broken.wait()
        self.assertEqual(job.ends[-1], 0, broken.output()[-4000:])
        self.assertEqual(self.printed(broken), self.printed(unbroken))
        self.assertEqual(weights(broken.root / "slurm.pt"), weights(unbroken.root / "slurm.pt"))
        self.assertGreaterEqual(len(job.ends) - 1, KILLS * 3 // 4)
        print()
        print(f"{len(job.ends) - 1} kills of slurm.pt, {notices} of them after a notice", flush=True)


class Twins(Case):
    def test_the_plain_job_of_slurm_saves_at_the_signal(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        slurm, job = self.sbatch("plain", "plain_slurm", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        slurm.wait(lambda: max(self.printed(slurm), default=0) >= 10)
        slurm.send(job, signal.SIGUSR1)
        slurm.wait()
        self.assertEqual(job.ends, ["requeued", 0], slurm.output()[-4000:])

    def test_they_run(self):
        write = self.make("files", ["python3", PROGRAMS / "write_mds.py"])
        write.finish()
        for name, command, words in (
                ("loop", ["python3"], ["--epochs", 1]), ("gpt", ["python3"], ["--steps", 30]),
                ("gpt", ["python3"], ["--steps", 40, "--init-from", "resume"]),
                ("ddp", ["torchrun", "--standalone", "--nproc-per-node", 2], ["--epochs", 1]),
                ("fsdp", ["torchrun", "--standalone", "--nproc-per-node", 2], ["--steps", 10]),
                ("fsdp", ["torchrun", "--standalone", "--nproc-per-node", 2], ["--steps", 20]),
                ("lightning_fit", ["python3"], ["--epochs", 1]), ("hugging_face", ["python3"], ["--steps", 10]),
                ("mds", ["python3"], ["--epochs", 1])):
            with self.subTest(name):
                done = subprocess.run([str(word) for word in (*command, PROGRAMS / f"plain_{name}.py", *words)], text=True,
                                      cwd=write.folder, env=VARIABLES, capture_output=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.assertEqual(len(list(write.folder.glob("*.pt"))), 8, "the best model of nanoGPT beside the weights")


if __name__ == "__main__":
    if VARIABLES is None:
        print("SKIPPED: no environment of peers with PyTorch, Lightning and accelerate; scripts/bench --peers makes one")
        sys.exit(77)
    unittest.main(verbosity=2)
