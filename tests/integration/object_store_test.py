"""Stores against a real S3 server: every operation, what it refuses and how, and connections that break on the way."""

import hashlib
import random
import re
import time

from s3_server import ROOT_KEY, ROOT_SECRET, S3Server, S3Test, environment, probe, run_tests

STRANGE_KEY = "a b/c+d%é~(1)$&=@,;:!'*#?[]\"<>\\^`{|}.mds"


class RealS3(S3Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = random.Random(5).randbytes(3_000_000)
        cls.source, cls.target = cls.server.folder / "source", cls.server.folder / "target"
        cls.source.write_bytes(cls.data)
        cls.etag = f'"{hashlib.md5(cls.data).hexdigest()}"'
        if probe(cls.own, "put", "s3://data/x", "big", cls.source) != (0, ["done"]):
            raise AssertionError("the server takes no objects")

    def run_probe(self, *arguments, env=None, fails=False):
        code, lines = probe(env or self.own, *arguments)
        if not fails:
            self.assertEqual(code, 0, lines)
            return lines
        self.assertEqual((code, len(lines)), (1, 1), lines)
        return lines[0]

    # ---- operations

    def test_whole_objects_and_parts(self):
        self.assertEqual(self.run_probe("get", "s3://data/x", "big", self.target), [f"big 3000000 {self.etag}"])
        self.assertEqual(self.target.read_bytes(), self.data)
        self.assertEqual(self.run_probe("get", "s3://data", "x/big", self.target, 1000, 2_000_000),
                         [f"x/big 3000000 {self.etag}"])
        self.assertEqual(self.target.read_bytes(), self.data[1000:2_000_000])
        self.run_probe("get", "s3://data/x", "big", self.target, 2_999_990, 9_000_000)
        self.assertEqual(self.target.read_bytes(), self.data[-10:])
        self.assertIn("InvalidRange", self.run_probe("get", "s3://data/x", "big", self.target, 3_000_000, 3_000_001, fails=True))
        self.assertEqual(self.run_probe("head", "s3://data/x", "big"), [f"big 3000000 {self.etag}"])

    def test_any_name_and_no_bytes(self):
        empty = self.server.folder / "empty"
        empty.write_bytes(b"")
        self.run_probe("put", "s3://data/strange", STRANGE_KEY, empty)
        self.assertRegex(self.run_probe("list", "s3://data/strange", "a b/c+")[1], "^" + re.escape(STRANGE_KEY) + " 0 ")
        self.run_probe("get", "s3://data/strange", STRANGE_KEY, self.target)
        self.assertEqual(self.target.read_bytes(), b"")
        self.assertEqual(self.run_probe("remove", "s3://data/strange", STRANGE_KEY), ["done"])
        self.assertEqual(self.run_probe("list", "s3://data/strange", ""), ["page of 0"])

    def test_creates_once(self):
        self.assertEqual(self.run_probe("create", "s3://data/once", "k", self.source), ["done"])
        other = self.server.folder / "another"
        other.write_bytes(self.data[1:])
        self.assertEqual(self.run_probe("create", "s3://data/once", "k", other, fails=True),
                         "error already_exists: s3://data/once/k exists, but this call was to create it")
        self.assertEqual(self.run_probe("put", "s3://data/once", "k", self.source), ["done"])
        for _ in range(2):
            self.assertEqual(self.run_probe("remove", "s3://data/once", "k"), ["done"])

    def test_a_creation_whose_reply_was_lost_is_ours(self):
        env, proxy = self.proxy(lambda number, reply: (b"", "cut") if number == 1 else (reply, "keep"))
        self.assertEqual(self.run_probe("create", "s3://data/lost", "k", self.source, env=env), ["done"])
        self.assertEqual(proxy.requests, 3, "the lost one, a question, and the look that finds our mark")
        env, _ = self.proxy(lambda number, reply: (b"", "cut") if number == 1 else (reply, "keep"))
        other = self.server.folder / "other"
        other.write_bytes(b"other bytes")
        self.assertIn("already_exists", self.run_probe("create", "s3://data/lost", "k", other, env=env, fails=True))

    def test_more_keys_than_a_page_has(self):
        for i in range(2300):
            self.server.write(f"many/{i % 7}/{i:05}", b"x")
        lines = self.run_probe("list", "s3://data/many", "")
        self.assertEqual([line for line in lines if line.startswith("page")],
                         ["page of 1000", "page of 1000", "page of 300"])
        keys = [line.split()[0] for line in lines if not line.startswith("page")]
        self.assertEqual(keys, sorted(f"{i % 7}/{i:05}" for i in range(2300)))
        self.assertEqual(len(self.run_probe("list", "s3://data/many", "3/")), 1 + 329)

    # ---- refusals

    def test_who_may_not(self):
        def refused(env, *arguments):
            return self.run_probe(*(arguments or ("get", "s3://data/x", "big", self.target)), env=env, fails=True)

        for command in (("get", "s3://data/x", "big", self.target), ("head", "s3://data/x", "big"),
                        ("put", "s3://data/x", "new", self.source), ("list", "s3://data/x", "")):
            line = refused(environment(self.server.url, secret="wrong"), *command)
            self.assertRegex(line, "^error permission_denied: .* 403 SignatureDoesNotMatch .*check the secret key")
        self.assertIn("403 InvalidAccessKeyId", refused(environment(self.server.url, key="AKIDNOBODY")))
        self.server.add_user("AKIDUSER", "secret-of-a-user")
        line = refused(environment(self.server.url, key="AKIDUSER", secret="secret-of-a-user"))
        self.assertIn("403 AccessDenied", line)
        self.assertIn("signed by AKIDUSER from the environment", line)
        line = refused(environment(self.server.url, key=None))
        self.assertIn("there are no credentials: AWS_ACCESS_KEY_ID is not set; ", line)
        self.assertNotIn("is_anonymous", line, "the user of a command has no such option")
        line = refused(environment(self.server.url, key=None), "--anonymous", "get", "s3://data/x", "big", self.target)
        self.assertIn("not signed, because is_anonymous is set", line)
        expired = environment(self.server.url, AWS_CREDENTIAL_EXPIRATION="2020-01-01T00:00:00Z")
        self.assertIn("the credentials from the environment expired at 2020-01-01T00:00:00", refused(expired))

    def test_credentials_of_a_profile(self):
        (self.server.folder / "credentials").write_text(
            f"[team]\naws_access_key_id = {ROOT_KEY}\naws_secret_access_key = {ROOT_SECRET}\n")
        (self.server.folder / "config").write_text(
            f"[profile team]\nregion = us-east-1\nendpoint_url = {self.server.url}\n")
        env = environment("", key=None, AWS_PROFILE="team",
                          AWS_SHARED_CREDENTIALS_FILE=str(self.server.folder / "credentials"),
                          AWS_CONFIG_FILE=str(self.server.folder / "config"))
        self.run_probe("head", "s3://data/x", "big", env=env)

    def test_another_region_is_found(self):
        self.run_probe("head", "s3://data/x", "big", env=environment(self.server.url, AWS_REGION="eu-central-1"))

    def test_what_is_not_there(self):
        line = self.run_probe("get", "s3://data/x", "missing", self.target, fails=True)
        self.assertRegex(line, r"^error not_found: reading s3://data/x/missing: GET http://\S+/data/x/missing was answered "
                               r"with status 404 NoSuchKey \(The specified key does not exist\.\)$")
        self.assertIn("not_found", self.run_probe("head", "s3://data/x", "missing", fails=True))
        for command in (("get", "s3://nobucket/x", "k", self.target), ("list", "s3://nobucket", ""),
                        ("put", "s3://nobucket", "k", self.source), ("remove", "s3://nobucket", "k")):
            self.assertRegex(self.run_probe(*command, fails=True), "^error invalid: .* 404 NoSuchBucket")

    def test_what_is_not_there_with_the_answer_lost(self):
        env, proxy = self.proxy(lambda number, reply: (b"", "cut") if number == 1 else (reply, "keep"))
        line = self.run_probe("put", "s3://nobucket", "k", self.source, env=env, fails=True)
        # On a busy machine the question may be lost, too: the write is then made again, and says the same.
        self.assertRegex(line, "^error invalid: writing s3://nobucket/k: (GET|PUT) .* 404 NoSuchBucket")
        self.assertIn(proxy.requests, (2, 3), "that whose answer was lost, and the question what may be wrong")

    # ---- connections

    def test_a_write_whose_answer_is_lost_is_made_again(self):
        env, proxy = self.proxy(lambda number, reply: (b"", "cut") if number == 1 else (reply, "keep"))
        self.run_probe("put", "s3://data/again", "k", self.source, env=env)
        self.assertEqual(proxy.requests, 3, "that whose answer was lost, a question, the same again")
        self.run_probe("get", "s3://data/again", "k", self.target)
        self.assertEqual(self.target.read_bytes(), self.data)

    def test_cut_connections(self):
        env, proxy = self.proxy(lambda number, reply: (reply[:900_000], "cut") if number < 4 else (reply, "keep"))
        self.run_probe("get", "s3://data/x", "big", self.target, env=env)
        self.assertEqual(self.target.read_bytes(), self.data)
        self.assertEqual(proxy.requests, 4)

    def test_an_object_that_changes_while_it_is_read(self):
        def plan(number, reply):
            if number == 1:
                self.run_probe("put", "s3://data/change", "k", other)
                return reply[:2_000_000], "cut"
            return reply, "keep"

        other = self.server.folder / "changed"
        other.write_bytes(self.data[::-1])
        self.run_probe("put", "s3://data/change", "k", self.source)
        env, proxy = self.proxy(plan)
        self.run_probe("get", "s3://data/change", "k", self.target, env=env)
        self.assertEqual(self.target.read_bytes(), self.data[::-1])
        self.assertEqual(proxy.requests, 3, "the cut one, the one that If-Match ends, the new object")

    def test_busy_then_well(self):
        busy = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"
        env, _ = self.proxy(lambda number, reply: (busy, "keep") if number < 3 else (reply, "keep"))
        began = time.monotonic()
        self.run_probe("get", "s3://data/x", "big", self.target, env=env)
        self.assertGreaterEqual(time.monotonic() - began, 2, "not before the server said")
        self.assertEqual(self.target.read_bytes(), self.data)

    def test_a_server_that_trickles_is_left_at_the_deadline(self):
        def trickle(reply):
            yield reply[:1000]
            for i in range(1000, len(reply)):  # of two days
                time.sleep(0.05)
                yield reply[i:i + 1]

        env, _ = self.proxy(lambda _, reply: (trickle(reply), "cut"))
        line = self.run_probe("--seconds", 1, "get", "s3://data/x", "big", self.target, env=env, fails=True)
        self.assertRegex(line, r"^error timeout: reading s3://data/x/big was not done within 1\.0 s; the last failure: ")

    def test_lengths_that_lie(self):
        def claim(size):
            def plan(_, reply):
                head, _, body = reply.partition(b"\r\n\r\n")
                return re.sub(rb"(?i)content-length: *\d+", b"Content-Length: %d" % size, head) + b"\r\n\r\n" + body, "cut"
            return plan

        env, _ = self.proxy(claim(4_000_000))
        line = self.run_probe("--attempts", 3, "get", "s3://data/x", "big", self.target, env=env, fails=True)
        self.assertRegex(line, "^error (unavailable|conflict|invalid): reading s3://data/x/big")
        # What claims less is whole as far as anybody can see: only its data set's hashes find it out.
        env, _ = self.proxy(claim(1_000_000))
        order = self.server.folder / "order"
        order.write_text(f"big 3000000 {'0' * 64}\n")
        line = self.run_probe("cache", "s3://data/x", self.server.folder / "cache", order, env=env, fails=True)
        self.assertIn("gave 1000000 bytes, expected 3000000 bytes", line)

    def test_another_hash(self):
        order = self.server.folder / "order"
        order.write_text(f"big 3000000 {'0' * 64}\n")
        folder = self.server.folder / "cache"
        line = self.run_probe("cache", "s3://data/x", folder, order, fails=True)
        self.assertRegex(line, "^error corrupted: checking s3://data/x/big: sha256 is .{64}, expected 0{64}$")
        self.assertEqual([path.name for path in folder.iterdir() if path.suffix], [])

    def test_nobody_there(self):
        env = environment("http://127.0.0.1:9")
        line = self.run_probe("--attempts", 2, "get", "s3://data/x", "big", self.target, env=env, fails=True)
        self.assertRegex(line, "^error unavailable: reading s3://data/x/big failed 2 times")

    def test_tls(self):
        server = S3Server(is_encrypted=True)
        self.addCleanup(server.close)
        server.start()
        own = environment(server.url, AWS_CA_BUNDLE=str(server.folder / "server.pem"))
        self.run_probe("put", "s3://data", "k", self.source, env=own)
        self.run_probe("get", "s3://data", "k", self.target, env=own)
        self.assertEqual(self.target.read_bytes(), self.data)
        line = self.run_probe("get", "s3://data", "k", self.target, env=environment(server.url), fails=True)
        self.assertRegex(line, "^error permission_denied: .*certificate is not acceptable")
        line = self.run_probe("get", "s3://data", "k", self.target, fails=True,
                              env=environment(server.url, AWS_CA_BUNDLE="/nonexistent/ca.pem"))
        self.assertRegex(line, r"^error not_found: opening s3://data: reading the trusted authorities \(ca_file, AWS_CA_BUNDLE\)")


if __name__ == "__main__":
    run_tests()
