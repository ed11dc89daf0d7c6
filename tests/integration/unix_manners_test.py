"""`ratoon run` and `ratoon launch` among other programs: inherited signals, outputs that are closed, full or not read, a machine
that is short of processes or files, other users' connections, children that nothing else reaps."""
import http.server
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from local_run import BIN, LocalRun, process_state, wait_until

RATOON = BIN / "ratoon"
OTHER_USER = 54321


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def fill(pipe):
    """A pipe that takes nothing more: a writer that blocks would wait for ever."""
    os.set_blocking(pipe, False)
    try:
        while os.write(pipe, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(pipe, True)


class InstalledOperator(http.server.BaseHTTPRequestHandler):
    """Answers as the API server of a cluster on which an operator is available and leads."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, {"status": {"conditions": [{"type": "Available", "status": "True"}]}, "spec": {"holderIdentity": "one"}})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201, {})

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Manners(unittest.TestCase):
    def make_run(self, **arguments):
        run = LocalRun(**arguments)
        self.addCleanup(run.close)
        return run

    def open_run(self, run, *words, **options):
        """A runner of which the test holds the streams itself."""
        process = subprocess.Popen([RATOON, "run", run.job_file, "--folder", run.folder, *map(str, words)],
                                   env={**os.environ, **run.gate.environment}, start_new_session=True, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def launch_one_that_waits(self, **options):
        """`ratoon launch` of a program that writes its number into a file, and waits: (the launcher, the file)"""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        told = pathlib.Path(folder.name) / "told"
        # Its shell tells of a `sleep` that is killed, and would wait where the output is full.
        program = f"exec 2> /dev/null; trap 'exit 80' TERM; echo $$ >> {told}; while [ ! -e {told}.go ]; do sleep 0.05; done"
        process = subprocess.Popen([RATOON, "launch", "--", "sh", "-c", program], **options)
        self.addCleanup(process.kill)
        wait_until(lambda: lines_of(told), "the program")
        return process, told

    def expect_another_one(self, process, told):
        """In the place of the one that was killed; the launcher ends well with it."""
        wait_until(lambda: len(lines_of(told)) == 2, "another one in its place")
        pathlib.Path(f"{told}.go").touch()
        self.assertEqual(process.wait(), 0)

    def members_of(self, run):
        """{pod: its first process}"""
        return {member["name"]: member["pids"][0] for member in run.status()["members"] if member["pids"]}

    def pid_of(self, run, member):
        """Once the status has it: where the disk is slow, it comes later than a checkpoint."""
        return wait_until(lambda: self.members_of(run).get(member), f"{member} in the status")

    def test_nohup_keeps_a_run_when_its_terminal_goes(self):
        run = self.make_run(held_at=20)
        process = self.open_run(run, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.wait_for_commit(10)
        process.send_signal(signal.SIGHUP)
        run.let_pass(200)
        self.assertEqual(process.wait(), 0)

    def test_nohup_keeps_what_launch_started(self):
        process, told = self.launch_one_that_waits(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        os.kill(int(lines_of(told)[0]), signal.SIGKILL)
        self.expect_another_one(process, told)

    def test_a_pipe_that_is_not_read_stops_no_decision(self):
        run = self.make_run(held_at=20, spec={"restartPolicy": {"maxRestarts": 100}})
        ours, theirs = os.pipe()
        fill(theirs)
        with open(theirs, "wb", buffering=0) as pipe:
            process = self.open_run(run, stdout=pipe)
        run.wait_for_commit(10)
        os.kill(self.pid_of(run, "counter-worker-1-i0"), signal.SIGKILL)
        wait_until(lambda: "counter-worker-1-i1" in self.members_of(run), "a member in the place of the one that was killed")
        process.send_signal(signal.SIGINT)
        wait_until(lambda: not self.members_of(run), "the members to leave")
        with open(ours, "rb") as pipe:  # the last lines wait for a reader, and come in order
            said = pipe.read().lstrip(b"x").decode()
        self.assertEqual(process.wait(), 130)
        self.assertIn("counter-worker-1-i0: ended by signal 9", said)
        self.assertIn("stopping: members save and leave", said)

    def test_closed_streams_are_no_files_of_the_run(self):
        run = self.make_run(command=["counter", "--steps", "20"])
        script = 'exec "$@" 0<&- 1>&- 2>&-'
        done = subprocess.run(["sh", "-c", script, "sh", RATOON, "run", run.job_file, "--folder", run.folder], check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(run.status()["job"]["status"]["phase"], "Succeeded")

    def test_output_that_cannot_be_written_is_no_success(self):
        run = self.make_run(command=["counter", "--steps", "20"])
        self.assertEqual(self.open_run(run, stdout=subprocess.DEVNULL).wait(), 0)
        for words in (["checkpoint", "list", run.folder], ["checkpoint", "verify", run.folder], ["report", run.folder, "--json"],
                      ["status", run.folder], ["completion", "bash"], ["--help"], ["run", "--help"], ["--version"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([RATOON, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 84, done.stderr)
                self.assertIn("standard output could not be written whole", done.stderr)
            with self.subTest(words=words, output="closed"):
                done = subprocess.run(["sh", "-c", 'exec "$@" 1>&-', "sh", RATOON, *words], stderr=subprocess.PIPE, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 84, done.stderr)

    def write_kubeconfig(self):
        """Of a cluster on which an operator is installed."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), InstalledOperator)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        kubeconfig = pathlib.Path(folder.name) / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "a", "user": {}}]}))
        return kubeconfig

    def test_output_of_the_other_programs_that_cannot_be_written_is_no_success(self):
        check = ("ratoon-operator", f"--kubeconfig={self.write_kubeconfig()}", "--check-installation=ratoon")
        for program, *words in (("ratoon-operator", "--help"), check, ("ratoon-launcher", "--help")):
            with self.subTest(program=program, words=words):
                done = subprocess.run([BIN / program, *words], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout)
                with open("/dev/full", "w") as full:
                    done = subprocess.run([BIN / program, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 84, done.stderr)
                self.assertIn(f"{program}: standard output could not be written whole", done.stderr)

    def test_a_start_that_the_system_refuses_is_tried_again(self):
        run = self.make_run(held_at=20)
        as_user = {}
        if os.geteuid() == 0:  # root is held to no number of processes
            as_user = {"user": OTHER_USER, "group": OTHER_USER, "extra_groups": []}
            os.chown(run.root, OTHER_USER, OTHER_USER)
        process = self.open_run(run, stdout=subprocess.PIPE, text=True, **as_user)
        run.wait_for_commit(10)
        member = self.pid_of(run, "counter-worker-1-i0")
        subprocess.run(["prlimit", f"--pid={process.pid}", "--nproc=1:"], check=True, **as_user)
        os.kill(member, signal.SIGKILL)
        said = []
        for line in process.stdout:
            said.append(line)
            if "the start is tried again each second" in line:
                break
        else:
            self.fail("it ended: " + "".join(said))
        subprocess.run(["prlimit", f"--pid={process.pid}", "--nproc=10000:"], check=True, **as_user)
        run.let_pass(200)
        said += process.stdout.readlines()
        self.assertEqual(process.wait(), 0, "".join(said))

    def test_launch_tries_a_refused_start_again(self):
        process, told = self.launch_one_that_waits(stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, hard))
        os.kill(int(lines_of(told)[0]), signal.SIGKILL)
        for line in process.stderr:
            if "cannot be started now" in line:
                break
        else:
            self.fail("it ended")
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.expect_another_one(process, told)

    def test_a_closed_output_does_not_end_what_launch_started(self):
        ours, theirs = os.pipe()
        process, told = self.launch_one_that_waits(stderr=theirs)
        os.close(theirs)
        os.close(ours)
        os.kill(int(lines_of(told)[0]), signal.SIGKILL)
        self.expect_another_one(process, told)

    def test_programs_of_launch_get_the_signals_of_writes_as_it_got_them(self):
        of_writes = [signal.SIGPIPE, signal.SIGXFSZ]
        for is_ignored in (False, True):
            with self.subTest(is_ignored=is_ignored):
                handler = signal.SIG_IGN if is_ignored else signal.SIG_DFL
                done = subprocess.run([RATOON, "launch", "--", "grep", "SigIgn", "/proc/self/status"], stdout=subprocess.PIPE,
                                      text=True, check=True, restore_signals=False,
                                      preexec_fn=lambda: [signal.signal(number, handler) for number in of_writes])
                ignored = int(done.stdout.split()[1], 16)
                self.assertEqual([bool(ignored >> (number - 1) & 1) for number in of_writes], [is_ignored] * 2)

    def test_an_output_that_is_not_read_stops_no_decision_of_launch(self):
        ours, theirs = os.pipe()
        fill(theirs)
        process, told = self.launch_one_that_waits(stderr=theirs)
        os.kill(int(lines_of(told)[0]), signal.SIGKILL)
        wait_until(lambda: len(lines_of(told)) == 2, "another one in its place")
        said = b""
        while b"it is started again\n" not in said:  # the line waits for a reader
            said += os.read(ours, 65536)
        fill(theirs)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 80)
        os.close(ours)
        os.close(theirs)

    def test_ctrl_c_that_ends_the_reader_too_gives_launch_its_code(self):
        ours, theirs = os.pipe()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        ready = pathlib.Path(folder.name) / "ready"
        program = f"trap 'exit 130' INT; touch {ready}; while true; do sleep 0.05; done"
        process = subprocess.Popen([RATOON, "launch", "--", "sh", "-c", program], stderr=theirs)
        self.addCleanup(process.kill)
        wait_until(ready.exists, "the program")
        os.close(theirs)
        os.close(ours)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)

    def test_connections_of_others_take_no_file_that_the_run_needs(self):
        run = self.make_run(held_at=20)
        limit = (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        process = self.open_run(run, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        run.wait_for_commit(10)
        member = self.pid_of(run, "counter-worker-1-i0")
        environment = pathlib.Path(f"/proc/{member}/environ").read_bytes().split(b"\0")
        url = next(item for item in environment if item.startswith(b"RATOON_COORDINATOR_URL=")).decode()
        port = int(url.rsplit(":", 1)[1])
        strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(120)]
        os.kill(member, signal.SIGKILL)
        wait_until(lambda: "counter-worker-1-i1" in self.members_of(run), "a member in the place of the one that was killed")
        run.let_pass(200)
        self.assertEqual(process.wait(), 0)
        for stranger in strangers:
            stranger.close()

    @unittest.skipUnless(os.geteuid() == 0, "a namespace of processes takes root")
    def test_as_the_first_process_of_a_container_it_reaps_what_is_left_to_it(self):
        run = self.make_run(spec={"numNodes": 1})
        ready, go = run.root / "ready", run.root / "go"
        orphans = f"for i in $(seq 20); do (true &); done; touch {ready}; while [ ! -e {go} ]; do sleep 0.05; done"
        run.document["spec"]["roles"][0]["agent"] = "None"
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", orphans]
        run.write_job()
        process = subprocess.Popen(["unshare", "--fork", "--pid", "--mount-proc", RATOON, "run", run.job_file, "--folder",
                                    run.folder], stdout=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        wait_until(ready.exists, "processes whose parents are gone")
        runner = children_of(process.pid)[0]
        wait_until(lambda: not any(process_state(pid) == "Z" for pid in children_of(runner)),
                   "no process that ended to wait for its parent")
        go.touch()
        self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    unittest.main()
