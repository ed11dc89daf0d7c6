"""ratoon-launcher beside a coordinator of this test: what it says, what its program gets, and how both end."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from local_run import BIN, wait_until

LAUNCHER = BIN / "ratoon-launcher"
TOKEN = "the token of this test"


class Coordinator(http.server.ThreadingHTTPServer):
    """Gives each start that asks a world of its own, and remembers all messages."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.lock = threading.Lock()
        self.messages = []  # (route, message)
        self.attempt = 0
        self.orders = {}
        self.refusal = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, route, message, token):
        with self.lock:
            self.messages.append((route, message))
            if token != f"Bearer {TOKEN}":
                return 401, {"refusal": {"kind": "unauthorized", "message": "another token"}}
            if self.refusal:
                return 409, {"refusal": self.refusal}
            if route == "/v1/join":
                self.attempt += 1
                return 200, {"assignment": {"attempt": self.attempt, "rank": 1, "world_size": 4, "beat_seconds": 0.2,
                                            "rendezvous": "127.0.0.9:1234", "secret": "0" * 64}}
        if route == "/v1/orders":
            time.sleep(0.1)  # a long poll, in short
        with self.lock:
            return 200, {"attempt": self.attempt, "revision": len(self.messages), **self.orders}

    def beats(self):
        with self.lock:
            return [message for route, message in self.messages if route == "/v1/beat"]

    def joins(self):
        with self.lock:
            return [message for route, message in self.messages if route == "/v1/join"]


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, reply = self.server.answer(self.path, message, self.headers["Authorization"])
        body = json.dumps({"version": 1, **reply}).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the launcher has ended

    def log_message(self, *_):
        pass


class Alone(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-launcher-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.coordinator = Coordinator()
        self.addCleanup(self.coordinator.server_close)
        self.addCleanup(self.coordinator.shutdown)
        (self.folder / "token").write_text(TOKEN)

    def environment(self, **more):
        return {**os.environ, "RATOON_JOB_NAMESPACE": "default", "RATOON_JOB_NAME": "any", "RATOON_ROLE": "worker",
                "RATOON_INDEX": "1", "RATOON_INCARNATION": "0", "RATOON_MEMBER_UID": "u",
                "RATOON_COORDINATOR_URL": f"http://127.0.0.1:{self.coordinator.server_address[1]}",
                "RATOON_TOKEN_FILE": str(self.folder / "token"), "RATOON_NOTICE_FILE": str(self.folder / "notice"),
                "RATOON_GRACE_SECONDS": "20", **more}

    def start(self, *command, within=(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more):
        process = subprocess.Popen([*within, LAUNCHER, "--", *command], stdin=subprocess.DEVNULL, stdout=stdout,
                                   stderr=stderr, env=self.environment(**more))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def finish(self, process):
        """(exit code, stdout, stderr)"""
        out, errors = process.communicate(timeout=180)
        return process.returncode, out, errors.decode()

    def run_shell(self, script, **more):
        return self.finish(self.start("sh", "-c", script, **more))

    def wait_for_file(self, name):
        return wait_until(lambda: (self.folder / name).exists() and (self.folder / name).read_text(), name)

    def test_the_program_is_linked_statically(self):
        told = subprocess.run(["readelf", "--wide", "--program-headers", "--dynamic", LAUNCHER], capture_output=True, text=True,
                              check=True)
        if os.environ.get("RATOON_SANITIZE"):
            self.skipTest("sanitizers are linked dynamically")
        self.assertNotIn("INTERP", told.stdout)
        self.assertNotIn("NEEDED", told.stdout)

    def test_it_runs_where_there_is_nothing_else(self):
        """In a folder without a C library, as in an image of another distribution."""
        root = self.folder / "root"
        root.mkdir()
        self.install(root / "ratoon-launcher")
        done = subprocess.run(["/ratoon-launcher", "--help"], capture_output=True, text=True, check=False,
                              preexec_fn=lambda: os.chroot(root))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Usage: ratoon-launcher", done.stdout)

    def install(self, path):
        subprocess.run([LAUNCHER, "--install", path], check=True, timeout=60)

    def test_it_copies_itself_for_any_user(self):
        copy = self.folder / "copy"
        for _ in range(2):  # the init container of a pod may run twice
            self.install(copy)
        self.assertEqual(copy.read_bytes(), LAUNCHER.read_bytes())
        self.assertEqual(copy.stat().st_mode & 0o777, 0o755)
        done = subprocess.run([LAUNCHER, "--install", self.folder / "none" / "copy"], capture_output=True, text=True, check=False,
                              timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"creating {self.folder}/none/copy.new", done.stderr)

    def test_the_program_gets_its_place_and_no_secret(self):
        code, out, errors = self.run_shell('echo "$RANK $WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $1"; env', MASTER_PORT="29500")
        self.assertEqual(code, 0, errors)
        text = out.decode()
        self.assertTrue(text.startswith("1 4 127.0.0.9:1234 "), text)
        for secret in ("RATOON_COORDINATOR_URL", "RATOON_TOKEN_FILE", TOKEN):
            self.assertNotIn(secret, text)
        self.assertIn("RATOON_JOB_NAME=any", text)
        (join,) = self.coordinator.joins()
        self.assertEqual(join["address"], "127.0.0.1:29500")

    def test_exit_codes_and_bytes_pass_unchanged(self):
        code, out, errors = self.run_shell(r"printf '\000\377\r\n'; printf 'to stderr' >&2")
        self.assertEqual((code, out, errors), (0, b"\x00\xff\r\n", "to stderr"))

    def test_a_failure_ends_the_launcher_after_the_news_could_come(self):
        self.assertEqual(self.run_shell("exit 7")[0], 7)

    def test_the_last_heartbeat_has_the_exit_code_of_the_program(self):
        for code in (0, 7):
            self.run_shell(f"exit {code}")
            self.assertEqual(self.coordinator.beats()[-1].get("program_exit_code"), code)
        before = len(self.coordinator.beats())
        process = self.start_one_that_keeps_its_notice()
        wait_until(lambda: len(self.coordinator.beats()) > before, "a heartbeat of this launcher")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 80)
        self.assertNotIn("program_exit_code", self.coordinator.beats()[-1], "it was told to leave")

    def test_a_program_that_does_not_exist_is_named(self):
        code, _, errors = self.finish(self.start("no-such-program"))
        self.assertEqual(code, 127)
        self.assertIn("no-such-program", errors)

    def test_heartbeats_go_on_while_the_output_is_full_or_closed(self):
        reading, writing = os.pipe()
        process = self.start("sh", "-c", "yes", stdout=writing, stderr=writing)
        os.close(writing)
        wait_until(lambda: any(beat["attempt"] == 1 for beat in self.coordinator.beats()), "the program to run")
        before = len(self.coordinator.beats())
        wait_until(lambda: len(self.coordinator.beats()) > before + 5, "heartbeats beside a full pipe")
        os.close(reading)
        wait_until(lambda: process.poll() is not None or len(self.coordinator.joins()) > 1, "yes to end by SIGPIPE")
        process.send_signal(signal.SIGTERM)
        process.wait(180)

    def start_one_that_keeps_its_notice(self):
        script = (f'trap "cat $RATOON_NOTICE_FILE > {self.folder}/told; exit 0" TERM; touch {self.folder}/up; '
                  "while :; do sleep 0.05; done")
        process = self.start("sh", "-c", script)
        wait_until(lambda: (self.folder / "up").exists(), "the program to run")
        return process

    def test_a_signal_is_notice_with_the_grace_of_the_pod(self):
        process = self.start_one_that_keeps_its_notice()
        process.send_signal(signal.SIGTERM)
        code, _, errors = self.finish(process)
        self.assertEqual(code, 80, errors)
        notice = json.loads((self.folder / "told").read_text())
        self.assertIn("signal 15", notice["reason"])

    def test_a_signal_that_a_background_shell_ignores_changes_nothing(self):
        script = f"touch {self.folder}/begun; until [ -e {self.folder}/end ]; do sleep 0.05; done; exit 7"
        process = self.start("sh", "-c", script, within=("sh", "-c", "trap '' INT; exec \"$0\" \"$@\""))
        wait_until(lambda: (self.folder / "begun").exists(), "the program to run")
        process.send_signal(signal.SIGINT)
        beats = len(self.coordinator.beats())
        wait_until(lambda: len(self.coordinator.beats()) > beats + 2, "beats after the signal")
        (self.folder / "end").touch()
        self.assertEqual(self.finish(process)[0], 7)

    def test_the_end_of_the_node_is_notice_from_the_orders(self):
        process = self.start_one_that_keeps_its_notice()
        self.coordinator.orders = {"drain_deadline_seconds": 19.0}
        code, _, errors = self.finish(process)
        self.assertEqual(code, 80, errors)
        self.assertIn("node of this process ends", self.wait_for_file("told"))

    def test_in_the_next_world_the_program_starts_again(self):
        process = self.start("sh", "-c", f"echo $$ >> {self.folder}/starts; exec sleep 1000")
        self.wait_for_file("starts")
        with self.coordinator.lock:
            self.coordinator.attempt += 1
        wait_until(lambda: len((self.folder / "starts").read_text().split()) == 2, "another start")
        first, second = self.coordinator.joins()
        self.assertEqual(first["process"]["start"], second["process"]["start"])
        self.assertEqual((second["left_attempt"], second["has_met"]), (1, True))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 143)

    def test_a_killed_program_is_another_start_in_the_same_pod(self):
        process = self.start("sh", "-c", f"echo $$ >> {self.folder}/starts; exec sleep 1000")
        os.kill(int(self.wait_for_file("starts")), signal.SIGKILL)
        wait_until(lambda: len((self.folder / "starts").read_text().split()) == 2, "another start")
        first, second = self.coordinator.joins()
        self.assertNotEqual(first["process"]["start"], second["process"]["start"])
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def test_a_member_that_was_replaced_kills_its_program(self):
        process = self.start("sh", "-c", f"trap '' TERM; echo $$ > {self.folder}/pid; sleep 1000; sleep 1000")
        pid = int(self.wait_for_file("pid"))
        self.coordinator.refusal = {"kind": "superseded", "message": "replaced by incarnation 1"}
        code, _, errors = self.finish(process)
        self.assertEqual(code, 81, errors)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def test_as_the_first_process_it_reaps_orphans_and_leaves_none(self):
        # An orphan that is not reaped stays in /proc as a zombie.
        script = (f"(setsid sleep 1000 & echo $! > {self.folder}/left; exit 0); orphan=$(sh -c 'sleep 0.1 >&- & echo $!'); "
                  "for i in $(seq 600); do [ -e /proc/$orphan ] || break; sleep 0.1; done; "
                  f"ps -eo stat= | grep -c '^Z' > {self.folder}/zombies; exit 0")
        process = self.start("sh", "-c", script, within=["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
        code, _, errors = self.finish(process)
        self.assertEqual(code, 0, errors)
        self.assertEqual((self.folder / "zombies").read_text().strip(), "0")

    def test_as_the_first_process_it_leaves_a_daemon_of_the_program_alone(self):
        """A daemon is started by two forks: the leader of its session has ended, and the first process has adopted both."""
        daemon = ("import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
                  f"open(\"{self.folder}/pid\", \"w\").write(str(os.getpid()))\ntime.sleep(1000)")
        script = (f"python3 -c '{daemon}'; while [ ! -s {self.folder}/pid ]; do sleep 0.1; done; sleep 1; "
                  f"cat /proc/$(cat {self.folder}/pid)/comm > {self.folder}/daemon; exit 0")
        process = self.start("sh", "-c", script, within=["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
        code, _, errors = self.finish(process)
        self.assertEqual(code, 0, errors)
        self.assertIn("python", (self.folder / "daemon").read_text())

    def test_a_coordinator_that_is_away_stops_nothing(self):
        process = self.start("sh", "-c", f"touch {self.folder}/up; sleep 3; echo done")
        wait_until(lambda: (self.folder / "up").exists(), "the program to run")
        self.coordinator.shutdown()
        self.coordinator.server_close()
        code, out, errors = self.finish(process)
        self.assertEqual((code, out), (0, b"done\n"), errors)

    def test_a_wrong_environment_is_a_sentence(self):
        done = subprocess.run([LAUNCHER, "--", "true"], capture_output=True, text=True, check=False, timeout=60,
                              env={**self.environment(), "RATOON_COORDINATOR_URL": "https://coordinator.svc:9443"})
        self.assertEqual(done.returncode, 82)
        self.assertIn("give the IP address of the coordinator", done.stderr)
        done = subprocess.run([LAUNCHER], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 82)
        self.assertIn("put it behind --", done.stderr)


if __name__ == "__main__":
    unittest.main()
