"""--resume-from and --skip with real processes, alone and in a world under `ratoon run`: the run goes back once, is killed
again and again behind it, and ends with the samples that the plan says, as a second implementation of the stream has them."""

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

from local_run import BIN, Gate, LocalRun, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "data" / "order" / "vectors"))
from stream_vectors import Stream, options, source  # noqa: E402

STEPS = 200
BATCH = 6  # of drain_probe, over 10,000 samples with seed 5
BACK = 40
SKIP = 500
FLAGS = ("--resume-from", str(BACK), "--skip", str(SKIP))
DONE = re.compile(r"^done after (\d+) steps, digest ([0-9a-f]{16})$", re.MULTILINE)
STEP = re.compile(r"^rank (\d+) step (\d+) samples", re.MULTILINE)


def predicted(skip=SKIP):
    stream = Stream(options([source("", 10_000)], BATCH, 5))
    stream.advance(BACK)
    if skip:
        stream.skip_to(BACK * BATCH + skip)
    stream.advance(STEPS - BACK)
    return f"{stream.digest:016x}"


class Alone(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-rollback-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "words").mkdir()
        self.gate = Gate(self.root)
        self.gate.let_pass(STEPS)
        self.process = None
        self.addCleanup(self.kill)

    def start(self, *flags):
        with open(self.root / "output.txt", "w") as output:
            self.process = subprocess.Popen(
                [BIN / "drain_probe", "--agree", self.root / "words", "--steps", str(STEPS), "--save-folder", self.root,
                 "--run-name", "run", "--save-every", "10", "--keep-last", "all", *flags], stdout=output,
                stderr=subprocess.STDOUT, env={**os.environ, **self.gate.environment})

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def output(self):
        return (self.root / "output.txt").read_text()

    def finish(self, code=0):
        self.assertEqual(self.process.wait(timeout=180), code, self.output())
        return self.output()

    def manifests(self):
        return sorted(path.name for path in (self.root / "run" / "manifests").glob("s*.json"))

    def newest(self, attempt):
        return max((int(name[1:11]) for name in self.manifests() if f".a{attempt:04}." in name), default=0)

    def attempts(self):
        return max((int(path.name[1:5]) for path in (self.root / "run" / "packs").glob("a*")), default=0)

    def test_it_goes_back_once_however_often_it_is_killed(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}")
        chance = random.Random(seed)
        self.gate.let_pass(STEPS - 5)
        self.start()
        wait_until(lambda: self.newest(1) >= 80, "step 80")
        self.kill()
        left = self.newest(1)
        begun = []
        for kill in range(5):
            self.start(*(FLAGS if kill != 2 else ()))  # also where somebody forgets the flags
            wait_until(lambda: STEP.search(self.output()), "a step")
            begun.append(int(STEP.search(self.output())[2]))
            goal = min(begun[-1] + chance.choice((0, 5, 25)), STEPS - 6)
            wait_until(lambda: int(STEP.findall(self.output())[-1][1]) >= goal, f"step {goal}")
            self.kill()
        self.assertEqual(begun[0], BACK)
        self.assertEqual(begun, sorted(begun), "never back again")
        self.gate.let_pass(STEPS)
        self.start(*FLAGS)
        self.assertEqual(DONE.findall(self.finish()), [(str(STEPS), predicted())])
        self.assertIn(f"the run went back to step {BACK} in attempt 2", self.output())
        aside = sorted(path.name for path in (self.root / "run" / "aside").iterdir())
        self.assertEqual(aside, [f"s{step:010}.a0001.json" for step in range(BACK + 10, left + 1, 10)])
        self.assertEqual([path.name for path in (self.root / "run" / "rollbacks").iterdir()], ["a0002.json"])
        for name in aside:
            self.assertTrue((self.root / "run" / "packs" / "a0001" / name[:11]).is_dir(), "nothing is deleted")

    def test_a_step_that_is_not_there_is_said(self):
        self.start()
        self.finish()
        self.start("--resume-from", "45")
        self.assertIn("--resume-from 45: the run has no checkpoint of that step that can be read; there are steps "
                      + " ".join(map(str, range(10, STEPS + 1, 10))), self.finish(code=82))
        self.start("--skip", "45")
        self.assertIn("--skip needs --resume-from, because it skips the samples", self.finish(code=82))


class World(unittest.TestCase):
    def start(self, run, *flags):
        run.start("--", *flags) if flags else run.start()
        return run

    def digests(self, run):
        return DONE.findall("".join(run.logs().values()))

    def first_step_of(self, run, member):
        """Of the member's first process since its logs were taken away, whatever that one is called."""
        def found():
            logs = sorted((name, text) for name, text in run.logs().items() if name.startswith(member + "-"))
            step = STEP.search(logs[0][1]) if logs else None
            return step and int(step[2])

        return wait_until(found, "a step")

    def test_all_ranks_go_back_together_and_once(self):
        words = tempfile.mkdtemp(prefix="ratoon-rollback-words-")
        self.addCleanup(shutil.rmtree, words)
        run = LocalRun(command=["drain_probe", "--agree", words, "--steps", str(STEPS), "--pause-ms", "10"],
                       spec={"checkpointPolicy": {"intervalSteps": 10, "keepLast": "All"}}, held_at=10**9)
        self.addCleanup(run.close)
        self.start(run, "--steps", str(10**9))  # ranks must step to leave together
        run.wait_for_commit(80)
        run.process.send_signal(signal.SIGINT)
        code, output = run.finish()
        self.assertEqual(code, 130, output)
        given_up = [step for _, step in run.commits() if step > BACK]  # with that of the Ctrl-C, at any step

        shutil.rmtree(run.folder / "logs")
        run.document["spec"]["numNodes"] = 3  # another world size, too
        run.write_job()
        run.let_pass(100)
        self.start(run, *FLAGS)
        wait_until(lambda: (2, BACK + 10) in run.commits(), "what comes of it")
        self.assertIn(f"is given up by --resume-from; the run goes back to step {BACK}", run.output())
        for rank in range(3):
            self.assertEqual(self.first_step_of(run, f"counter-worker-{rank}"), BACK)
        for member, steps in ((1, 130), (0, 160)):
            before = run.job_status()["attempt"]
            run.hurt(member)
            run.let_pass(steps)
            wait_until(lambda: run.job_status()["attempt"] > before and run.job_status()["formed"], "the next world")
            run.wait_for_commit(1, attempt=run.job_status()["attempt"])
        run.process.kill()
        run.process.wait()
        last = max(run.commits())
        run.let_pass(STEPS)
        self.start(run, *FLAGS)
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn(f"completed at step {STEPS}", output)
        self.assertEqual(self.digests(run), [(str(STEPS), predicted())] * 3)
        self.assertGreater(last[1], BACK)
        self.assertNotIn("given up by --resume-from", output, "a restart does not go back again")
        folder = next(run.folder.glob("checkpoints/*"))
        self.assertEqual([path.name for path in (folder / "rollbacks").iterdir()], ["a0002.json"])
        self.assertEqual(sorted(path.name for path in (folder / "aside").iterdir()),
                         [f"s{step:010}.a0001.json" for step in given_up])


if __name__ == "__main__":
    unittest.main()
