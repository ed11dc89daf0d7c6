"""The shards example as its users meet it: help and refusals, MosaicML Streaming's own example of a resume with another
cache and another remote, and one run in worlds of other sizes."""

import functools
import http.server
import os
import random
import shutil
import signal
import threading
import unittest

import shards_run
from local_run import LocalRun, wait_until
from s3_server import S3Server, environment, missing_programs
from shards_run import DONE, STEP, History, Life, Shards, merge_ranks

PAUSE_MS = 100  # of a world's steps: 20 s or more are left to it when it is hurt and ended


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Use(Shards):
    def refusal(self, expected_code, *words):
        code, said = shards_run.run(self.folder, *words)
        self.assertEqual(code, expected_code, said)
        return said

    def test_help_shows_every_flag_and_examples(self):
        code, said = shards_run.run(self.folder, "--help")
        self.assertEqual(code, 0)
        for word in ("--cache", "--threads", "--list", "--save-folder", "Examples:", "s3://", "Exit codes:"):
            self.assertIn(word, said)
        self.assertEqual(list(self.folder.iterdir()), [], "help leaves nothing behind")

    def test_the_command_line_is_read_strictly(self):
        self.assertIn("shards: there is no flag --batsh; shards --help lists them", self.refusal(82, "--batsh", "3"))
        self.assertIn("--batch must be a whole number from 1 to 1048576, found '0'", self.refusal(82, "--batch=0"))
        self.assertIn("--epochs must be a whole number from 0 to 1000000, found '3x'", self.refusal(82, "--epochs", "3x"))
        self.assertIn("--seed needs a value after it", self.refusal(82, "--seed"))
        self.assertIn("--list takes no value", self.refusal(82, "--list=yes"))
        self.assertIn("a second data set, 'b'", self.refusal(82, "a", "b"))
        self.assertIn("s3://bucket/x is not on this machine: say with --cache FOLDER", self.refusal(82, "s3://bucket/x"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_data_that_is_not_there_is_named(self):
        self.assertIn("/nowhere/index.json", self.refusal(82, "nowhere"))
        self.assertFalse((self.folder / "nowhere").exists(), "what somebody names is never made")

    def test_a_run_goes_on_only_with_what_it_began_with(self):
        begin = [self.data, "--samples", 1000, "--epochs", 1, "--pause-ms", 0]
        self.assertEqual(shards_run.run(self.folder, *begin)[0], 0)
        said = self.refusal(82, *begin, "--batch", 65)
        self.assertIn("in the checkpoint the global batch is 64, but in the program it is 65", said)
        other = shards_run.scratch_folder()
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        shards_run.run(other, "--samples", 999, "--epochs", 0)
        self.assertIn("the state of the sample stream does not fit", self.refusal(82, other / "shards-data", "--epochs", 1))

    def test_a_damaged_shard_is_named_and_never_trained(self):
        hurt = self.folder / "hurt"
        shutil.copytree(self.data, hurt)
        shard = hurt / "shard.00001.mds"
        shard.write_bytes(shard.read_bytes()[:-1] + b"?")
        self.assertRegex(self.refusal(84, hurt, "--pause-ms", 0), "shard.00001.mds.*xxh3_128 is [0-9a-f]+, but the index says")

    def test_a_run_that_is_done_stays_done(self):
        words = [self.data, "--epochs", 1, "--pause-ms", 0]
        _, first = shards_run.run(self.folder, *words)
        code, second = shards_run.run(self.folder, *words)
        self.assertEqual(code, 0)
        [life] = Life.of(second)
        self.assertEqual((life.first, life.steps), (life.total, []))
        done = [[line for line in said.splitlines() if line.startswith("done: ")] for said in (first, second)]
        self.assertEqual(len(done[0]), 1, first)
        self.assertEqual(done[0], done[1])


class StreamingsOwnExample(Shards):
    """`state_dict` after batch 4, stopped after batch 6 with more of them read ahead; another data set object with
    `local='cache', remote='path'` goes on with batch 5. Here the second is another process."""

    def setUp(self):
        super().setUp()
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=self.folder))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        self.web = f"http://127.0.0.1:{web.server_port}"

    def life(self, remote, cache, pause_ms, env=None):
        words = [remote, "--cache", self.folder / cache, "--batch", 1, "--epochs", 1, "--save-every", 5, "--list",
                 "--threads", 2, "--pause-ms", pause_ms]
        return shards_run.start(self.folder, *words, env=env)

    def saved_step(self):
        """That of the newest checkpoint, or 0: 5, unless the machine stood still for seconds before the kill."""
        return max((int(path.name[1:11]) for path in self.folder.glob("*/first/manifests/*.json")), default=0)

    def check(self, first, second, env=None):
        process = self.life(first, "tmp-cache", 500, env)
        shown = ""
        while "step 6 " not in shown:
            line = process.stdout.readline()
            self.assertTrue(line, shown)
            shown += line
        # A save goes on beside the steps that follow, and takes its time on a busy machine.
        wait_until(self.saved_step, "the checkpoint of step 5")
        process.kill()
        [before] = Life.of(shown + process.communicate()[0])
        saved = self.saved_step()
        process = self.life(second, "cache", 0, env)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 0, output)
        [after] = Life.of(output)
        self.assertEqual(after.first, saved)
        again = before.steps[saved:]
        self.assertEqual(after.steps[:len(again)], again, "batches 5 and 6 are trained again")
        _, output = shards_run.run(self.folder, self.data, "--batch", 1, "--epochs", 1, "--list", "--pause-ms", 0,
                                   "--run-name", "unbroken", "--save-every", 10**6)
        [unbroken] = Life.of(output)
        self.assertEqual(before.steps[:saved] + after.steps, unbroken.steps)
        self.assertEqual(after.done, unbroken.done)

    def test_from_one_web_server_to_another_place_on_it(self):
        for name in ("dataset", "path"):
            shutil.copytree(self.data, self.folder / name)
        self.check(f"{self.web}/dataset", f"{self.web}/path")

    @unittest.skipIf(missing_programs(), "no versitygw; scripts/setup --only test builds it")
    def test_from_s3_to_a_web_server(self):
        server = S3Server(bucket="remote")
        self.addCleanup(server.close)
        server.start()
        shutil.copytree(self.data, server.bucket / "dataset")
        shutil.copytree(self.data, self.folder / "path")
        self.check("s3://remote/dataset", f"{self.web}/path", environment(server.url))


class Worlds(Shards):
    """One run, alone and under `ratoon run` with two and three members, any of them killed."""

    def setUp(self):
        super().setUp()
        self.words = [self.data, "--epochs", 2, "--batch", 7, "--list"]
        self.run_ = LocalRun("shards", command=["shards", *map(str, self.words), "--pause-ms", str(PAUSE_MS)])
        self.addCleanup(self.run_.close)
        self.history, self.attempts = History(), 0

    def take_in_logs(self):
        """Of the attempts that ended: their steps, all ranks together."""
        by_attempt = {}
        for text in self.run_.logs().values():
            for life in Life.of(text):
                by_attempt.setdefault(life.attempt, []).append(life)
        for attempt in sorted(number for number in by_attempt if number > self.attempts):
            if len(by_attempt[attempt]) == by_attempt[attempt][0].world:
                self.history.add(merge_ranks(by_attempt[attempt]))
            self.attempts = attempt

    def live_together(self, members, chance):
        self.run_.document["spec"]["numNodes"] = members
        self.run_.write_job()
        before = max(self.run_.commits(), default=(0, 0))[0]
        self.run_.start()
        wait_until(lambda: [a for a, _ in self.run_.commits() if a > before], "a checkpoint of this world")
        self.run_.hurt(chance.randrange(members))
        wait_until(lambda: [a for a, _ in self.run_.commits() if a > before + 1], "one after the loss of a member")
        self.run_.process.send_signal(signal.SIGINT)
        code, output = self.run_.finish()
        self.assertEqual(code, 130, output)
        self.take_in_logs()

    def live_alone(self, *words, steps=None):
        """Until the process ends, or until it is killed after so many steps."""
        process = shards_run.start(self.folder, *self.words, "--save-folder", self.run_.folder / "checkpoints",
                                   "--run-name", "shards", "--save-every", 10, *words)
        made, output = 0, ""
        for line in process.stdout:
            output += line
            made += STEP.fullmatch(line.rstrip("\n")) is not None
            if made == steps:
                process.kill()
        process.communicate()
        for life in Life.of(output):
            self.history.add(life)
            self.attempts = max(self.attempts, life.attempt)
        return output

    def test_other_sizes_take_the_same_samples(self):
        seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={seed}", flush=True)
        chance = random.Random(seed)
        self.live_alone("--pause-ms", 20, steps=40)
        self.live_together(2, chance)
        self.live_alone("--pause-ms", 20, "--threads", 0, steps=20)
        self.live_together(3, chance)
        output = self.live_alone("--pause-ms", 0, "--threads", 4)
        [unbroken], done = Life.of(self.unbroken), DONE.search(output)
        self.assertTrue(done, output)
        self.assertGreater(self.history.redone, 0)
        self.assertEqual(self.history.steps, unbroken.steps)
        self.assertEqual(done.groups()[:3], unbroken.done[:3], "the model is what rank 0 saw; the digest is of all")


if __name__ == "__main__":
    unittest.main(verbosity=2)
