"""`ratoon checkpoint` on runs that are in a real S3 server alone: all that it does with folders, what is refused, a run that
writes meanwhile, and that what belongs to others stays."""

import json
import os
import pathlib
import subprocess
import threading
import time

import checkpoint_commands_test
from local_run import BIN, wait_until
from ports import take_port
from s3_server import S3Test, environment, run_tests


class InStore(S3Test, checkpoint_commands_test.Commands):
    saved_at = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env = cls.own

    def setUp(self):
        super().setUp()
        self.run_name = "counter"
        runs = self.id().rsplit(".", 1)[1]
        self.folder = self.server.bucket / runs / self.run_name
        self.above, self.of_nothing = f"s3://data/{runs}", "is not a run's folder"
        self.place = f"{self.above}/{self.run_name}"

    def files(self):
        return {str(path.relative_to(self.server.bucket)) for path in self.server.bucket.rglob("*")
                if path.is_file() and ".sgwtmp" not in path.parts}

    # ---- what is refused

    def assert_code_and_sentence(self, code, sentence_part, env, *words):
        self.env = env
        for command in words or ("list", "show", "verify", "gc", "pin", "unpin"):
            self.assert_refused(code, sentence_part, command, self.place)

    def test_whoever_may_not_look_is_told(self):
        self.train(20)
        self.assert_code_and_sentence(84, "credentials", environment(self.server.url, key=None))
        self.assert_code_and_sentence(84, "InvalidAccessKeyId", environment(self.server.url, key="NOBODY"), "list")
        self.assert_code_and_sentence(84, "SignatureDoesNotMatch", environment(self.server.url, secret="wrong"), "list")

    def test_a_bucket_or_a_server_that_is_not_there(self):
        self.train(20)
        self.assert_refused(82, "NoSuchBucket", "list", "s3://nobodys-bucket/runs/counter")
        self.assert_refused(82, "web servers are for reading", "list", "https://127.0.0.1/runs/counter")
        self.assert_code_and_sentence(84, "failed 6 times within", environment(f"http://127.0.0.1:{take_port()}"), "list")

    # ---- whose objects they are

    def test_what_is_not_of_the_run_stays(self):
        self.train(40)
        self.train(60)  # so that attempt 1 is an older one
        runs = self.folder.parent.name
        pack = "packs/a0001/s0000000999/r0000.safetensors"
        vote = "receipts/a0001/s0000000999/r0000.json"
        for key in (pack, vote):  # left by a writer that died
            self.server.write(f"{runs}/counter/{key}", b"x")
        of_others = [f"{runs}/counter2/{pack}", f"{runs}/counter/mine", f"{runs}/counter/packs/a0001/mine",
                     f"{runs}/counter/packs/a0001/s0000000999/mine", f"{runs}/counter/packs/mine/{pack}", f"{pack}",
                     f"{runs}/counter/manifests/mine.json", f"{runs}/counter/packs/a0003/s0000000999/r0000.safetensors"]
        for key in of_others:
            self.server.write(key, b"x")
        before = self.files()
        planned = self.found("gc", self.place)
        self.assertEqual([(item["kind"], item["step"]) for item in planned["items"]], [("uncommitted", 999)])
        self.assertEqual(self.files(), before, "it only says so")
        self.assertEqual(self.found("gc", self.place, "--delete", "--quarantine")["items"], planned["items"])
        self.assertEqual(before - self.files(), {f"{runs}/counter/{pack}", f"{runs}/counter/{vote}"})
        self.assertEqual(self.found("verify", self.place)["result"], "good")
        gone = before - self.files()
        self.found("gc", self.place, "--delete", "--keep", 1)
        self.assertEqual({key.split("/")[1] for key in before - self.files() - gone}, {"counter"})
        self.assertLessEqual(set(of_others), self.files())
        self.assertEqual([c["step"] for c in self.found("list", self.place)["checkpoints"]], [60])

    def test_a_pin_is_of_one_place(self):
        """A run with a copy in a store: what is pinned at home goes from the store, and the other way round."""
        home = self.scratch / "home"
        self.train_with_copy(home, 40)
        for place, step in ((home / self.run_name, 30), (self.place, 40)):
            done = self.checkpoint("pin", place, "--step", step)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.train_with_copy(home, 80)
        listed = json.loads(self.checkpoint("list", home / self.run_name, "--json").stdout)
        kept = {c["step"] for c in listed["checkpoints"]}
        self.assertLessEqual({80, 70, 30}, kept)  # and one that is still copied when 80 is committed
        self.assertNotIn(40, kept)
        steps = self.steps()
        self.assertIn(40, steps)
        self.assertNotIn(30, steps)

    def train_with_copy(self, home, steps):
        done = subprocess.run([BIN / "counter", "--steps", str(steps), "--save-every", "10", "--keep-last", "2", "--save-folder",
                               home, "--run-name", self.run_name, "--stores", self.above], env=self.env, timeout=180,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_where_only_pins_are_left_they_are_listed_and_can_go(self):
        self.train(40)
        self.found("pin", self.place)
        for path in self.folder.rglob("*"):
            if path.is_file() and "pins" not in path.parts:
                path.unlink()
        listed = self.found("list", self.place)
        self.assertEqual((listed["checkpoints"], [pin["step"] for pin in listed["lone_pins"]]), ([], [40]))
        self.found("unpin", self.place)
        self.assert_refused(82, "is not a run's folder", "list", self.place)

    # ---- while it changes

    def test_a_run_that_writes_meanwhile(self):
        said = open(self.scratch / "said", "w+", encoding="utf-8")
        self.addCleanup(said.close)
        trainer = self.start_gated(200, 15, stdout=subprocess.DEVNULL, stderr=said)
        wait_until(self.let_write, "a save")
        looks = 0
        while trainer.poll() is None:
            self.let_write()
            for words in (("verify",), ("list",), ("gc", "--delete"), ("show",)):
                done = self.checkpoint(words[0], self.place, *words[1:], "--json")
                self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))
            done = self.checkpoint("export", self.place, self.scratch / "live.pt", "--overwrite")
            self.assertEqual(done.returncode, 0, done.stderr)
            looks += 1
        self.assertEqual(trainer.returncode, 0, pathlib.Path(said.name).read_text(encoding="utf-8"))
        self.assertGreater(looks, 4)

    def test_what_is_retired_while_it_is_exported(self):
        self.train(40)
        newest = self.packs()[-1]
        seen = []

        def retire(request):
            if b"/packs/" in request and b"bytes=4096-" in request:  # its data
                seen.append(request)
                for path in (self.folder / "manifests" / "s0000000040.a0001.json", newest):
                    path.unlink(missing_ok=True)
            return [request]

        self.env, _ = self.proxy(meddle=retire)
        self.assertEqual(self.found("export", self.place, self.scratch / "a.pt")["step"], 30)
        self.assertGreater(len(seen), 1)

    # ---- how far it is

    def test_a_terminal_shows_how_far_it_is(self):
        self.train(40)
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)

        def slow(number, reply):
            time.sleep(0.12)  # a bar is drawn ten times a second
            return reply, "keep"

        self.env, _ = self.proxy(slow)
        shown = []
        reader = threading.Thread(target=lambda: shown.extend(self.until_closed(ours)))
        reader.start()
        done = subprocess.run([BIN / "ratoon", "checkpoint", "verify", self.place], env=self.env, stdout=subprocess.PIPE,
                              stderr=theirs, text=True, timeout=180, check=False)
        os.close(theirs)
        reader.join(timeout=180)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        text = b"".join(shown).decode()
        self.assertRegex(text, r"\rverify: \[#+\.*\] \d+ % of ")
        self.assertTrue(text.endswith("\r\x1b[K"), "nothing of it stays")

    @staticmethod
    def until_closed(terminal):
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:  # EIO: all others have closed it
                return
            if not data:
                return
            yield data


if __name__ == "__main__":
    run_tests()
