"""Exactly once, through kills: the shards example dies of SIGKILL at any moment, its data set half made, its checkpoint half
written, its cache half filled, and what all its lives consumed together is what an unbroken run consumes. Each life has
other threads, another place of the data, another cache. RATOON_KILLS sets how often (50), RATOON_SEED repeats a run."""

import functools
import http.server
import os
import random
import shutil
import subprocess
import threading
import time
import unittest

import shards_run
from shards_run import History, Life

KILLS = int(os.environ.get("RATOON_KILLS", 50))
SECONDS = 60 * int(os.environ.get("RATOON_NIGHTLY_MINUTES", 60)) // 2
SAMPLES = 3000


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # its clients are killed


class Kills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={cls.seed}", flush=True)

    def setUp(self):
        self.chance = random.Random(self.seed)
        self.folder = shards_run.scratch_folder()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        handler = functools.partial(QuietHandler, directory=self.folder)
        server = QuietServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.web = f"http://127.0.0.1:{server.server_port}/shards-data"
        self.kills, self.killed_while_making, self.redone = 0, 0, 0

    def place(self):
        """Words that say where the data is: made here, as it is here, or from elsewhere through one of two caches."""
        cache = ["--cache", self.folder / f"cache-{self.chance.randrange(2)}"]
        if self.chance.random() < 0.3:
            cache += ["--cache-bytes", self.chance.choice([250_000, 10_000_000])]
        return self.chance.choice([[], [], ["shards-data"], ["shards-data", *cache], [self.web, *cache]])

    def live(self, words, log, patience):
        """One life that is killed, unless it ends before or there were kills enough. Its exit code."""
        with open(log, "w") as file:
            process = shards_run.start(self.folder, *words, log=file)
            moment = self.chance.uniform(0, patience * self.chance.choice([0.1, 1, 1]))
            try:
                process.wait(moment if self.kills < KILLS else 60)
            except subprocess.TimeoutExpired:
                process.kill()
                self.kills += 1
            return process.wait()

    def run_to_the_end(self, name):
        batch, epochs = self.chance.randrange(3, 20), self.chance.randrange(2, 5)
        stream = ["--list", "--samples", SAMPLES, "--batch", batch, "--epochs", epochs, "--seed", self.chance.randrange(99),
                  "--window", self.chance.choice([0, 1, 4])]
        history, log, patience = History(), self.folder / "log", 0.3
        while True:
            is_made = (self.folder / "shards-data" / "index.json").exists()
            life = ["--run-name", name, "--save-every", self.chance.randrange(1, 30),
                    "--pause-ms", self.chance.choice([0, 1, 1, 2]), "--threads", self.chance.randrange(5)]
            code = self.live([*(self.place() if is_made else []), *stream, *life], log, patience)
            text = log.read_text()
            self.assertIn(code, (0, -9), text[-1000:])
            self.killed_while_making += not (self.folder / "shards-data" / "index.json").exists()
            lives = Life.of(text)
            self.assertLessEqual(len(lives), 1, "alone, a process makes one attempt")
            if lives:
                history.add(lives[0])
            patience = 0.3 if lives and lives[0].steps else 1.5 * patience  # a machine so busy that nothing got done
            if code == 0:
                break
        self.redone += history.redone
        self.assert_exactly_once(history, epochs)
        self.assert_as_unbroken(history, stream, lives[-1].done)

    def assert_exactly_once(self, history, epochs):
        consumed = [int(sample.split(":")[0]) for step in history.steps for sample in step]
        for epoch in range(epochs):
            samples = consumed[epoch * SAMPLES:(epoch + 1) * SAMPLES]
            self.assertEqual(sorted(samples), list(range(SAMPLES)), f"each sample once in epoch {epoch}")

    def assert_as_unbroken(self, history, stream, done):
        code, text = shards_run.run(self.folder, *stream, "--run-name", f"unbroken-{self.chance.random()}",
                                    "--save-every", 10**9, "--pause-ms", 0, "--threads", 0)
        self.assertEqual(code, 0, text[-1000:])
        [life] = Life.of(text)
        self.assertEqual(len(history.steps), life.total)
        for number, (lived, unbroken) in enumerate(zip(history.steps, life.steps)):
            self.assertEqual(lived, unbroken, f"step {number}")
        self.assertEqual(done, life.done, "digests at the end")

    def test_nothing_is_lost_and_nothing_comes_twice(self):
        deadline, runs = time.monotonic() + SECONDS, 0
        while self.kills < KILLS and time.monotonic() < deadline:
            self.run_to_the_end(f"run-{runs}")
            runs += 1
            shutil.rmtree(self.folder / "shards-runs")
            if self.chance.random() < 0.5:
                shutil.rmtree(self.folder / "shards-data")  # so that it is made again, and again killed over it
        print(f"{self.kills} kills over {runs} runs, {self.killed_while_making} while the data was made; "
              f"{self.redone} steps were made again", flush=True)
        self.assertGreaterEqual(self.kills, KILLS, f"{SECONDS} s were too few: scripts/nightly takes more minutes")
        self.assertGreater(self.redone, self.kills // 10, "kills hit what was trained and not committed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
