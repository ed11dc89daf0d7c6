"""`ratoon launch` of several processes outside of a job: what it prints, where it keeps its files, and that all processes leave
together at a time limit."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from local_run import BIN, PATIENCE_SECONDS, wait_until


class LaunchWorld(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-world-"))
        self.work = self.root / "work"  # the working directory, in which nothing is to be written
        self.work.mkdir()
        self.words = self.root / "words"
        self.words.mkdir()
        self.saves = self.root / "saves"
        self.process = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.root)

    def start(self, *words, stdout=None, **environment):
        with open(self.root / "output.txt", "a") as output:
            self.process = subprocess.Popen([BIN / "ratoon", "launch", *map(str, words)], cwd=self.work, stdin=subprocess.DEVNULL,
                                            stdout=stdout or output, stderr=subprocess.STDOUT, start_new_session=True,
                                            env={**os.environ, **{name: str(value) for name, value in environment.items()}})

    def output(self):
        return (self.root / "output.txt").read_text()

    def finish(self):
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def logs(self, folder):
        """{(process, incarnation): [line]}"""
        found = {}
        for path in sorted(folder.glob("logs/*.log")):
            process, incarnation = re.search(r"-worker-(\d+)-i(\d+)$", path.stem).groups()
            found[int(process), int(incarnation)] = path.read_text().splitlines()
        return found

    def assert_all_lines_in(self, output, folder):
        """Each line that a process printed is there once, whole, in its order and with the number of its process. One that the
        failure of another ended before it printed has an empty log."""
        shown = {}
        for line in output.splitlines():
            if found := re.match(r"\[(\d+)\] (.*)", line):
                shown.setdefault(int(found[1]), []).append(found[2])
        printed = {}
        for (process, _), lines in self.logs(folder).items():
            if lines:
                printed.setdefault(process, []).extend(lines)
        self.assertEqual(sorted(shown), sorted(printed))
        for process, lines in printed.items():
            self.assertEqual(shown[process], lines)

    def test_each_line_is_printed_with_the_number_of_its_process(self):
        self.start("--nproc", 3, "--folder", self.root / "run", "--", "counter", "--steps", 40, "--pause-ms", 1)
        self.assertEqual(self.finish(), 0, self.output())
        self.assert_all_lines_in(self.output(), self.root / "run")
        for rank in range(3):
            self.assertRegex(self.output(), rf"(?m)^\[{rank}\] attempt \d+ rank {rank} step 30 sum 435$")
            self.assertRegex(self.output(), rf"(?m)^\[{rank}\] done: 40 steps")

    def test_the_lines_of_a_process_that_fails_are_printed_once(self):
        self.start("--nproc", 2, "--folder", self.root / "run", "--", "sh", "-c", "echo it broke; printf 'without end'; exit 82")
        self.assertEqual(self.finish(), 82, self.output())
        self.assert_all_lines_in(self.output(), self.root / "run")
        self.assertRegex(self.output(), r"(?m)^\[[01]\] without end$")
        self.assertLessEqual(self.output().count("it broke"), 2, self.output())

    def test_nothing_is_lost_where_the_output_is_read_late(self):
        lines = 40_000  # more than the pipe and this program keep
        self.start("--nproc", 2, "--folder", self.root / "run", "--", "sh", "-c",
                   f"seq 1 {lines}; exec counter --steps 30 --pause-ms 1", stdout=subprocess.PIPE)
        wait_until(lambda: sum("done: 30 steps" in lines for log in self.logs(self.root / "run").values() for lines in log) == 2,
                   "the end of both launches")
        output = self.process.communicate(timeout=PATIENCE_SECONDS)[0].decode()
        self.assertEqual(self.process.returncode, 0, output[-2000:])
        self.assert_all_lines_in(output, self.root / "run")
        self.assertGreater(output.count("\n"), 2 * lines)

    def test_an_output_that_is_closed_ends_nothing(self):
        self.start("--nproc", 2, "--folder", self.root / "run", "--", "counter", "--steps", 60, "--pause-ms", 2,
                   stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.process.stdout.close()
        self.assertEqual(self.finish(), 0)
        # Of each process the last start: one that a busy machine keeps silent for three seconds is started again.
        newest = {process: lines for (process, _), lines in self.logs(self.root / "run").items()}
        self.assertEqual(sorted(newest), [0, 1])
        for lines in newest.values():
            self.assertIn("done: 60 steps, sum 1770", lines)

    def test_its_files_are_beside_the_save_folder_and_not_in_the_working_directory(self):
        trainer = ["--", "counter", "--steps", 20, "--pause-ms", 1]
        self.start("--nproc", 2, *trainer, "--save-folder", self.saves, "--run-name", "a")
        self.assertEqual(self.finish(), 0, self.output())
        self.start("--nproc", 2, *trainer, RATOON_SAVE_FOLDER=self.saves, RATOON_RUN_NAME="b")
        self.assertEqual(self.finish(), 0, self.output())
        self.assertEqual(list(self.work.iterdir()), [])
        self.assertEqual(sorted(p.name for p in self.saves.iterdir()), ["a", "b", "ratoon-runs"])
        for run in ("a", "b"):
            folder = self.saves / "ratoon-runs" / run
            self.assertTrue((folder / "status.json").exists())
            self.assertTrue(list((self.saves / run / "manifests").glob("*.json")))
            self.assertFalse((folder / "checkpoints").exists())
            status = subprocess.run([BIN / "ratoon", "status", self.saves / run], cwd=self.work, capture_output=True, text=True)
            self.assertEqual(status.returncode, 0, status.stderr)
            self.assertIn("counter   Succeeded", status.stdout)
        self.start("--nproc", 2, "--", "counter", "--steps", 30, "--pause-ms", 1, "--save-folder", self.saves, "--run-name", "a")
        self.assertEqual(self.finish(), 0, self.output())
        self.assertIn("trains with 2 processes from step 20", self.output())

    def run_and_kill_one(self, run, limit):
        """Three ranks until the limit, one of which is killed. Returns whether the limit left time for that, and no other was
        lost."""
        words = self.words / run.name
        words.mkdir()
        self.start("--nproc", 3, "--folder", run, "--", "drain_probe", "--agree", words, "--steps", 1_000_000,
                   "--save-every", 20, "--pause-ms", 5, "--time-limit", limit)
        wait_until(lambda: self.process.poll() is not None or list(run.glob("checkpoints/*/manifests/*.json")),
                   "a checkpoint, or the limit")
        if self.process.poll() is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            for pid in children[1:2]:
                with contextlib.suppress(ProcessLookupError):  # the limit may have come meanwhile
                    os.kill(int(pid), signal.SIGKILL)
        code = self.finish()
        has_time = code == 80 and "attempt 2 trains with 3 processes" in self.output() and "killed" not in self.output() \
            and len(re.findall(r"left because of the time limit of \w+ at step \d+, which is saved", self.output())) == 3
        # A rank that a busy machine keeps silent for three seconds counts as lost, too.
        return has_time and "attempt 3" not in self.output()

    def test_at_a_time_limit_all_leave_together_one_that_was_started_later_too(self):
        for seconds in (12, 36, 108):  # a busy machine takes longer for a start, a restart and a save
            limit, run = f"{seconds}s", self.root / f"run-{seconds}"
            (self.root / "output.txt").unlink(missing_ok=True)
            if self.run_and_kill_one(run, limit):
                break
        self.assertEqual(self.process.returncode, 80, self.output())
        self.assertIn("attempt 2 trains with 3 processes", self.output())
        self.assertNotIn("attempt 3", self.output())
        self.assertIn(f"stopping because of the time limit of {limit}: members save and leave", self.output())
        self.assertNotIn("killed", self.output())
        last = {process: lines[-1] for (process, _), lines in self.logs(run).items()}
        left = {process: re.search(rf"left because of the time limit of {limit} at step (\d+), which is saved", line)
                for process, line in last.items()}
        self.assertEqual(sorted(left), [0, 1, 2])
        self.assertTrue(all(left.values()), last)
        steps = {int(found[1]) for found in left.values()}
        self.assertEqual(len(steps), 1, "all after the same step")
        self.assertRegex(self.output(), rf"stopped at step \d+; the same command goes on from step {steps.pop()}")

    def test_a_signal_for_a_save_reaches_the_trainers_and_ends_nothing(self):
        for number in range(5):  # a rank that a busy machine keeps silent for three seconds counts as lost
            (self.root / "output.txt").unlink(missing_ok=True)
            self.save_by_a_signal(f"run-{number}")
            if "attempt 2" not in self.output():
                break
        self.assertNotIn("attempt 2", self.output())

    def save_by_a_signal(self, name):
        run, words = self.root / name, self.words / name
        words.mkdir()
        self.start("--nproc", 2, "--folder", run, "--", "drain_probe", "--agree", words, "--steps", 1_000_000,
                   "--save-every", 1_000_000, "--pause-ms", 5)
        wait_until(lambda: re.search(r"(?m)^\[1\] rank 1 step 3 ", self.output()), "a few steps")
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: list(run.glob("checkpoints/*/manifests/*.json")), "a checkpoint")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(), 130, self.output())

    def test_a_restarted_process_has_the_time_limit_of_its_launch(self):
        self.start("--", "sh", "-c", "echo since $RATOON_TIME_LIMIT_SINCE; kill -9 $$")
        since = wait_until(lambda: re.findall(r"since (\d+)", self.output())[1:], "a restart")
        since += re.findall(r"since (\d+)", self.output())[:1]
        self.assertEqual(len(set(since)), 1, since)
        self.process.terminate()
        self.finish()

    def test_in_a_member_one_that_stays_behind_is_told_to_leave_too(self):
        stays = ("import os, signal, sys, time\n"
                 "if os.environ['LOCAL_RANK'] == '0': sys.exit(80)\n"
                 "print('stays', flush=True)\n"
                 "while True: time.sleep(600)")
        self.start("--nproc", 2, "--grace", 1, "--", "python3", "-c", stays, RATOON_COORDINATOR_URL="http://127.0.0.1:9")
        self.assertEqual(self.finish(), 80, self.output())
        self.assertIn("a process left after a signal, but others still run: they get SIGTERM now", self.output())


if __name__ == "__main__":
    unittest.main()
