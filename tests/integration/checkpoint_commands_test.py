"""`ratoon checkpoint` on the folders of real runs: what is printed, exit codes, damage, and a run that writes
meanwhile. That others read what it exports is in tests/torch/exports_read_test.py."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import format_reader
from local_run import BIN, Gate, LocalRun


def checkpoint(*words, env=None):
    return subprocess.run([BIN / "ratoon", "checkpoint", *map(str, words)], capture_output=True, text=True, timeout=180,
                          env=env)


class Commands(unittest.TestCase):
    """`place` is what the commands are given, `folder` where its files are, `env` what all programs here find."""
    env = None
    saved_at = "20[0-9][0-9]-.*Z"

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-checkpoint-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.folder = self.scratch / "checkpoints" / "counter"
        self.run_name, self.place = "counter", str(self.folder)
        self.above, self.of_nothing = str(self.scratch), "there is no such folder"

    def trainer(self, steps, pause_ms=0, program="counter"):
        return [BIN / program, "--steps", str(steps), "--pause-ms", str(pause_ms), "--save-every", "10", "--keep-last", "2",
                "--save-folder", self.place.rsplit("/", 1)[0], "--run-name", self.run_name]

    def start_gated(self, steps, pause_ms, **streams):
        """A trainer that is held at its first save. While it runs, a test lets it write more with let_write()."""
        self.gate = Gate(self.scratch)
        self.gate.let_pass(10)
        trainer = subprocess.Popen(self.trainer(steps, pause_ms, "gated_counter"), **streams,
                                   env={**(self.env or os.environ), **self.gate.environment})
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        return trainer

    def let_write(self):
        """Three saves more, if those before are there. Returns whether one is there at all."""
        newest = max((int(path.name[1:11]) for path in self.folder.glob("manifests/s*.json")), default=0)
        if newest >= self.gate.passing:
            self.gate.let_pass(self.gate.passing + 30)
        return newest > 0

    def train(self, steps):
        subprocess.run(self.trainer(steps), check=True, capture_output=True, timeout=180, env=self.env)

    def checkpoint(self, *words):
        return checkpoint(*words, env=self.env)

    def found(self, *words, code=0):
        done = self.checkpoint(*words, "--json")
        self.assertEqual(done.returncode, code, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["version"], 1)
        self.assertEqual(document["folder"], self.place)
        return document

    def packs(self):
        return sorted(self.folder.glob("packs/*/*/*.safetensors"))

    def flip(self, path):
        damaged = bytearray(path.read_bytes())
        damaged[-1] ^= 1
        path.write_bytes(damaged)

    def assert_refused(self, code, sentence_part, *words):
        done = self.checkpoint(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(sentence_part, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_list_show_and_verify_agree(self):
        self.train(40)
        listed = self.found("list", self.place)
        self.assertEqual([(c["step"], c["state"], c["ranks"]) for c in listed["checkpoints"]],
                         [(40, "complete", 1), (30, "complete", 1)])
        self.assertTrue(all(re.fullmatch(self.saved_at, c["saved_at"]) for c in listed["checkpoints"]), listed)
        shown = self.found("show", self.place, "--step", 30)
        self.assertEqual([t["name"] for t in shown["tensors"]], ["sum"])
        self.assertEqual(shown["digest"], listed["checkpoints"][1]["digest"])
        pack = self.folder / shown["packs"][0]["path"]
        self.assertEqual(pack.stat().st_size, shown["packs"][0]["size_bytes"])
        verified = self.found("verify", self.place)
        self.assertEqual((verified["result"], len(verified["checkpoints"])), ("good", 2))
        for command in ("list", "show", "verify"):
            self.assertIn("40", self.checkpoint(command, self.place).stdout)

    def test_damage_ends_with_the_codes_that_are_promised(self):
        self.train(40)
        old, new = self.packs()
        self.flip(new)
        self.assertEqual(self.found("verify", self.place, code=1)["result"], "some bad")
        self.assertEqual(self.found("verify", self.place, "--step", 30)["result"], "good")
        self.assertEqual(self.found("verify", self.place, "--newest", code=83)["result"], "none good")
        self.assert_refused(83, "r0000.safetensors: bytes 4096 to 4104", "export", self.place, self.scratch / "a.pt")
        self.assert_refused(83, "nothing is removed", "gc", self.place, "--keep", 1, "--delete")
        self.assertEqual(list(self.scratch.glob("*.pt")) + list(self.scratch.glob(".*")), [])
        old.unlink()
        self.assertEqual(self.found("verify", self.place, code=83)["result"], "none good")

    def test_mistakes_are_one_sentence(self):
        self.train(20)
        self.assert_refused(82, "give <save folder>/<run name>, such as " + self.place, "list", self.above)
        self.assert_refused(82, "there are: step 20 of attempt 1", "show", self.place, "--step", 7)
        self.assert_refused(82, "there is no rank 4", "show", self.place, "--rank", 4)
        self.assert_refused(82, "no tensor has that name", "export", self.place, self.scratch / "a.pt", "--tensors", "x")
        self.assert_refused(82, "let it end with", "export", self.place, self.scratch / "a.bin")
        self.assert_refused(82, "unknown placeholder {loss}", "export", self.place, self.scratch / "{loss}.pt")
        named = self.found("export", self.place, self.scratch / "{run_name}-ba{batch}.pt")
        target = self.scratch / f"{self.run_name}-ba{named['step']}.pt"
        self.assertEqual((named["file"], target.exists()), (str(target), True))
        self.assert_refused(82, "create the folder first", "export", self.place, self.scratch / "missing" / "a.pt")
        (self.scratch / "a.pt").write_text("mine")
        self.assert_refused(82, "pass --overwrite to replace it", "export", self.place, self.scratch / "a.pt")
        self.assertEqual((self.scratch / "a.pt").read_text(), "mine")
        self.assertEqual(self.checkpoint("export", self.place, self.scratch / "a.pt", "--overwrite").returncode, 0)
        self.assert_refused(82, self.of_nothing, "list", self.above + "/missing")
        self.assertEqual(self.checkpoint("nonsense").returncode, 82)
        for command in ("list", "show", "verify", "export", "gc", "pin", "unpin"):
            self.assertIn("Examples:", self.checkpoint(command, "--help").stdout)

    def test_an_export_never_replaces_what_a_run_made_nor_what_is_no_file(self):
        self.train(20)
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.assertTrue(self.packs())
        for name in [*self.packs(), *self.folder.glob("manifests/*"), self.folder / "lock", self.folder / "pins"]:
            self.assert_refused(82, "is in a folder where a run keeps its checkpoints", "export", self.place, name, "--overwrite",
                                "--format", "safetensors")
        self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}, before)
        os.mkfifo(self.scratch / "pipe.pt")
        self.assert_refused(82, "is not a file, but a pipe", "export", self.place, self.scratch / "pipe.pt", "--overwrite")
        self.assertTrue((self.scratch / "pipe.pt").is_fifo())
        (self.scratch / "link.pt").symlink_to("pipe.pt")
        self.assert_refused(82, "is not a file, but a pipe", "export", self.place, self.scratch / "link.pt", "--overwrite")
        self.assertTrue((self.scratch / "link.pt").is_symlink())

    def test_gc_says_first_and_removes_when_told(self):
        self.train(40)
        self.flip(self.packs()[-1])
        self.train(60)  # sets the bad one aside and goes on from 30
        for i in range(2):
            planned = self.found("gc", self.place, "--quarantine", "--keep", 1)
            self.assertFalse(planned["deleted"])
        self.assertEqual({item["kind"] for item in planned["items"]}, {"quarantined", "retired"})
        removed = self.found("gc", self.place, "--quarantine", "--keep", 1, "--delete")
        self.assertEqual(removed["items"], planned["items"])
        self.assertEqual([c["step"] for c in self.found("list", self.place)["checkpoints"]], [60])
        self.assertEqual(len(self.packs()), 1)
        self.assertEqual(list(self.folder.glob("quarantine/*")), [])

    # ---- pins

    def steps(self):
        return [c["step"] for c in self.found("list", self.place)["checkpoints"]]

    def test_what_is_pinned_stays_until_it_is_unpinned(self):
        self.train(40)
        pinned = self.found("pin", self.place, "--step", 30, "--why", "best accuracy")
        self.assertEqual((pinned["step"], pinned["attempt"], pinned["is_new"]), (30, 1, True))
        again = self.checkpoint("pin", self.place, "--step", 30, "--why", "another")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("was pinned before", again.stdout)
        self.assertIn("the first reason is kept: best accuracy\n", again.stdout)
        self.train(80)
        self.assertEqual(self.steps(), [80, 70, 30], "the run's retention keeps it")
        self.assertEqual([item["step"] for item in self.found("gc", self.place, "--keep", 1, "--delete")["items"]], [70])
        self.assertEqual(self.steps(), [80, 30])
        unpinned = self.found("unpin", self.place)
        self.assertEqual((unpinned["step"], unpinned["pinned_why"]), (30, "best accuracy"))
        self.found("gc", self.place, "--keep", 1, "--delete")
        self.assertEqual(self.steps(), [80])

    def test_without_a_step_it_is_the_newest_and_says_so(self):
        self.train(40)
        done = self.checkpoint("pin", self.place)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = f"{self.place}/pins/s0000000040.a0001.json"
        self.assertEqual(done.stdout, f"pinned step 40 of attempt 1 with {file}: pinned by hand\n")
        listed = self.found("list", self.place)["checkpoints"]
        self.assertEqual([(c["pinned"], c.get("pinned_why")) for c in listed], [(True, "pinned by hand"), (False, None)])
        shown = self.found("show", self.place)
        self.assertEqual((shown["pinned"], shown["pinned_why"]), (True, "pinned by hand"))
        self.assertEqual(self.found("show", self.place, "--step", 30)["pinned"], False)
        self.assertIn("\npinned: pinned by hand\n", self.checkpoint("show", self.place).stdout)
        table = self.checkpoint("list", self.place).stdout
        self.assertRegex(table, r"\n40 +1 +complete, pinned ")
        self.assertRegex(table, r"\n30 +1 +complete  ")
        self.assertIn("\nstep 40 of attempt 1 is pinned: pinned by hand\n", table)

    def test_what_cannot_be_pinned_or_unpinned_is_one_sentence(self):
        self.train(40)
        self.assert_refused(82, "there are: step 40 of attempt 1, step 30 of attempt 1", "pin", self.place, "--step", 7)
        self.assert_refused(82, "no checkpoint is pinned here", "unpin", self.place)
        for why in ("two\nlines", "\x1b[2J", "", "x" * 257):
            self.assert_refused(82, "--why", "pin", self.place, "--why", why)
        self.assert_refused(82, "no checkpoint is pinned here", "unpin", self.place, "--step", 40)
        for step in (30, 40):
            self.found("pin", self.place, "--step", step)
        self.assert_refused(82, "several checkpoints are pinned; choose one with --step and --attempt: step 40 of attempt 1, "
                            "step 30 of attempt 1", "unpin", self.place)
        self.assert_refused(82, "pinned checkpoints are: step 40 of attempt 1, step 30 of attempt 1", "unpin", self.place,
                            "--step", 7)
        self.found("unpin", self.place, "--step", 40)
        self.packs()[-1].unlink()
        self.assert_refused(83, "step 40 of attempt 1 is damaged", "pin", self.place, "--step", 40)
        self.assertEqual(self.found("pin", self.place)["step"], 30, "the newest that is complete")

    def test_a_pin_outlives_its_checkpoint_and_what_it_says_moves_no_cursor(self):
        self.train(40)
        for step in (30, 40):
            self.found("pin", self.place, "--step", step)
        for text in (b"\x1b[2J\x1b]0;x\x07\xc2\x9b\xff\n" * 1000, b"a\xc2\x9bb\x00\nc"):
            for pin in self.folder.glob("pins/*.json"):
                pin.write_bytes(text)
            for path in (*self.folder.glob("manifests/s0000000030.*"), *self.packs()[:-1]):
                path.unlink()
            listed = self.found("list", self.place)
            self.assertEqual([(pin["step"], pin["attempt"]) for pin in listed["lone_pins"]], [(30, 1)])
            for why in (listed["lone_pins"][0]["pinned_why"], listed["checkpoints"][0]["pinned_why"]):
                self.assertRegex(why, r"\A[ -~]{4,256}\Z")
            for command in ("list", "show", "pin"):
                self.assertRegex(self.checkpoint(command, self.place).stdout, r"\A[ -~\n]+\Z", command)
        self.assertIn("step 30 of attempt 1 is pinned, but the checkpoint does not exist: a?b??c\n",
                      self.checkpoint("list", self.place).stdout)
        unpinned = self.checkpoint("unpin", self.place, "--step", 30)
        self.assertEqual((unpinned.returncode, unpinned.stderr), (0, ""))
        self.assertEqual(unpinned.stdout, "step 30 of attempt 1 is no longer pinned; the reason was: a?b??c\n")
        self.assertEqual(self.found("list", self.place)["lone_pins"], [])

    def test_what_is_called_pinned_while_a_run_trains_is_there_at_its_end(self):
        trainer = self.start_gated(300, 3, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted, refused = set(), 0
        while trainer.poll() is None:
            self.let_write()
            seen = [path.name for path in self.folder.glob("manifests/s*.json")]
            if not seen:
                continue
            oldest = int(min(seen)[1:11])  # which goes with the next save
            done = self.checkpoint("pin", self.place, "--step", oldest)
            self.assertIn(done.returncode, (0, 82), done.stderr)
            if done.returncode == 0:
                wanted.add(oldest)
            else:
                refused += 1
            done = self.checkpoint("pin", self.place)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted.add(int(re.match("(?:pinned )?step ([0-9]+)", done.stdout).group(1)))
        self.assertEqual(trainer.returncode, 0)
        listed = self.found("list", self.place)
        pinned = {c["step"] for c in listed["checkpoints"] if c["pinned"]}
        self.assertEqual((pinned, listed["lone_pins"]), (wanted, []), refused)
        # The trainer is held ten times. Of two looks in a row both may see the last save before the same hold.
        self.assertGreater(len(wanted), 4)
        self.assertEqual(self.found("verify", self.place)["result"], "good")

    def test_what_is_written_in_files_moves_no_cursor(self):
        self.train(40)
        self.flip(self.packs()[-1])
        self.train(60)  # sets the bad one aside
        words = "red \x1b[31m\x9b2J\x07\rratoon: all is well\nstep 9: good"
        reason, = self.folder.glob("quarantine/*.reason.txt")
        reason.write_text(words, encoding="utf-8", newline="")
        newest = max(self.folder.glob("manifests/*.json"))
        body, _ = newest.read_bytes().rsplit(b"crc32c:", 1)
        body = (json.dumps({**json.loads(body), "writer": words}) + "\n").encode()
        newest.write_bytes(body + f"crc32c:{format_reader.crc32c(body)}\n".encode())
        for command in ("list", "show", "verify"):
            done = self.checkpoint(command, self.place)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("red ?[31m?2J??ratoon: all is well?step 9: good", done.stdout)
            self.assertNotRegex(done.stdout, "[\x00-\x09\x0b-\x1f\x7f-\x9f]|(?m:^step 9|^ratoon)")
        self.assertEqual([c["why"] for c in self.found("list", self.place)["checkpoints"] if "why" in c], [words])
        self.assertEqual([c["why"] for c in self.found("verify", self.place)["checkpoints"] if "why" in c], [words])
        self.assertEqual(self.found("show", self.place)["writer"], words)
        only = next(c for c in self.found("list", self.place)["checkpoints"] if "why" in c)
        done = self.checkpoint("show", self.place, "--step", only["step"], "--attempt", only["attempt"])
        self.assertEqual((done.returncode, done.stderr.count("\n")), (83, 1), done.stderr)
        self.assertNotRegex(done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class WhileARunWrites(unittest.TestCase):
    def test_nothing_is_disturbed_and_nothing_is_found_bad(self):
        run = LocalRun(held_at=10)
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(10)
        folder = next(run.folder.glob("checkpoints/*"))
        for steps in range(50, 200, 50):
            run.let_pass(steps)  # it writes while it is looked at
            for words in (("verify",), ("list",), ("gc", "--delete"), ("show",)):
                done = checkpoint(words[0], folder, *words[1:], "--json")
                self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))
            target = run.root / "live.safetensors"
            done = checkpoint("export", folder, target, "--rank", 1, "--overwrite")
            self.assertEqual(done.returncode, 0, done.stderr)
            run.wait_for_commit(steps)
        run.let_pass(200)
        code, output = run.finish()
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
