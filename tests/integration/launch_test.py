"""`ratoon launch` with real processes: what is killed is started again, signals reach each process once, and the
code of whoever failed is the launcher's."""

import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from local_run import BIN, LINE, PATIENCE_SECONDS, Gate, LocalRun, is_running, wait_until

# Says who it is, then waits to be told to leave; says each signal that it gets.
WAITER = """
import os, signal, sys
def say(text): os.write(1, (text + "\\n").encode())
def leave(number, frame):
    say(f"signal {number} to {os.environ['LOCAL_RANK']}")
    sys.exit(80)
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGINT, leave)
signal.signal(signal.SIGUSR1, lambda number, frame: say(f"signal {number} to {os.environ['LOCAL_RANK']}"))
say(f"process {os.environ['LOCAL_RANK']} of {os.environ['LOCAL_WORLD_SIZE']} is {os.getpid()}"
    f" sees {os.environ.get('CUDA_VISIBLE_DEVICES')}")
while True: signal.pause()
"""


class Launch(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-launch-"))
        self.gate = Gate(self.root)
        self.process = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root)

    def start(self, *words, **environment):
        with open(self.root / "output.txt", "w") as output:
            self.process = subprocess.Popen([BIN / "ratoon", "launch", *words], cwd=self.root, stdout=output,
                                            stderr=subprocess.STDOUT, start_new_session=True,
                                            env={**os.environ, **self.gate.environment, **environment})

    # In a member the processes are supervised here; the address is never called by a trainer without the agent.
    def start_member(self, *words, **environment):
        self.start(*words, RATOON_COORDINATOR_URL="http://127.0.0.1:9", **environment)

    def output(self):
        return (self.root / "output.txt").read_text()

    def finish(self):
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def started(self):
        """[(local rank, pid, devices)] of all that said who they are."""
        return [(int(r), int(p), d) for r, p, d in
                re.findall(r"process (\d+) of \d+ is (\d+) sees (\S+)", self.output())]

    def wait_for_processes(self, count):
        return wait_until(lambda: self.started() if len(self.started()) >= count else None, f"{count} starts")

    def test_the_killed_one_is_started_again_and_the_others_go_on(self):
        self.start_member("--nproc", "3", "--", "python3", "-c", WAITER)
        first = {rank: pid for rank, pid, _ in self.wait_for_processes(3)}
        self.assertEqual(sorted(first), [0, 1, 2])
        os.kill(first[1], signal.SIGKILL)
        again = self.wait_for_processes(4)[3]
        self.assertEqual(again[0], 1)
        for rank in (0, 2):
            os.kill(first[rank], 0)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(), 80, self.output())
        self.assertEqual(len(self.started()), 4)
        self.assertIn("was killed by signal 9; it is started again", self.output())

    def test_a_program_that_is_away_for_a_moment_is_started_again_when_it_is_back(self):
        program = self.root / "waiter"
        program.write_text("#!/usr/bin/env python3\n" + WAITER)
        program.chmod(0o755)
        self.start_member("--nproc", "2", "--", program)
        first = {rank: pid for rank, pid, _ in self.wait_for_processes(2)}
        program.rename(self.root / "away")
        os.kill(first[1], signal.SIGKILL)
        wait_until(lambda: "process 1 cannot be started now" in self.output(), "the refused start")
        os.kill(first[0], 0)
        (self.root / "away").rename(program)
        self.assertEqual(self.wait_for_processes(3)[2][0], 1)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(), 80, self.output())

    def test_a_signal_reaches_each_process_once_and_only_some_end_it(self):
        self.start_member("--nproc", "2", "--", "python3", "-c", WAITER)
        self.wait_for_processes(2)
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.output().count(f"signal {int(signal.SIGUSR1)} to") == 2, "USR1 at both")
        os.killpg(self.process.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(self.finish(), 80, self.output())
        self.assertEqual(self.output().count(f"signal {int(signal.SIGINT)} to"), 2, self.output())
        self.assertEqual(self.output().count(f"signal {int(signal.SIGUSR1)} to"), 2, self.output())

    def test_one_that_is_stopped_before_its_process_is_started_again_is_not_done(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 80)):
            with self.subTest(number.name):
                self.start_member("--nproc", "1", "--", "sh", "-c", "kill -9 $$")
                wait_until(lambda: self.output().count("it is started again") > 1, "a pause before the next start")
                self.process.send_signal(number)
                # 137 where a process had been started once more by then: it ends itself.
                self.assertIn(self.finish(), (code, 137), self.output())

    def test_a_failure_ends_the_others_and_is_the_exit_code(self):
        stubborn = "import os, signal, sys, time\nif os.environ['LOCAL_RANK'] == '1': sys.exit(7)\n" \
                   "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
        self.start_member("--nproc", "3", "--grace", "1", "--", "python3", "-c", stubborn)
        self.assertEqual(self.finish(), 7, self.output())
        self.assertIn("process 1 (pid", self.output())

    def test_nothing_outlives_the_launcher(self):
        self.start_member("--nproc", "2", "--", "python3", "-c", WAITER)
        pids = [pid for _, pid, _ in self.wait_for_processes(2)]
        self.process.kill()
        self.process.wait()
        for pid in pids:
            wait_until(lambda: not is_running(pid), f"the end of {pid}")

    def test_what_a_process_left_behind_is_ended_with_it(self):
        leaving = "import os, subprocess; print('left', subprocess.Popen(['sleep', '600']).pid, flush=True)"
        self.start_member("--", "python3", "-c", leaving)
        self.assertEqual(self.finish(), 0, self.output())
        left = int(re.search(r"left (\d+)", self.output())[1])
        wait_until(lambda: not is_running(left), "the end of what was left")

    def test_each_process_has_a_gpu_of_its_own(self):
        self.start_member("--nproc", "auto", "--", "python3", "-c", WAITER, CUDA_VISIBLE_DEVICES="5,GPU-1a,3")
        devices = {rank: device for rank, _, device in self.wait_for_processes(3)}
        self.assertEqual(devices, {0: "5", 1: "GPU-1a", 2: "3"})

    def test_one_process_sees_all_gpus(self):
        """A program may itself use all GPUs of its node."""
        self.start_member("--nproc", "1", "--", "python3", "-c", WAITER, CUDA_VISIBLE_DEVICES="5,GPU-1a,3")
        self.assertEqual([device for _, _, device in self.wait_for_processes(1)], ["5,GPU-1a,3"])

    def test_a_program_is_found_where_the_system_looks_without_a_path(self):
        done = subprocess.run([BIN / "ratoon", "launch", "--nproc", "1", "--", "sh", "-c", "exit 7"], cwd=self.root,
                              env={}, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_alone_each_process_has_a_gpu_of_its_own_too(self):
        self.start("--folder", "run", "--", "sh", "-c", 'echo "$LOCAL_RANK sees $CUDA_VISIBLE_DEVICES"; exec sleep 600',
                   CUDA_VISIBLE_DEVICES="5,GPU-1a,3")
        wait_until(lambda: self.output().count("sees") == 3, "three processes")
        seen = set(re.findall(r"^(\[\d\] \d sees \S+)", self.output(), re.M))
        self.assertEqual(seen, {"[0] 0 sees 5", "[1] 0 sees GPU-1a", "[2] 0 sees 3"}, "each is the only process of a member")
        self.process.send_signal(signal.SIGTERM)
        self.finish()

    def test_a_run_is_named_after_the_script_and_not_after_its_interpreter(self):
        for name in ("first", "second"):
            (self.root / f"{name}.py").write_text("import sys\nprint('runs')\nsys.exit(82)\n")
            self.start("--nproc", "2", "--", "python3", f"{name}.py")
            self.assertEqual(self.finish(), 82, self.output())
            self.assertTrue((self.root / "ratoon-runs" / name / "status.json").exists(), self.output())
        self.start("--nproc", "2", "--", "python3", "-c", "pass")
        self.assertEqual(self.finish(), 82)
        self.assertIn("names no file after which the run could be named: name its folder by --folder", self.output())

    def test_a_program_on_a_terminal_finds_its_input_empty(self):
        """The terminal belongs to the launcher: a program that read from it would be stopped for ever."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        script = "import os, sys; os.write(1, b'read ' + repr(sys.stdin.read()).encode())"
        with open(self.root / "output.txt", "w") as output:
            self.process = subprocess.Popen([BIN / "ratoon", "launch", "--", "python3", "-c", script], cwd=self.root,
                                            stdin=theirs, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        os.close(theirs)
        self.assertEqual(self.finish(), 0, self.output())
        self.assertEqual(self.output(), "read ''")

    def world_that_loses_one(self, folder):
        """Two processes, one of which is killed. Returns the run, or None if another one was lost before."""
        self.gate.let_pass(105)
        self.start("--nproc", "2", "--folder", folder, "--", "gated_counter", "--steps", "150", "--pause-ms", "10")
        run = LocalRun()
        self.addCleanup(run.close)
        run.folder = self.root / folder
        wait_until(lambda: any(step == 100 for _, step in run.commits()), "a commit of step 100")
        if "attempt 2" not in self.output():
            run.hurt(1)
        wait_until(lambda: "attempt 2 trains" in self.output(), "attempt 2")
        self.gate.let_pass(150)
        self.assertEqual(self.finish(), 0, self.output())
        return run if "attempt 3" not in self.output() and (1, 100) in run.commits() else None

    def test_alone_several_processes_make_a_world_and_survive_a_kill(self):
        for number in range(5):  # a rank that a busy machine keeps silent for three seconds counts as lost
            if run := self.world_that_loses_one(f"run-{number}"):
                break
        self.assertIsNotNone(run, f"in each of five runs a process was lost that this test did not kill:\n{self.output()}")
        self.assertIn("attempt 2 trains with 2 processes from step 100", self.output())
        self.assertEqual({line[2] for line in run.lines()}, set(range(0, 150, 10)))

    def test_alone_the_same_command_goes_on_and_the_run_can_be_looked_at(self):
        words = ["--nproc", "2", "--folder", "run", "--", "counter", "--pause-ms", "5", "--steps"]
        run = LocalRun()
        self.addCleanup(run.close)
        run.folder = self.root / "run"
        self.start(*words, "1000000")
        wait_until(lambda: any(step >= 100 for _, step in run.commits()), "a commit of step 100")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), 130, self.output())
        last = max(step for _, step in run.commits())
        self.start(*words, str(last + 100))
        self.assertEqual(self.finish(), 0, self.output())
        self.assertRegex(self.output(), rf"attempt \d+ trains with 2 processes from step {last}\b")
        status = subprocess.run([BIN / "ratoon", "status", "run"], cwd=self.root, check=True, capture_output=True, text=True)
        self.assertIn("counter  Succeeded", status.stdout)

    def test_one_process_alone_goes_on_after_a_kill(self):
        self.gate.let_pass(145)
        self.start("--", "gated_counter", "--run-name", "a", "--save-folder", str(self.root), "--save-every", "10",
                   "--steps", "150", "--pause-ms", "10")
        wait_until(lambda: list(self.root.glob("a/manifests/*.json")), "a checkpoint")
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        wait_until(lambda: "attempt 2 " in self.output(), "attempt 2")
        self.gate.let_pass(150)
        self.assertEqual(self.finish(), 0, self.output())
        lines = [LINE.match(line) for line in self.output().splitlines()]
        attempts = {int(m[1]) for m in lines if m}
        self.assertEqual(attempts, {1, 2}, self.output())
        self.assertEqual({int(m[3]) for m in lines if m}, set(range(0, 150, 10)))

    def test_in_ratoon_run_it_becomes_the_trainer(self):
        run = LocalRun(command=["ratoon", "launch", "--", "counter", "--steps", "40", "--pause-ms", "5"],
                       spec={"numNodes": 1, "processesPerNode": 2})
        self.addCleanup(run.close)
        code, output = run.start().finish()
        self.assertEqual(code, 0, output)
        self.assertIn("attempt 1 trains with 2 processes", output)

    def test_bad_command_lines_are_one_sentence_and_82(self):
        for words, environment, part in (
                ([], {}, "no program to launch"),
                (["--nproc", "0", "--", "true"], {}, "--nproc must be"),
                (["--nproc", "many", "--", "true"], {}, "found 'many'"),
                (["--nproc", "3", "--", "true"], {"RATOON_PROCESSES_PER_NODE": "2"}, "processesPerNode 2"),
                (["--", "no-such-trainer"], {}, "starting 'no-such-trainer': No such file")):
            with self.subTest(words=words):
                self.start(*words, **environment)
                self.assertEqual(self.finish(), 82, self.output())
                self.assertEqual(len(self.output().splitlines()), 1, self.output())
                self.assertIn(part, self.output())


if __name__ == "__main__":
    unittest.main()
