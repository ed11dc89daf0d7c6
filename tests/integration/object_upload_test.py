"""Uploads of large objects to a real S3 server: in parts, with connections that break, answers that are lost, requests that
come twice, bytes that flip on the way, others who write the same name, and uploaders that are killed. RATOON_KILLS sets
how often (20)."""

import os
import random
import signal
import subprocess
import threading
import time

from local_run import wait_until
from s3_server import PROBE, S3Server, S3Test, answered, environment, kind_of, lost, probe, run_tests

KILLS = int(os.environ.get("RATOON_KILLS", 20))
PLACES = [*(("part", number) for number in range(1, 6)), ("begin", 1), ("complete", 1)]  # to be killed at
MIB = 1 << 20
PART = f"part={5 * MIB}"
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"


def conflict(status, code):
    body = f"<Error><Code>{code}</Code><Message>Scripted.</Message></Error>".encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


class Uploads(S3Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={cls.seed}", flush=True)
        chance = random.Random(cls.seed)
        cls.data = chance.randbytes(22 * MIB + 12_345)
        cls.source, cls.other, cls.big = (cls.server.folder / name for name in ("source", "other", "big"))
        cls.source.write_bytes(cls.data)
        cls.other.write_bytes(chance.randbytes(11 * MIB))
        cls.big.write_bytes(chance.randbytes(40_000_000))

    def setUp(self):
        self.key = self.id().rsplit(".", 1)[1]
        self.stored = self.server.bucket / "up" / self.key
        self.counts = {}

    def tearDown(self):
        self.assertEqual(self.open_uploads(), 0, "no upload is left open")

    def open_uploads(self):
        """What the server keeps of them."""
        return len([path for path in self.server.bucket.glob(".sgwtmp/multipart/*/*") if path.is_dir()])

    def upload(self, *words, env=None, fails=False, key=None, file=None, options=(), timeout=120):
        code, lines = probe(env or self.own, *options, "upload", "s3://data/up", key or self.key, file or self.source, *words,
                            timeout=timeout)
        self.assertEqual((code, len(lines)), (1 if fails else 0, 1), lines)
        return lines[0]

    def remove(self, key=None):
        self.assertEqual(probe(self.own, "remove", "s3://data/up", key or self.key), (0, ["done"]))

    def tidy(self, seconds=0, prefix=""):
        code, lines = probe(self.own, "tidy", "s3://data/up", prefix, seconds)
        self.assertEqual(code, 0, lines)
        return int(lines[0].split()[1])

    def counting(self, meddle=None, cut_body=None):
        """The environment of a probe whose requests are counted. `meddle(kind, number of that kind, request)`"""
        lock = threading.Lock()

        def count(request):
            kind = kind_of(request)
            with lock:
                self.counts[kind] = self.counts.get(kind, 0) + 1
                number = self.counts[kind]
            return meddle(kind, number, request) if meddle else [request]

        return self.proxy(meddle=count, cut_body=cut_body)[0]

    def assert_stored(self):
        self.assertTrue(self.stored.read_bytes() == self.data, "the object has the bytes")

    # ---- well

    def test_in_parts_and_whole(self):
        env = self.counting()
        self.upload(file=self.big, env=env)
        self.assertTrue(self.stored.read_bytes() == self.big.read_bytes(), "the object has the bytes")
        self.assertEqual(self.counts, {"begin": 1, "part": 5, "complete": 1}, "the answer proves the checksum")
        line = self.upload(PART, env=env)
        self.assertRegex(line, rf"^stored {len(self.data)} crc32c \d+ peak_kib \d+$")
        self.assert_stored()
        self.assertEqual(self.counts, {"begin": 2, "part": 10, "complete": 2})
        crc = int(line.split()[3])
        for words in ((f"crc32c={crc}", "threads=1"), ("create", f"part={41 * MIB}")):
            self.upload(*words, key=self.key + words[0].split("=")[0])
        line = self.upload(PART, f"crc32c={crc ^ 1}", key="wrong", fails=True)
        self.assertRegex(line, "^error corrupted: the bytes for s3://data/up/wrong have the CRC32C .{8}, expected is .{8}: ")
        self.assertFalse((self.server.bucket / "up/wrong").exists())

    def test_creates_once(self):
        self.upload("create", PART)
        for file in (self.other, self.source):
            self.assertEqual(self.upload("create", PART, file=file, fails=True),
                             f"error already_exists: s3://data/up/{self.key} exists, but this call was to create it")
        self.assert_stored()
        self.upload(PART, file=self.other)
        self.assertEqual(self.stored.read_bytes(), self.other.read_bytes())

    def test_memory_is_bounded(self):
        large = self.server.folder / "large"
        with open(large, "wb") as out:
            for _ in range(25):
                out.write(self.data[:10 * MIB])

        def peak(file, *words):
            return int(self.upload(*words, file=file, key="large").split()[-1])

        base = peak(self.other, f"part={5 * MIB}", "threads=1")
        for threads, part in ((1, 5), (4, 8)):
            grown = peak(large, f"part={part * MIB}", f"threads={threads}") - base
            print(f"250 MiB by {threads} thread(s) with parts of {part} MiB: {grown / 1024:.1f} MiB more than 11 MiB by one")
            self.assertLess(grown, threads * part * 1024 + 8 * 1024)
        self.remove("large")

    def test_over_tls(self):
        server = S3Server(is_encrypted=True)
        self.addCleanup(server.close)
        server.start()
        env = environment(server.url, AWS_CA_BUNDLE=str(server.folder / "server.pem"))
        self.upload(PART, env=env)
        self.assertTrue((server.bucket / "up" / self.key).read_bytes() == self.data)

    # ---- connections

    def test_cut_in_the_middle_of_parts(self):
        cuts = iter([3 * MIB, 1000, 5 * MIB])

        def cut_body(data):
            return next(cuts, None) if kind_of(data) == "part" else None

        self.upload("create", PART, env=self.counting(cut_body=cut_body))
        self.assert_stored()
        self.assertEqual(self.counts["part"], 5)

    def test_lost_answers(self):
        for what in ("begin", "part", "complete"):
            for mode in ("create", "replace"):
                with self.subTest(lost=what, mode=mode):
                    self.counts.clear()
                    self.remove()
                    env = self.counting(lambda kind, number, request, what=what:
                                     lost(request) if (kind, number) == (what, 1) else [request])
                    self.upload(mode, PART, env=env)
                    self.assert_stored()
                    self.assertEqual(self.counts[what], 6 if what == "part" else 2)
                    # Of an upload whose very name was lost, nobody knows: that is what tidying is for.
                    self.assertEqual(self.tidy(), 1 if what == "begin" else 0)

    def test_lost_answer_of_a_small_one(self):
        def lose(kind, number, request):
            return lost(request) if (kind, number) == ("put", 1) else [request]

        self.upload("create", f"part={41 * MIB}", env=self.counting(lose))
        self.assert_stored()
        self.assertEqual((self.counts["put"], self.counts["look"]), (1, 1), "its mark tells that it is ours")

    def test_a_completion_whose_answer_is_lost_for_good(self):
        """All that is left is to look."""
        def lose(kind, _, request):
            return lost(request) if kind == "complete" else [request]

        self.upload("create", PART, env=self.counting(lose), options=("--attempts", 2))
        self.assert_stored()

    def test_requests_that_come_twice(self):
        def twice(kind, _, request):
            return [request] if kind == "begin" else [request, request]

        for mode in ("create", "replace"):
            for part in (PART, f"part={41 * MIB}"):
                self.remove()
                self.upload(mode, part, env=self.counting(twice))
                self.assert_stored()

    def test_busy(self):
        def busy(kind, number, request):
            return answered(BUSY) if number == 1 else [request]

        began = time.monotonic()
        self.upload("create", PART, "threads=1", env=self.counting(busy))
        self.assert_stored()
        self.assertGreaterEqual(time.monotonic() - began, 3, "begin, a part, the completion: each a second")

    def test_a_store_that_stays_busy_gets_its_upload_taken_back(self):
        def busy(kind, number, request):
            return answered(BUSY.replace(b"Retry-After: 1\r\n", b"")) if kind == "part" and number > 2 else [request]

        line = self.upload("create", PART, "threads=1", env=self.counting(busy), options=("--attempts", 2), fails=True)
        self.assertRegex(line, rf"^error unavailable: writing s3://data/up/{self.key}, part 3 of 5 failed 2 times .* 503$")
        self.assertEqual(self.counts["abort"], 2, "until the store knows nothing of it any more")
        self.assertFalse(self.stored.exists())

    # ---- bytes

    def test_bytes_that_flip_on_the_way(self):
        def flip(kind, number, request):
            if kind in ("part", "put") and number in (1, 4):
                request = bytearray(request)
                request[-100_000] ^= 4
                request = bytes(request)
            return [request]

        self.upload("create", PART, env=self.counting(flip))
        self.assert_stored()
        self.assertEqual(self.counts["part"], 7)
        self.counts.clear()
        self.remove()
        self.upload("create", f"part={41 * MIB}", env=self.counting(flip))
        self.assert_stored()
        self.assertEqual(self.counts["put"], 2)

    def test_bytes_that_flip_each_time_are_never_stored(self):
        def flip(kind, _, request):
            return [request[:-10] + bytes([request[-10] ^ 1]) + request[-9:]] if kind == "part" else [request]

        line = self.upload("create", PART, "threads=1", env=self.counting(flip), options=("--attempts", 3), fails=True)
        self.assertRegex(line, "part 1 of 5 failed 3 times .* 400 (BadDigest|XAmzContentSHA256Mismatch)")
        self.assertFalse(self.stored.exists())

    # ---- others

    def test_another_writes_the_name_meanwhile(self):
        def write(kind, number, request):
            if (kind, number) == ("complete", 1):
                self.upload(file=self.other)
            return [request]

        self.assertIn("error already_exists: ", self.upload("create", PART, env=self.counting(write), fails=True))
        self.assertEqual(self.stored.read_bytes(), self.other.read_bytes())

    def test_another_writes_and_our_answer_is_lost(self):
        """The completion never reaches the store, and then the name is taken."""
        def write(kind, number, request):
            if (kind, number) != ("complete", 1):
                return [request]
            self.upload(file=self.other)
            return []

        self.assertIn("error already_exists: ", self.upload("create", PART, env=self.counting(write), fails=True))
        self.assertEqual(self.stored.read_bytes(), self.other.read_bytes())

    def test_a_conflict_begins_anew(self):
        def conflicts(kind, number, request):
            if (kind, number) == ("complete", 1):
                return answered(conflict(409, "ConditionalRequestConflict"))
            return [request]

        self.upload("create", PART, env=self.counting(conflicts))
        self.assert_stored()
        self.assertEqual((self.counts["begin"], self.counts["part"], self.counts["abort"]), (2, 10, 2))

    def test_a_conflict_without_end(self):
        def conflicts(kind, _, request):
            return answered(conflict(409, "ConditionalRequestConflict")) if kind == "complete" else [request]

        self.assertRegex(self.upload("create", PART, env=self.counting(conflicts), fails=True),
                         f"^error conflict: writing s3://data/up/{self.key} was disturbed 4 times")
        self.assertFalse(self.stored.exists())

    def test_an_upload_that_another_aborts_begins_anew(self):
        def abort(kind, number, request):
            if (kind, number) in (("part", 3), ("complete", 1)):
                self.assertEqual(self.tidy(), 1)
            return [request]

        self.upload("create", PART, "threads=1", env=self.counting(abort))
        self.assert_stored()
        self.assertEqual(self.counts["begin"], 3)

    def test_an_upload_that_is_gone_with_anothers_object_there(self):
        """The server answers such a completion with 200 although it did nothing."""
        def abort(kind, number, request):
            if (kind, number) == ("complete", 1):
                self.tidy()
                self.upload(file=self.other)
            return [request]

        line = self.upload("create", PART, env=self.counting(abort), fails=True, options=("--attempts", 2))
        self.assertIn("error already_exists", line)
        self.assertEqual(self.stored.read_bytes(), self.other.read_bytes())

    def test_refused_before_the_first_byte(self):
        line = self.upload(PART, env=environment(self.server.url, secret="wrong"), fails=True)
        self.assertRegex(line, "^error permission_denied: beginning to write .* 403 SignatureDoesNotMatch")

    def test_failures_late_in_the_body(self):
        """S3 may say 200 at once, and after minutes that it failed."""
        body = b'<?xml version="1.0"?>\n\n\n<Error><Code>InternalError</Code><Message>x</Message></Error>'

        def late(kind, number, request):
            if (kind, number) == ("complete", 1):
                return answered(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            return [request]

        self.upload("create", PART, env=self.counting(late))
        self.assert_stored()
        self.assertEqual((self.counts["complete"], self.counts["begin"]), (2, 1))

    # ---- stopped and killed

    def test_stopped(self):
        for threads in (1, 3):
            line = self.upload("create", PART, f"threads={threads}", f"stop={10 * MIB}", fails=True)
            self.assertRegex(line, f"^error cancelled: writing s3://data/up/{self.key}.* was cancelled$")
            self.assertFalse(self.stored.exists())
            if threads == 1:
                self.assertEqual(self.open_uploads(), 0)
        # Parts that were on their way may arrive after the upload was aborted: S3's documentation says so as well.
        wait_until(self.server.is_at_rest, "the server to be done with them")
        self.tidy()

    def test_tidies_below_its_prefix_alone(self):
        def lose(kind, number, request):
            return lost(request) if (kind, number) == ("begin", 1) else [request]

        keys = (f"{self.key}/a", f"{self.key}/b", f"{self.key}x")
        for key in keys:
            self.counts.clear()
            self.upload("create", PART, env=self.counting(lose), key=key)
        self.assertEqual(self.open_uploads(), 3)
        self.assertEqual(self.tidy(3600), 0, "they are younger")
        self.assertEqual(self.tidy(prefix=f"{self.key}/"), 2)
        self.assertEqual(self.tidy(prefix=f"{self.key}/"), 0)
        code, lines = probe(self.own, "tidy", "s3://data/u", "", 0)
        self.assertEqual((code, lines), (0, ["aborted 0"]), "s3://data/up is another store")
        self.assertEqual(self.open_uploads(), 1)
        self.assertEqual(self.tidy(), 1)

    def start(self, env):
        return subprocess.Popen([PROBE, "upload", "s3://data/up", self.key, self.source, "create", PART], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_after(self, seconds):
        process = self.start(self.own)
        time.sleep(seconds)
        process.kill()
        process.wait()

    def kill_at(self, place):
        """At one of its requests, which still arrives."""
        processes, is_started = [], threading.Event()

        def kill(kind, number, request):
            if (kind, number) == place:
                is_started.wait()
                processes[0].kill()
            return [request]

        self.counts.clear()
        processes.append(self.start(self.counting(kill)))
        is_started.set()
        self.assertEqual(processes[0].wait(timeout=180), -signal.SIGKILL)

    def test_killed_at_any_moment(self):
        chance = random.Random(self.seed)
        takes = []
        for _ in range(3):
            began = time.monotonic()
            self.upload(PART)
            takes.append(time.monotonic() - began)
        takes = min(takes)
        left = whole = 0
        for i in range(KILLS):
            self.remove()
            if i % 2 == 0:
                self.kill_at(PLACES[i // 2 % len(PLACES)])
            else:
                self.kill_after(chance.uniform(0, takes))
            wait_until(self.server.is_at_rest, "the server to be done with what was asked for before")
            if self.stored.exists():
                self.assert_stored()
                whole += 1
            left += self.tidy()
            self.assertEqual(self.open_uploads(), 0)
            if not self.stored.exists():
                self.upload("create", PART)
            self.assert_stored()
        print(f"{KILLS} kills, half of them within {takes:.2f} s: {left} uploads left and aborted, {whole} objects were whole")
        self.assertGreater(left, 0, "some were killed in the middle")


if __name__ == "__main__":
    run_tests()
