"""Shards of MDS from a real S3 server and from a plain web server, through the cache on this machine."""

import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from s3_server import S3Server, environment, missing_programs

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "mds_probe"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "mds" / "golden"


def expected_of(name):
    return json.loads((GOLDEN / name / "expected.json").read_text())["samples"]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = S3Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.own = environment(cls.server.url)
        shutil.copytree(GOLDEN, cls.server.bucket / "golden")
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=GOLDEN))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        cls.addClassCleanup(web.server_close)
        cls.addClassCleanup(web.shutdown)
        cls.web = f"http://127.0.0.1:{web.server_port}"

    def setUp(self):
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-mds-"))
        self.addCleanup(shutil.rmtree, self.cache)

    def run_probe(self, *words, env=None):
        done = subprocess.run([PROBE, "--cache", self.cache, *map(str, words)], stdout=subprocess.PIPE, text=True,
                              env=env or self.own, timeout=100)
        return done.returncode, done.stdout

    def dump(self, *words):
        code, said = self.run_probe("dump", *words)
        self.assertEqual(code, 0, said)
        return json.loads(said)

    def refusal(self, *words, env=None):
        code, said = self.run_probe("dump", *words, env=env)
        self.assertEqual(code, 1, said)
        return said

    def test_every_sample_comes_from_s3(self):
        for name in ("every", "split", "zstd_hashes", "merged", "compressed/gz", "empty_shard"):
            with self.subTest(name):
                self.assertEqual(self.dump(f"s3://data/golden/{name}"), expected_of(name))

    def test_every_sample_comes_from_a_web_server(self):
        for name in ("every", "split", "zstd_hashes", "merged", "compressed/bz2"):
            with self.subTest(name):
                self.assertEqual(self.dump(f"{self.web}/{name}"), expected_of(name))
        self.assertEqual(self.dump("--split", "zstd", f"{self.web}/compressed"), expected_of("compressed/zstd"))

    def test_shards_are_fetched_once_and_in_any_number_of_threads(self):
        shutil.copytree(GOLDEN / "split", self.server.bucket / "once")
        for _ in range(3):
            self.assertEqual(self.dump("--expect", "s3://data/once"), expected_of("split"))
        for i in range(5):
            self.assertEqual(self.server.count_reads(f"once/shard.{i:05}.mds"), 1)

    def test_a_small_cache_is_enough(self):
        self.assertEqual(self.dump("--limit", 1100, "--expect", "s3://data/golden/split"), expected_of("split"))
        self.assertLessEqual(sum(file.stat().st_size for file in self.cache.iterdir()), 1100)

    def test_what_is_wrong_is_named(self):
        hurt = self.server.bucket / "hurt"
        shutil.copytree(GOLDEN / "hashes", hurt)
        shard = (hurt / "shard.00000.mds").read_bytes()
        (hurt / "shard.00000.mds").write_bytes(shard[:-1] + b"?")
        said = self.refusal("s3://data/hurt")
        self.assertIn("s3://data/hurt/shard.00000.mds", said)
        self.assertRegex(said, "its blake2b is [0-9a-f]+, and the index says [0-9a-f]+")
        (hurt / "shard.00000.mds").write_bytes(shard[:-1])
        self.assertRegex(self.refusal("s3://data/hurt"), f"shard.00000.mds.*{len(shard) - 1}.*{len(shard)}")
        (hurt / "shard.00000.mds").unlink()
        self.assertIn("s3://data/hurt/shard.00000.mds", self.refusal("s3://data/hurt"))
        self.assertEqual([file.name for file in self.cache.iterdir() if file.suffix == ".object"], [])
        self.assertIn("s3://data/nowhere/index.json", self.refusal("s3://data/nowhere"))
        self.assertIn(f"{self.web}/nowhere/index.json", self.refusal(f"{self.web}/nowhere"))

    def test_servers_that_forbid_or_are_not_there_are_named(self):
        stranger = environment(self.server.url, "AKIDSTRANGER", "wrong")
        self.assertIn("s3://data/golden/split/index.json", self.refusal("s3://data/golden/split", env=stranger))
        said = self.refusal("--attempts", 2, "http://127.0.0.1:1/split")
        self.assertIn("http://127.0.0.1:1/split/index.json", said)


if __name__ == "__main__":
    missing = missing_programs()
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup brings what is missing")
        sys.exit(77)
    unittest.main(verbosity=2)
