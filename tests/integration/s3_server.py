"""A real S3 server (versitygw) on loopback, a proxy before it that breaks what it is told to, and the probe that talks
to both. Used by the tests beside it."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from ports import take_port

PROBE = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin" / "store_probe"
ROOT_KEY, ROOT_SECRET = "AKIDROOT", "root-secret-of-a-test"


def missing_programs():
    return [name for name in ("versitygw", "openssl") if shutil.which(name) is None]


class S3Server:
    def __init__(self, bucket="data", is_encrypted=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-s3-"))
        self.bucket = self.folder / "root" / bucket
        self.bucket.mkdir(parents=True)
        for name in ("iam", "sidecar"):
            (self.folder / name).mkdir()
        self.port, self.admin_port = take_port(), take_port()
        self.url = f"http{'s' if is_encrypted else ''}://127.0.0.1:{self.port}"
        self.process = None
        self.tls = self._make_certificate() if is_encrypted else []
        self.log = self.folder / "access.log"

    def start(self):
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                ["versitygw", "--port", f"127.0.0.1:{self.port}", "--admin-port", f"127.0.0.1:{self.admin_port}",
                 "--access", ROOT_KEY, "--secret", ROOT_SECRET, "--iam-dir", self.folder / "iam", "--keep-alive",
                 "--access-log", self.log, "--quiet", *self.tls, "posix", "--sidecar", self.folder / "sidecar",
                 self.folder / "root"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"versitygw did not get ready:\n{(self.folder / 'server.log').read_text()[-2000:]}")

    def _make_certificate(self):
        """The options of a server that shows server.pem, which is its own authority."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out",
                        "server.pem", "-subj", "/CN=s3", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"],
                       cwd=self.folder, check=True, capture_output=True)
        return ["--cert", self.folder / "server.pem", "--key", self.folder / "server.key"]

    def add_user(self, key, secret):
        subprocess.run(["versitygw", "admin", "--access", ROOT_KEY, "--secret", ROOT_SECRET, "--endpoint-url",
                        f"http://127.0.0.1:{self.admin_port}", "create-user", "--access", key, "--secret", secret,
                        "--role", "user"], check=True, capture_output=True, timeout=180)

    def write(self, key, data):
        """Puts an object there as the server's own files, for tests that only read."""
        path = self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def is_at_rest(self):
        """Whether it is done with all that clients asked for, those that were killed, too: no connection to it is open."""
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        is_established, is_closed_by_client = "01", "08"
        return not any(row[1].endswith(f":{self.port:04X}") and row[3] in (is_established, is_closed_by_client) for row in rows)

    def count_reads(self, key):
        return sum(f" s3_GetObject {key} " in line for line in self.log.read_text().splitlines())

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class FaultyProxy:
    """Forwards connections to a server. `plan(number, reply)` may give other bytes for a reply (all of it, head and body)
    and what follows: "keep", "cut" or "hang". Replies are read by their Content-Length.

    `meddle(request)` gives what is sent instead: a list of requests, of which the last one's answer is passed on (none: the
    connection is cut), or such a list and a function of that answer that stands for the plan. `cut_body(data)`, asked with
    the beginning of each request, says after how many bytes both sides are cut, or None."""

    def __init__(self, port, plan=lambda number, reply: (reply, "keep"), meddle=None, cut_body=None):
        self.plan, self.requests = plan, 0
        self._meddle, self._cut_body = meddle, cut_body
        self._to = port
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self):
        self._stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=180)

    def _accept(self):
        while not self._stopped.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(client,)))
            self._threads[-1].start()

    def _serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self._to)) as server:
            client.settimeout(180)
            while not self._stopped.is_set():
                try:
                    request, is_cut = self._request(client)
                    if is_cut:
                        server.sendall(request)
                    if is_cut or not request:
                        return
                    sent = self._meddle(request) if self._meddle else [request]
                    sent, judge = sent if isinstance(sent, tuple) else (sent, None)
                    reply = b""
                    for one in sent:
                        server.sendall(one)
                        reply = self._message(server, is_bodiless=one.startswith(b"HEAD "))
                except OSError:
                    return
                self.requests += 1
                if not sent and not judge:
                    return
                data, then = judge(reply) if judge else self.plan(self.requests, reply)
                try:
                    for piece in [data] if isinstance(data, bytes) else data:
                        if self._stopped.is_set():
                            return
                        client.sendall(piece)
                    if then == "hang":
                        client.recv(1)
                except OSError:
                    return
                if then != "keep":
                    return

    def _request(self, client):
        """The request, and whether it is to be cut off where it ends here."""
        if self._cut_body is None:
            return self._message(client), False
        head = b""
        while b"\r\n\r\n" not in head:
            more = client.recv(4096)
            if not more:
                return b"", False
            head += more
        limit = self._cut_body(head)
        if limit is None:
            return self._message(client, data=head), False
        limit = min(limit, self._size(head))  # whoever sent it all waits for an answer and sends no more
        while len(head) < limit:
            more = client.recv(min(65536, limit - len(head)))
            if not more:
                break
            head += more
        return head, True

    @staticmethod
    def _message(connection, is_bodiless=False, data=b""):
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        message, size = bytearray(data), FaultyProxy._size(data, is_bodiless)
        while len(message) < size:
            more = connection.recv(1 << 20)
            if not more:
                return b""
            message += more
        return bytes(message)

    @staticmethod
    def _size(data, is_bodiless=False):
        """How many bytes the message has that begins so."""
        head = data.partition(b"\r\n\r\n")[0]
        size = len(head) + 4
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length" and not is_bodiless:
                size += int(value)
        return size


def kind_of(request):
    """Which of the calls of an upload a request is."""
    line = request.split(b"\r\n", 1)[0].decode()
    if line.startswith("POST"):
        return "begin" if "uploads=" in line else "complete"
    if line.startswith("PUT"):
        return "part" if "partNumber=" in line else "put"
    if line.startswith("DELETE"):
        return "abort"
    return "look" if line.startswith("HEAD") else "read"


def lost(request):
    """The server gets it, and its answer is lost."""
    return [request], lambda reply: (b"", "cut")


def answered(reply):
    """The server gets nothing."""
    return [], lambda _: (reply, "keep")


def environment(endpoint, key=ROOT_KEY, secret=ROOT_SECRET, **more):
    """Of a probe: nothing of this machine's own credentials."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "S3_"))}
    clean |= {"HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL_S3": endpoint}
    if key:
        clean |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    return clean | more


def probe(env, *arguments, timeout=180, program=PROBE):
    """(exit code, lines)."""
    done = subprocess.run([program, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=timeout,
                          check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


class S3Test(unittest.TestCase):
    """Tests that share a server: cls.server, and cls.own, the environment of a probe that may do everything there."""

    @classmethod
    def setUpClass(cls):
        cls.server = S3Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.own = environment(cls.server.url)

    def proxy(self, *arguments, **options):
        """A FaultyProxy before the server, and the environment of a probe that goes through it."""
        proxy = FaultyProxy(self.server.port, *arguments, **options)
        self.addCleanup(proxy.close)
        return environment(proxy.url), proxy


def run_tests():
    if missing := missing_programs():
        print(f"SKIPPED: {', '.join(missing)} not found; scripts/setup --only test builds them (needs Go 1.25)")
        sys.exit(77)
    unittest.main(module="__main__", verbosity=2)
