"""A run whose checkpoints are in a folder and in a real S3 server: what is lost here comes from there, with exactly the next
sample; another job is kept out; and a store that does not answer keeps nobody from training who has begun."""

import glob
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from local_run import Gate
from ports import take_port
from s3_server import S3Test, environment, probe, run_tests

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "places_probe"
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"


def wait_until(condition, what, seconds=180):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


def total(steps):
    return steps * (steps - 1) // 2


class Places(S3Test):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-places-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.gate = Gate(self.home)
        self.gate.let_pass(10**9)
        self.name = self.id().rsplit(".", 1)[1]
        self.stored = self.server.bucket / "runs" / self.name

    def words(self, steps, *more, pause=0, attempts=8, folder="runs"):
        return [PROBE, str(steps), str(pause), str(attempts), "--save-folder", self.home / folder, "--run-name",
                self.name, *map(str, more)]

    def start(self, *arguments, env=None, **options):
        process = subprocess.Popen(self.words(*arguments, **options), env=(env or self.own) | self.gate.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def train(self, *arguments, env=None, code=0, **options):
        done = subprocess.run(self.words(*arguments, **options), env=(env or self.own) | self.gate.environment, text=True,
                              capture_output=True, timeout=180, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.splitlines(), done.stderr

    def manifests(self, place=None):
        folder = (place or self.stored) / "manifests"
        return sorted(path.name for path in folder.glob("s*.json")) if folder.is_dir() else []

    STORE = ("--stores", "s3://data/runs")

    def test_a_run_whose_folder_is_lost_goes_on_from_the_store(self):
        unbroken = self.train(60, folder="unbroken")[0][-1]
        self.gate.let_pass(35)
        running = self.start(60, *self.STORE)
        wait_until(lambda: "s0000000030.a0001.json" in self.manifests(), "step 30 in the store")
        running.send_signal(signal.SIGKILL)
        running.communicate()
        self.gate.let_pass(60)
        shutil.rmtree(self.home / "runs")
        lines, _ = self.train(60, *self.STORE)
        self.assertTrue(lines[0].startswith(f"attempt 2 begins at sample 30 sum {total(30)} "), lines)
        self.assertEqual(lines[-1], unbroken)
        self.assertIn("s0000000060.a0002.json", self.manifests(), "the end waits for the store")
        self.assertIn(b'"step": 60', (self.stored / "latest-rank0").read_bytes())
        self.assertEqual((self.home / "runs" / self.name / "latest-rank0").readlink(),
                         pathlib.Path("packs/a0002/s0000000060/r0000.safetensors"))

    def only(self, steps, *more, cwd=None, **options):
        """A run that has nothing but a bucket; `cwd` is all of the disk that it could write to."""
        return subprocess.Popen(
            [PROBE, str(steps), str(options.get("pause", 0)), "8", "--save-folder", "s3://data/runs", "--run-name", self.name,
             *map(str, more)],
            env=self.own | self.gate.environment | {"TMPDIR": str(cwd or self.home), "HOME": str(cwd or self.home)},
            cwd=cwd or self.home, text=True, stdout=subprocess.PIPE, stderr=options.get("stderr", subprocess.PIPE))

    def only_trains(self, *arguments, code=0, **options):
        process = self.only(*arguments, **options)
        out, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, out + said)
        return out.splitlines(), said

    def test_a_run_whose_only_home_is_a_store(self):
        unbroken = self.train(60, folder="unbroken")[0][-1]
        disks = [self.home / "disk-1", self.home / "disk-2"]
        for disk in disks:
            disk.mkdir()
        self.gate.let_pass(35)
        running = self.only(60, cwd=disks[0])
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        wait_until(lambda: "s0000000030.a0001.json" in self.manifests(), "step 30 in the store")
        _, said = self.only_trains(60, code=82)
        self.assertIn(f"another process trains in s3://data/runs/{self.name}: wait for it", said)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        self.gate.let_pass(60)
        lines, said = self.only_trains(60, cwd=disks[1])
        self.assertTrue(lines[0].startswith(f"attempt 2 begins at sample 30 sum {total(30)} "), lines)
        self.assertEqual(lines[-1], unbroken)
        self.assertEqual([sorted(disk.rglob("*")) for disk in disks], [[], []], "no file of it is on any disk")
        self.assertEqual(self.manifests()[-1], "s0000000060.a0002.json")
        self.assertLessEqual(len(self.manifests()), 3, "the last three are kept")
        self.assertIn(b'"step": 60', (self.stored / "latest-rank0").read_bytes())
        self.gate.let_pass(70)
        lines, _ = self.only_trains(70, "--overwrite", "true")
        self.assertTrue(lines[0].startswith("attempt 3 begins at sample 0 sum 0 "), lines)
        self.assertIn("s0000000060.a0002.json", os.listdir(self.stored / "aside"))

    def test_a_store_whose_manifests_are_gone_is_not_begun_anew(self):
        """As its only home, and as the place of the copies of a folder that is lost."""
        self.only_trains(60)
        os.rename(self.stored / "manifests", self.home / "kept")
        shutil.rmtree(self.home / "runs", ignore_errors=True)
        for train in (self.only_trains, lambda steps, code: self.train(steps, *self.STORE, code=code)):
            lines, said = train(70, code=83)
            self.assertEqual(lines, [], "no step is made")
            run = f"s3://data/runs/{self.name}"
            self.assertIn(f"{run}/packs has packs of checkpoints that were committed, but there is no manifest in "
                          f"{run}/manifests", said)
            self.assertIn("bring the manifests back, or move", said)
        os.rename(self.home / "kept", self.stored / "manifests")
        lines, _ = self.only_trains(70)
        self.assertTrue(lines[0].startswith(f"attempt 2 begins at sample 60 sum {total(60)} "), lines)

    def test_a_folder_without_manifests_does_not_lose_steps_to_an_older_copy(self):
        self.train(50, *self.STORE)
        self.train(60, *self.STORE)
        home = self.home / "runs" / self.name
        os.rename(home / "manifests", self.home / "kept")
        newest = self.stored / "manifests/s0000000060.a0002.json"
        kept = newest.read_bytes()
        newest.unlink()
        lines, said = self.train(70, *self.STORE, code=83)
        self.assertEqual(lines, [], "no step is made")
        self.assertIn(f"{home}/latest-rank0 leads to a checkpoint, but there is no manifest of it", said)
        self.assertIn("to go on from step 50, the newest checkpoint of the run's other locations", said)
        newest.write_bytes(kept)
        shutil.rmtree(home / "manifests", ignore_errors=True)
        lines, _ = self.train(70, *self.STORE)
        self.assertTrue(lines[0].startswith(f"attempt 3 begins at sample 60 sum {total(60)} "), lines)

    def test_a_damaged_record_of_a_rollback_in_the_only_home_is_said_with_the_way_on(self):
        self.only_trains(60)
        self.only_trains(70, "--resume-from", "40")
        record = self.stored / "rollbacks/a0002.json"
        text = bytearray(record.read_bytes())
        text[len(text) // 2] ^= 1
        record.write_bytes(text)
        lines, said = self.only_trains(80, code=83)
        self.assertEqual(lines, [], "no step is made")
        self.assertIn(f"s3://data/runs/{self.name}/rollbacks/a0002.json", said)
        self.assertIn("If no place has a record of this rollback, the run resumes from the newest checkpoint in manifests/",
                      said)
        record.unlink()
        lines, _ = self.only_trains(80)
        self.assertTrue(lines[0].startswith(f"attempt 3 begins at sample 70 sum {total(70)} "), lines)

    def test_names_that_change_follow_what_is_kept_where_a_store_is_the_only_home(self):
        self.only_trains(60, "--latest-name", "at/ba{batch}")
        self.assertEqual(sorted(os.listdir(self.stored / "at")), ["ba40", "ba50", "ba60"])

    def open_uploads(self):
        """What the server keeps of uploads that were begun and not ended."""
        # Unlike Path.glob(), glob.glob() passes over a folder that is removed meanwhile.
        return len(glob.glob(f"{self.server.bucket}/.sgwtmp/multipart/*/*/"))

    def leave_upload(self, key):
        """As one who dies does: nobody heard its number."""
        lost = []

        def lose(request):
            is_begin = b"uploads=" in request.split(b"\r\n", 1)[0]
            if not is_begin or lost:
                return [request]
            lost.append(True)
            return [request], lambda _: (b"", "cut")

        losing, _ = self.proxy(meddle=lose)
        source = self.home / "sent"
        source.write_bytes(b"x" * (6 << 20))
        for words, env in ((("upload", "s3://data/runs", key, source, "part=5242880"), losing),
                           (("remove", "s3://data/runs", key), self.own)):
            self.assertEqual(probe(env, *words, timeout=120)[0], 0)

    def test_what_a_dead_process_was_sending_is_aborted_and_nothing_else(self):
        pack = "s0000000990/r0000.safetensors"
        of_others = (f"{self.name}-2/packs/a0001/{pack}", f"{self.name}/mine")
        for key in of_others:
            self.leave_upload(key)
        for attempt, left, remain, more in ((1, (), 2, ()), (2, (1, 3), 3, ()), (3, (2,), 3, ()), (4, (), 2, self.MORE)):
            for number in left:
                self.leave_upload(f"{self.name}/packs/a{number:04}/{pack}")
            said = self.home / f"said-{attempt}"
            with open(said, "w") as errors:
                running = self.only(100_000, *more, pause=20, stderr=errors)
            self.addCleanup(running.wait)
            self.addCleanup(running.kill)
            wait_until(lambda: any(f".a{attempt:04}." in name for name in self.manifests()), "a save")
            wait_until(lambda: self.open_uploads() == remain, f"{remain} uploads, and there are {self.open_uploads()}")
            if attempt == 2:
                sentence = "aborted 1 upload of an older attempt that did not finish, in s3://data/runs/" + self.name
                wait_until(lambda path=said, told=sentence: told in path.read_text(), "the news of it at the next step")
            running.send_signal(signal.SIGKILL)
            running.communicate()
        self.assertEqual(self.open_uploads(), len(of_others), "another run's, and what is no pack, stay")
        for key in of_others:
            self.assertEqual(probe(self.own, "tidy", "s3://data/runs", key, 0)[0], 0)
        self.assertEqual(self.open_uploads(), 0)

    MORE = ("--stores", "s3://data/more")

    def test_a_damaged_copy_at_home_costs_no_step(self):
        self.train(20, *self.STORE)
        pack = next((self.home / "runs" / self.name).glob("packs/a0001/s0000000020/*.safetensors"))
        data = bytearray(pack.read_bytes())
        data[-1] ^= 1
        pack.write_bytes(data)
        lines, said = self.train(30, *self.STORE)
        self.assertTrue(lines[0].startswith("attempt 2 begins at sample 20 "), lines)
        self.assertIn("the checkpoint of step 20 is read from s3://data/runs/", said)
        aside = self.home / "runs" / self.name / "quarantine"
        self.assertTrue((aside / "s0000000020.a0001.json.reason.txt").is_file(), "the bad copy is set aside")

    def test_nothing_stays_at_home_that_is_in_the_store(self):
        self.train(60, *self.STORE, "--keep-last", 0, "--keep-last-in-stores", 3)
        self.assertEqual(self.manifests()[-1], "s0000000060.a0001.json")
        self.assertLessEqual(len(self.manifests()), 3)
        lines, _ = self.train(70, *self.STORE, "--keep-last", 0)
        self.assertTrue(lines[0].startswith("attempt 2 begins at sample 60 "), lines)
        wait_until(lambda: self.manifests(self.home / "runs" / self.name) == [], "an empty home")

    def test_weights_of_another_run(self):
        source = self.train(20, "--stores", "s3://data/pretrained")[0][-1].split()[-1]
        mine = ("--load-from", f"s3://data/pretrained/{self.name}")
        lines, said = self.train(15, *mine, folder="mine")
        self.assertEqual(lines[0], f"attempt 1 begins at sample 0 sum 0 w {source}", "the weights and nothing else")
        self.assertIn(f"begins with the weights of s3://data/pretrained/{self.name}/manifests/s0000000020.a0001.json", said)
        lines, said = self.train(25, *mine, folder="mine")
        self.assertIn("attempt 2 begins at sample 15 sum 105 ", lines[0], "its own checkpoint outweighs it")
        self.assertNotIn("begins with the weights of", said)
        _, said = self.train(5, "--load-from", "s3://data/pretrained/nobody", folder="other", code=82)
        self.assertIn("--load-from s3://data/pretrained/nobody) cannot be loaded: ", said)

    def test_fine_tuning_that_is_killed_goes_on_with_its_own_weights(self):
        self.train(20, "--stores", "s3://data/pretrained")
        pretrained = self.server.bucket / "pretrained" / self.name
        mine = ("--load-from", f"s3://data/pretrained/{self.name}", *self.STORE)
        unbroken = self.train(600, *mine[:2], folder="unbroken")[0][-1]
        running = self.start(600, *mine, pause=20, folder="mine")
        wait_until(self.manifests, "a copy in the store")
        running.send_signal(signal.SIGKILL)
        out, _ = running.communicate()
        self.assertIn("attempt 1 begins at sample 0 sum 0 ", out)
        shutil.rmtree(self.home / "mine")  # the machine is gone, and so is what it began with
        shutil.rmtree(pretrained)
        lines, said = self.train(600, *mine, folder="mine")
        self.assertRegex(lines[0], "^attempt 2 begins at sample [1-9][0-9]*0 ")
        self.assertEqual(lines[-1], unbroken)
        self.assertNotIn("pretrained", said)

    def test_beginning_anew_deletes_nothing(self):
        self.train(30, *self.STORE)
        lines, said = self.train(20, *self.STORE, "--overwrite", "true")
        self.assertTrue(lines[0].startswith("attempt 2 begins at sample 0 sum 0 "), lines)
        self.assertIn("begins again at step 0 (--overwrite)", said)
        for place in (self.stored, self.home / "runs" / self.name):
            self.assertEqual({name.split(".")[1] for name in self.manifests(place)}, {"a0002"})
            self.assertIn("s0000000030.a0001.json", os.listdir(place / "aside"))
            self.assertTrue((place / "packs/a0001/s0000000030/r0000.safetensors").is_file())
        self.assertTrue(self.train(40, *self.STORE)[0][0].startswith("attempt 3 begins at sample 20 "))

    def test_two_jobs_in_one_place(self):
        first = self.start(100_000, *self.STORE, pause=20)
        wait_until(lambda: self.manifests(), "the first job to save")
        _, said = self.train(10, *self.STORE, "--overwrite", "true", folder="elsewhere", code=82)
        complaints = [line for line in said.splitlines() if "is alive: end it, or give this run another name" in line]
        self.assertEqual(len(complaints), 1, said)
        self.assertIn(f"the job {self.home}/runs/{self.name} on ", complaints[0])
        self.assertFalse((self.home / "elsewhere" / self.name / "packs").exists(), "it has not begun")
        self.assertIsNone(first.poll(), "the first is not disturbed")
        self.assertFalse((self.stored / "aside").exists(), "its checkpoints least of all")

    def test_a_store_that_cannot_be_asked_at_the_start(self):
        env = environment(f"http://127.0.0.1:{take_port()}")
        lines, said = self.train(10, *self.STORE, env=env, attempts=1, code=84)
        self.assertEqual(lines, [], "no step is made")
        self.assertEqual(said.count("ratoon: "), 1, said)

    def test_a_bucket_that_is_not_there_is_no_empty_run(self):
        for words in (("--stores", "s3://nobodys-bucket/runs"), ("--save-folder", "s3://nobodys-bucket/runs")):
            lines, said = self.train(10, *words, code=82)
            self.assertEqual(lines, [], "no step is made")
            self.assertRegex(said, "^ratoon: listing s3://nobodys-bucket/runs/[^\n]* 404 NoSuchBucket [^\n]*check the bucket")
            self.assertEqual(said.count("ratoon: "), 1, said)

    def test_without_credentials_nothing_begins(self):
        env = environment(self.server.url, key=None)
        for words in (self.STORE, ("--save-folder", "s3://data/runs")):
            lines, said = self.train(10, *words, env=env, code=84)
            self.assertEqual(lines, [], "no step is made")
            self.assertIn("credentials", said)
            self.assertEqual(said.count("ratoon: "), 1, said)

    def test_a_store_that_goes_away_during_training(self):
        away = []
        env, _ = self.proxy(meddle=lambda request: ([], lambda _: (BUSY, "keep")) if away else [request])
        self.gate.let_pass(30)
        # So long the end waits for the store, and any write to the folder may take.
        running = self.start(60, *self.STORE, "--disk-timeout", 10, pause=20, attempts=1, env=env)
        wait_until(lambda: self.manifests(), "a first copy")
        away.append(True)
        self.gate.let_pass(60)
        out, said = running.communicate(timeout=180)
        self.assertEqual(running.returncode, 0, said)
        self.assertIn(f"done sum {total(60)} ", out)
        self.assertIn("could not be copied to s3://data/runs/", said)
        self.assertEqual(said.count("could not be copied"), 1, "each line once")
        self.assertRegex(said, "the checkpoint of step 60 is not in s3://data/runs/[^ ]* after \\d+ s")
        # Nothing to train, and the copy is made up for.
        self.train(60, *self.STORE)
        self.assertEqual(self.manifests()[-1], "s0000000060.a0001.json")


if __name__ == "__main__":
    run_tests()
