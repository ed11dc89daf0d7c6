"""A cache that loses its processes: SIGKILL at any moment, several at once, some of them stopped. What stands there under
its name is whole, each object is fetched once, nobody hangs. RATOON_KILLS sets how often (50)."""

import hashlib
import os
import random
import signal
import subprocess
import time

from s3_server import PROBE, S3Test, run_tests

KILLS = int(os.environ.get("RATOON_KILLS", 50))
# Of one of the two loops; the nightly script says how long all may take.
SECONDS = 60 * int(os.environ.get("RATOON_NIGHTLY_MINUTES", 60)) // 3
OBJECTS = 24


class SharedCache(S3Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
        print(f"RATOON_SEED={cls.seed}", flush=True)
        chance = random.Random(cls.seed)
        cls.objects = {f"shard.{i:05}.mds": chance.randbytes(chance.randrange(50_000, 900_000)) for i in range(OBJECTS)}
        for key, data in cls.objects.items():
            cls.server.write(key, data)
        cls.hashes = {key: hashlib.sha256(data).hexdigest() for key, data in cls.objects.items()}

    def setUp(self):
        self.chance = random.Random(self.seed)
        self.folder = self.server.folder / f"cache-{self.id().rsplit('.', 1)[1]}"
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.running:
            process.kill()
            process.communicate()

    def order(self, repeats=1):
        keys = [key for _ in range(repeats) for key in self.chance.sample(sorted(self.objects), OBJECTS)]
        path = self.server.folder / f"order-{len(self.running)}-{self.chance.randrange(2**32)}"
        path.write_text("".join(f"{key} {len(self.objects[key])} {self.hashes[key]}\n" for key in keys))
        return path

    def start(self, *options, repeats=1):
        process = subprocess.Popen([PROBE, *map(str, options), "cache", "s3://data", self.folder, self.order(repeats)],
                                   env=self.own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        self.running.append(process)
        return process

    def finish(self, process, seconds=180):
        output, _ = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, 0, output)
        return output

    def cached(self):
        """{key: path} of what stands under its name, every byte of it compared."""
        found = {}
        for path in self.folder.glob("*.object"):
            key = path.name[33:-len(".object")]
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # evicted a moment ago
            self.assertEqual(data, self.objects[key], f"{path} has {len(data)} bytes of {len(self.objects[key])}")
            found[key] = path
        return found

    def parts(self):
        return list(self.folder.glob("*.part"))

    def wait_for_a_moment(self, group):
        """Any moment, and every other time one at which something is being written, however slow the machine is."""
        if self.chance.random() < 0.5:
            return time.sleep(self.chance.uniform(0.005, 0.15))
        deadline = time.monotonic() + 5
        while not self.parts() and time.monotonic() < deadline and all(process.poll() is None for process in group):
            time.sleep(0.001)
        time.sleep(self.chance.uniform(0, 0.01))

    def kill_again_and_again(self, *options, others=0):
        deadline, tries, kills, parts = time.monotonic() + SECONDS, 0, 0, 0
        while kills < KILLS and time.monotonic() < deadline:
            group = [self.start(*options, repeats=1 if others else 3) for _ in range(1 + others)]
            self.wait_for_a_moment(group)
            victims = self.chance.sample(group, self.chance.randint(1, len(group)))
            for victim in victims:
                victim.kill()
            tries += len(victims)
            parts += len(self.parts())
            self.cached()
            for process in group:
                if process in victims:
                    process.communicate()
                    kills += process.returncode == -signal.SIGKILL  # and had not come to its end before
                else:
                    self.finish(process)
            self.running.clear()
            if self.chance.random() < 0.2:
                for path in self.folder.glob("*.object"):
                    path.unlink()  # so that there is always something to fetch
        print(f"{kills} kills of processes at work, in {tries} tries; {parts} parts left behind", flush=True)
        self.assertGreaterEqual(kills, KILLS, f"{SECONDS} s were too few for all: scripts/nightly takes more minutes")
        if not others:  # which would have swept them already
            self.assertGreater(parts, 0, "and some of them while they wrote")
        output = self.finish(self.start(*options))
        self.assertEqual(output.count("have "), OBJECTS)
        self.assertEqual(self.parts(), [], "what the dead left is gone")

    def test_kills_of_one(self):
        self.kill_again_and_again()
        self.assertEqual(self.cached().keys(), self.objects.keys())

    def test_kills_among_three_in_a_cache_that_is_too_small(self):
        limit = sum(map(len, self.objects.values())) // 2
        self.kill_again_and_again("--limit", limit, others=2)
        held = sum(path.stat().st_size for path in self.cached().values())
        self.assertLessEqual(held, limit)

    def test_each_object_is_fetched_once(self):
        before = {key: self.server.count_reads(key) for key in self.objects}
        group = [self.start() for _ in range(4)]
        outputs = [self.finish(process) for process in group]
        self.assertEqual(sum(int(output.split("fetched ")[1].split()[0]) for output in outputs), OBJECTS)
        for key in self.objects:
            self.assertEqual(self.server.count_reads(key) - before[key], 1, key)
        self.assertEqual(self.cached().keys(), self.objects.keys())

    def test_a_stopped_process_holds_nobody_up(self):
        stopped = self.start(repeats=50)
        deadline = time.monotonic() + 180
        while not self.parts() and time.monotonic() < deadline:
            pass
        stopped.send_signal(signal.SIGSTOP)
        self.finish(self.start("--patience", 0.5))
        self.assertEqual(self.cached().keys(), self.objects.keys())
        stopped.send_signal(signal.SIGCONT)
        self.finish(stopped)
        self.assertEqual(self.cached().keys(), self.objects.keys())


if __name__ == "__main__":
    run_tests()
