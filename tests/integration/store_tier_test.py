"""A run's checkpoints in a real S3 server: mirrored from a folder or saved there with no folder at all, over connections that
break, answers that are lost, requests that come twice, refusals that pass, and processes that are killed at every request.
What another process, which has nothing but the store, then finds is the checkpoint, whole, or none."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading

from s3_server import PROBE as STORE_PROBE, S3Test, environment, probe, run_tests

PROBE = STORE_PROBE.with_name("tier_probe")
MIB = 1 << 20
RANKS, BYTES = 2, 5 * MIB + 64_000  # two parts of the first rank's pack, one request for the other's
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"


def refused(status, code):
    body = f"<Error><Code>{code}</Code><Message>Scripted.</Message></Error>".encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def commit_among(requests):
    """The number of the one that writes the manifest."""
    return next(number for number, line in enumerate(requests, 1) if line.startswith("PUT ") and "/manifests/" in line)


class StoreTier(S3Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-tier-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.local = cls.home / "run"
        cls.seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={cls.seed}", flush=True)
        code, lines = probe(cls.own, "save", cls.local, 1, 20, RANKS, BYTES, program=PROBE)
        assert code == 0, lines
        cls.digest = lines[0].split()[-1]

    def setUp(self):
        self.rounds = 0
        self.fresh()

    def fresh(self):
        """Another run: what a server remembers of objects is more than their files."""
        self.rounds += 1
        self.stored = self.server.bucket / f"{self.id().rsplit('.', 1)[1]}-{self.rounds}"
        self.run_uri = f"s3://data/{self.stored.name}"

    def tell(self, *arguments, env=None, fails=False):
        code, lines = probe(env or self.own, *arguments, program=PROBE)
        self.assertEqual(code, 1 if fails else 0, lines)
        return lines

    def mirror(self, env=None, fails=False, threads=1, step=20):
        return self.tell("mirror", self.local, 1, step, self.run_uri, threads, env=env, fails=fails)[0]

    def load(self, *stores, folder="-", env=None):
        return self.tell("load", folder, *(stores or (self.run_uri,)), env=env)

    def assert_loads(self, step=20, ranks=RANKS):
        self.assertEqual([line.split(" from ")[0] for line in self.load()],
                         [f"loaded 1/{step} rank {rank}" for rank in range(ranks)])

    def remove(self, key):
        self.assertEqual(probe(self.own, "remove", self.run_uri, key), (0, ["done"]))

    def watching_proxy(self, meddle=None, cut_body=None):
        """The environment of a probe that goes through it, and the requests that it has seen. `meddle(number, request)`;
        numbers count from 1 in the order of arrival."""
        lock, seen = threading.Lock(), []

        def count(request):
            with lock:
                seen.append(request.split(b"\r\n", 1)[0].decode())
                number = len(seen)
            return meddle(number, request) if meddle else [request]

        env, _ = self.proxy(meddle=count, cut_body=cut_body)
        return env, seen

    def requests_of_a_mirror(self):
        env, seen = self.watching_proxy()
        self.mirror(env=env)
        self.fresh()
        return seen

    # ---- well

    def test_another_machine_reads_it_back(self):
        self.assertEqual(self.load(), ["nothing was ever saved"])
        self.assertEqual(self.mirror(threads=4), f"mirrored {self.digest} sent {RANKS} there 0")
        self.assert_loads()
        self.assertEqual(self.tell("list", "-", self.run_uri), ["1/20 in 0", "newest attempt 1"])
        for name in ("manifests/s0000000020.a0001.json", "packs/a0001/s0000000020/r0001.safetensors"):
            self.assertEqual((self.stored / name).read_bytes(), (self.local / name).read_bytes(), "the same bytes")
        self.assertEqual(self.mirror(), f"mirrored {self.digest} sent 0 there 0 committed before")

    def test_the_manifest_comes_last(self):
        seen = self.requests_of_a_mirror()
        commit = commit_among(seen)
        self.assertRegex(seen[commit - 1], "^PUT /data/[^ ]*/manifests/s0000000020.a0001.json")
        self.assertTrue(all("/packs/" in line or line.startswith(("HEAD", "GET")) for line in seen[:commit - 1]), seen)
        self.assertTrue(all(" /data/" in line and "/packs/committed.a0001 " in line for line in seen[commit:]), seen)

    # ---- each request of a mirror meets each fault, once

    def for_each_request(self, meddle):
        count = len(self.requests_of_a_mirror())
        self.assertGreater(count, 7)
        for number in range(1, count + 1):
            with self.subTest(request=number):
                env, seen = self.watching_proxy(
                    lambda at, request, number=number: meddle(request) if at == number else [request])
                self.assertRegex(self.mirror(env=env), f"^mirrored {self.digest} ")
                self.assertGreaterEqual(len(seen), number)
                self.assert_loads()
                self.fresh()

    def test_success_with_lost_reply(self):
        self.for_each_request(lambda request: ([request], lambda reply: (b"", "cut")))

    def test_reply_cut_in_the_middle(self):
        self.for_each_request(lambda request: ([request], lambda reply: (reply[:len(reply) // 2], "cut")))

    def test_duplicate_delivery(self):
        self.for_each_request(lambda request: [request, request])

    def test_503(self):
        self.for_each_request(lambda request: ([], lambda _: (BUSY, "keep")))

    def test_connections_cut_in_the_body(self):
        chance = random.Random(self.seed)
        for _ in range(6):
            lock, left = threading.Lock(), [2]

            def cut(head, lock=lock, left=left):
                with lock:
                    if not head.startswith(b"PUT") or left[0] == 0 or chance.random() < 0.4:
                        return None
                    left[0] -= 1
                    return len(head) + chance.randrange(70_000)

            env, _ = self.watching_proxy(cut_body=cut)
            self.assertRegex(self.mirror(env=env, threads=2), f"^mirrored {self.digest} ")
            self.assert_loads()
            self.fresh()

    def test_409_and_412(self):
        conflict = refused(409, "ConditionalRequestConflict")
        for what in (b"POST", b"manifests/"):
            done = []

            def meddle(_, request, what=what, done=done):
                line = request.split(b"\r\n", 1)[0]
                is_it = what in line and b"uploads=" not in line and not line.startswith((b"HEAD", b"GET"))
                if done or not is_it:
                    return [request]
                done.append(line)
                return [], lambda _: (conflict, "keep")

            env, _ = self.watching_proxy(meddle)
            self.mirror(env=env)
            self.assertTrue(done)
            self.assert_loads()
            self.fresh()
        # The manifest is there: another process was faster. It is the same one, so that is success.
        def other_was_faster(_, request):
            if request.startswith(b"PUT") and b"/manifests/" in request.split(b"\r\n", 1)[0]:
                path = self.stored / "manifests/s0000000020.a0001.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.local / "manifests/s0000000020.a0001.json", path)
            return [request]

        env, _ = self.watching_proxy(other_was_faster)
        self.assertRegex(self.mirror(env=env), f"^mirrored {self.digest} sent {RANKS}")
        self.assert_loads()

    # ---- killed at every request, before and after the server got it

    @staticmethod
    def moments(count):
        """What the store has seen is the same before a request arrives and after the one before it."""
        return [(1, False)] + [(number, True) for number in range(1, count + 1)]

    def killed_at(self, number, reaches_server, *command):
        process = []
        started = threading.Event()

        def meddle(at, request):
            if at < number:
                return [request]
            started.wait()
            if reaches_server and at == number:
                def kill(reply):
                    process[0].send_signal(signal.SIGKILL)
                    return b"", "cut"
                return [request], kill
            process[0].send_signal(signal.SIGKILL)
            return []

        env, seen = self.watching_proxy(meddle)
        process.append(subprocess.Popen([PROBE, *map(str, command)], env=env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL))
        started.set()
        code = process[0].wait(timeout=180)
        self.assertIn(code, (0, -signal.SIGKILL))
        return code

    def test_a_mirror_that_is_killed_at_each_request(self):
        seen = self.requests_of_a_mirror()
        commit = (commit_among(seen), True)
        states = set()
        for number, reaches in self.moments(len(seen)):
            with self.subTest(request=number, reaches=reaches):
                self.assertEqual(self.killed_at(number, reaches, "mirror", self.local, 1, 20, self.run_uri, 1), -signal.SIGKILL)
                lines = self.load()
                states.add(lines[0].split(" from ")[0])
                self.assertEqual(lines != ["nothing was ever saved"], (number, reaches) >= commit, "the manifest commits")
                self.assertRegex(self.mirror(), f"^mirrored {self.digest} ")
                self.assert_loads()
                self.fresh()
        self.assertEqual(states, {"nothing was ever saved", "loaded 1/20 rank 0"})
        # What uploads were cut off in the middle is aborted once they are old enough to be nobody's.
        aborted = int(probe(self.own, "tidy", "s3://data", "", 0)[1][0].split()[1])
        self.assertGreater(aborted, 0)
        self.assertEqual(probe(self.own, "tidy", "s3://data", "", 0)[1], ["aborted 0"])

    def test_a_save_without_any_folder_that_is_killed_at_each_request(self):
        env, seen = self.watching_proxy()
        self.tell("save", self.run_uri, 1, 10, 1, MIB, env=env)
        self.assertEqual(self.load(), [f"loaded 1/10 rank 0 from 0 bytes {MIB}"])
        count, commit = len(seen), (commit_among(seen), True)
        self.fresh()
        self.tell("save", self.run_uri, 1, 10, 1, MIB)
        for number, reaches in self.moments(count):
            attempt = 2 * number + reaches
            with self.subTest(request=number, reaches=reaches):
                self.killed_at(number, reaches, "save", self.run_uri, attempt, 20, 1, MIB)
                step = self.load()[0].split()[1]
                self.assertIn(step, ("1/10", f"{attempt}/20"))
                self.assertEqual(step != "1/10", (number, reaches) >= commit, "the manifest commits")
        newest = 2 * count + 5
        self.tell("save", self.run_uri, newest, 30, 2, MIB)
        self.tell("retire", self.run_uri, newest, 1)
        self.assertEqual(self.tell("list", "-", self.run_uri), [f"{newest}/30 in 0", f"newest attempt {newest}"])
        left = sorted(str(path.relative_to(self.stored)) for path in self.stored.rglob("*") if path.is_file())
        self.assertEqual([name for name in left if f"a{newest:04}" not in name], [],
                         "nothing of older attempts is left")
        self.assertEqual([line.split(" from ")[0] for line in self.load()],
                         [f"loaded {newest}/30 rank {rank}" for rank in (0, 1)])

    def test_what_is_saved_without_any_folder_is_in_memory_once(self):
        def peak_mib(mib):
            saving = subprocess.Popen([PROBE, "save", self.run_uri, "1", str(mib), "1", str(mib * MIB)], env=self.own,
                                      stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(saving.pid, 0)
            saving.returncode = status
            self.assertEqual(status, 0)
            return used.ru_maxrss / 1024

        small, large = 8, 200
        grown = peak_mib(large) - peak_mib(small)
        print(f"a state of {large} MiB: {grown:.1f} MiB more than one of {small}")
        self.assertLess(grown, large - small + 64)

    # ---- who else is there

    def test_two_runs_of_one_name(self):
        other = self.home / "other"
        self.tell("save", other, 1, 20, RANKS, BYTES + 1)
        self.mirror()
        self.assertRegex(self.tell("mirror", other, 1, 20, self.run_uri, fails=True)[0],
                         "^error conflict: .*manifests/s0000000020.a0001.json exists already and belongs to another run")
        self.remove("manifests/s0000000020.a0001.json")
        self.assertRegex(self.tell("mirror", other, 1, 20, self.run_uri, fails=True)[0],
                         "^error conflict: .*r0000.safetensors exists already and belongs to another run")
        self.mirror()
        self.assert_loads()
        self.assertRegex(self.tell("load", other, self.run_uri, fails=True)[0], "^error conflict: .* hold different checkpoints")

    def test_nothing_damaged_is_mirrored(self):
        damaged = self.home / "damaged"
        shutil.copytree(self.local, damaged)
        pack = damaged / "packs/a0001/s0000000020/r0001.safetensors"
        data = bytearray(pack.read_bytes())
        for place, said in ((50_000, "the bytes changed after their checksum was computed"), (900, "its header is not the one")):
            wrong = bytearray(data)
            wrong[place] ^= 4
            pack.write_bytes(wrong)
            self.assertRegex(self.tell("mirror", damaged, 1, 20, self.run_uri, fails=True)[0], f"^error corrupted: .*{said}")
            self.assertEqual(self.load(), ["nothing was ever saved"])
        pack.unlink()
        self.assertRegex(self.tell("mirror", damaged, 1, 20, self.run_uri, fails=True)[0], "^error corrupted: .* does not exist")

    # ---- which copy is taken

    def test_a_node_that_comes_back_with_an_old_local_copy(self):
        old = self.home / "old"
        self.tell("save", old, 1, 20, RANKS, BYTES)
        newer = self.home / "newer"
        self.tell("save", newer, 3, 15, RANKS, 1000)
        self.tell("mirror", newer, 3, 15, self.run_uri)
        self.assertEqual(self.load(folder=old), ["loaded 3/15 rank 0 from 1 bytes 1000", "loaded 3/15 rank 1 from 1 bytes 15"])
        # Among copies of one checkpoint the folder is asked first, then stores as they are listed.
        second = self.run_uri + "-second"
        self.tell("mirror", newer, 3, 15, second)
        self.assertEqual(self.tell("list", newer, second, self.run_uri), ["3/15 in 0 1 2", "newest attempt 3"])
        self.assertEqual(self.load(second, self.run_uri, folder=newer)[0], "loaded 3/15 rank 0 from 0 bytes 1000")

    def test_a_bad_copy_costs_a_fallback(self):
        self.mirror()
        bad = self.home / "bad"
        shutil.copytree(self.local, bad)
        for place in (bad, self.stored):
            pack = place / "packs/a0001/s0000000020/r0000.safetensors"
            data = bytearray(pack.read_bytes())
            data[3 * MIB] ^= 1
            sound = pack.read_bytes()
            pack.write_bytes(data)
            lines = self.load(folder=bad)
            if place == bad:
                self.assertRegex(lines[0], "^bad in 0: .* does not hold the bytes that were committed")
                self.assertEqual(lines[1], f"loaded 1/20 rank 0 from 1 bytes {BYTES}")
            else:
                self.assertEqual(lines[0], f"loaded 1/20 rank 0 from 0 bytes {BYTES}")
                self.assertRegex(self.tell("load", "-", self.run_uri, fails=True)[0],
                                 "^error corrupted: s3://.* does not hold the bytes that were committed")
            pack.write_bytes(sound)

    def test_weights_of_another_run(self):
        self.assertRegex(self.tell("begin", self.run_uri, fails=True)[0], "^error not_found: .* there is no checkpoint in s3://")
        self.mirror()
        for path in (self.run_uri, self.run_uri + "/manifests/s0000000020.a0001.json"):
            self.assertEqual(self.tell("begin", path), [f"begun from 1/20 bytes {BYTES}"])

    def test_a_store_that_cannot_be_asked_is_not_passed_over(self):
        self.mirror()
        env = environment("http://127.0.0.1:9")
        code, lines = probe(env, "--attempts", 1, "load", self.local, self.run_uri, program=PROBE)
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], "^error unavailable: looking for checkpoints in s3://.* may be the newest")


if __name__ == "__main__":
    run_tests()
