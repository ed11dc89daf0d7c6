"""Shards of MDS from a real S3 server and from a plain web server, through the cache on this machine."""

import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from s3_server import S3Test, environment, run_tests

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "mds_probe"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit" / "agent" / "mds" / "golden"


def expected_of(name):
    return json.loads((GOLDEN / name / "expected.json").read_text())["samples"]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Remote(S3Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copytree(GOLDEN, cls.server.bucket / "golden")
        cls.web = cls.serve(QuietHandler)

    @classmethod
    def serve(cls, handler):
        """The URL of a plain web server of the golden folders."""
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=GOLDEN))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        cls.addClassCleanup(web.server_close)
        cls.addClassCleanup(web.shutdown)
        return f"http://127.0.0.1:{web.server_port}"

    def setUp(self):
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-mds-"))
        self.addCleanup(shutil.rmtree, self.cache)

    def run_probe(self, *words, env=None):
        done = subprocess.run([PROBE, "--cache", self.cache, *map(str, words)], stdout=subprocess.PIPE, text=True,
                              env=env or self.own, timeout=180)
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
        self.assertRegex(said, "the blake2b is [0-9a-f]+, but the index says [0-9a-f]+")
        (hurt / "shard.00000.mds").write_bytes(shard[:-1])
        self.assertRegex(self.refusal("s3://data/hurt"), f"shard.00000.mds.*{len(shard) - 1}.*{len(shard)}")
        (hurt / "shard.00000.mds").unlink()
        self.assertRegex(self.refusal("s3://data/hurt"), "s3://data/hurt/shard.00000.mds.* 404 NoSuchKey")
        self.assertEqual([file.name for file in self.cache.iterdir() if file.suffix == ".object"], [])
        for place in ("s3://data/nowhere", f"{self.web}/nowhere"):
            self.assertRegex(self.refusal(place), f"{place}/index.json.* 404.*correct the URI or the split")

    # ---- servers that refuse, and that are not there

    def test_credentials_that_do_not_do(self):
        self.server.add_user("AKIDUSER", "secret-of-a-user")
        url = self.server.url
        for env, why in (
                (environment(url, secret="wrong"), "403 SignatureDoesNotMatch .*check the secret key"),
                (environment(url, key="AKIDNOBODY"), "403 InvalidAccessKeyId"),
                (environment(url, key="AKIDUSER", secret="secret-of-a-user"), "403 AccessDenied .*signed by AKIDUSER"),
                (environment(url, key=None), "there are no credentials"),
                (environment(url, AWS_CREDENTIAL_EXPIRATION="2020-01-01T00:00:00Z"), "expired at 2020-01-01T00:00:00")):
            with self.subTest(why):
                said = self.refusal("s3://data/golden/split", env=env)
                self.assertRegex(said, f"s3://data/golden/split/index.json.*{why}")
                self.assertEqual(said.count("\n"), 1, "one sentence")

    def test_credentials_that_end_on_the_way(self):
        """The index comes, and no shard does: a server's own answer to a token that ended meanwhile."""
        body = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
        expired = b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        env, proxy = self.proxy(lambda number, reply: (reply if number == 1 else expired, "keep"))
        said = self.refusal("s3://data/golden/split", env=env)
        self.assertRegex(said, "s3://data/golden/split/shard.00000.mds.*403 ExpiredToken .*The provided token has expired")
        self.assertLessEqual(proxy.requests, 3, "asked again with fresh credentials, and not for ever")

    def test_a_web_server_that_forbids(self):
        class Forbidding(QuietHandler):
            def do_GET(self):
                if self.path.endswith(".mds"):
                    return self.send_error(403)
                return super().do_GET()

        web = self.serve(Forbidding)
        self.assertRegex(self.refusal(f"{web}/split"), f"{web}/split/shard.00000.mds.* 403")
        self.assertEqual([file.name for file in self.cache.iterdir() if file.suffix == ".object"], [])

    def test_nobody_there(self):
        said = self.refusal("--attempts", 2, "http://127.0.0.1:1/split")
        self.assertRegex(said, "http://127.0.0.1:1/split/index.json failed 2 times")

    def test_a_server_that_never_answers_costs_one_deadline(self):
        """However many threads wait for it, and for whichever shards; those that are fetched ahead as well."""
        for options in ((), ("--expect",)):
            # Where the machine stands still meanwhile: tried again.
            took = next((took for took in (self.meet_silence(*options) for _ in range(5)) if took and took < 7 * 2.5), None)
            self.assertIsNotNone(took, "each time it took that of eight threads, one after the other")
            self.assertGreater(took, 1)

    def meet_silence(self, *options):
        """How long eight threads wait for shards of which none comes; nothing where not even the index came in time."""
        def meddle(request):
            if b"/index.json" in request.split(b"\r\n", 1)[0]:
                return [request]
            return [], lambda _: (b"", "hang")

        env, _ = self.proxy(meddle=meddle)
        began = time.monotonic()
        code, said = self.run_probe("--silence", 1, "--seconds", 2.5, *options, "meet", "s3://data/golden/split",
                                    0, 0, 0, 0, 0, 1, 2, 16, env=env)
        took = time.monotonic() - began
        self.assertEqual(code, 1, said)
        if "/index.json" in said:
            return None
        self.assertEqual(len(said.splitlines()), 8, said)
        for line in said.splitlines():
            self.assertRegex(line, r"s3://data/golden/split/shard.0000\d.mds")
        return took

    # ---- caches that are too small

    def test_a_cache_below_a_shard_is_refused_at_once(self):
        before = self.server.count_reads("golden/split/shard.00000.mds")
        largest = max(file.stat().st_size for file in (GOLDEN / "split").glob("*.mds"))
        for limit in (largest - 1, largest):
            said = self.refusal("--limit", limit, "s3://data/golden/split")
            self.assertRegex(said, f"the cache {self.cache} may hold {limit} bytes, but the largest shard, "
                                   rf"s3://data/golden/split/shard.0000\d.mds, has {largest} bytes: set cache_bytes_max to")
        self.assertEqual(self.server.count_reads("golden/split/shard.00000.mds"), before)


if __name__ == "__main__":
    run_tests()
