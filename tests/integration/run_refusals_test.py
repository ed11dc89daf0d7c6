"""Bad input to `ratoon run`: one sentence, the right exit code, nothing left running."""

import os
import resource
import stat
import subprocess
import time
import unittest

from local_run import BIN, LocalRun, wait_until


class Refusals(unittest.TestCase):
    def run_job(self, **arguments):
        run = LocalRun(**arguments)
        self.addCleanup(run.close)
        return run

    def assert_refused(self, run, code, *sentence_parts):
        run.start()
        got, output = run.finish()
        self.assertEqual(got, code, output)
        complaints = [line for line in output.splitlines() if line.startswith("ratoon: ")]
        self.assertEqual(len(complaints), 1, output)
        for part in sentence_parts:
            self.assertIn(part, complaints[0])
        return output

    def test_missing_trainer(self):
        run = self.run_job(command=["no-such-trainer"])
        self.assert_refused(run, 82, "no-such-trainer", "No such file")

    def test_a_trainer_that_crashes_at_once_is_no_storm_and_its_last_words_are_shown(self):
        run = self.run_job(command=["sh", "-c", "echo no such data; exit 3"],
                           spec={"numNodes": 1, "restartPolicy": {"maxRestarts": 2}})
        began = time.monotonic()
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn("maxRestarts (2) is used up", output)
        self.assertRegex(output, r"the last lines of counter-worker-0-i2:\n  no such data\n")
        self.assertEqual(run.job_status()["phase"], "Failed")
        self.assertEqual(len(run.logs()), 1 + 2, "its first start and two more")
        self.assertGreaterEqual(time.monotonic() - began, 1 + 2, "a second before another start, then two")

    def test_the_last_lines_of_a_trainer_that_crashes_at_once_are_shown(self):
        run = self.run_job(command=["sh", "-c", "seq 20; printf '\\033[31mno such data\\n'; exit 82"], spec={"numNodes": 1})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        shown = output[output.index("the last lines of counter-worker-0-i0:\n"):].splitlines()
        self.assertEqual(shown[1:11], [f"  {i}" for i in range(12, 21)] + ["  ?[31mno such data"])
        self.assertEqual(shown[11:], [f"the members' logs are in {run.folder}/logs/*.log"])

    def test_configuration_error_of_the_trainer_is_not_retried(self):
        run = self.run_job(command=["sh", "-c", "exit 82"], spec={"numNodes": 1})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        self.assertEqual(output.count("the same start would fail again"), 1, output)
        self.assertIn("the members' logs are in ", output)

    def test_a_trainer_that_always_asks_for_another_start_is_not_started_for_ever(self):
        run = self.run_job(command=["sh", "-c", "exit 81"])
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn("losses in a row, and no new step or checkpoint between them", output)

    def test_a_failed_run_that_is_tried_again_takes_a_new_attempt(self):
        run = self.run_job(command=["sh", "-c", "exit 82"])
        run.start()
        self.assertEqual(run.finish()[0], 82)
        before = run.job_status()["attempt"]
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
            "counter", "--steps", "10", "--pause-ms", "1"]
        run.write_job()
        run.start()
        self.assertEqual(run.finish()[0], 0)
        self.assertGreater(run.job_status()["attempt"], before)

    def test_a_run_alone_in_the_folder_of_a_world_is_refused(self):
        run = self.run_job(held_at=30)
        run.start()
        run.wait_for_commit(20)
        alone = subprocess.run([BIN / "counter", "--save-folder", run.folder / "checkpoints", "--run-name", "counter"],
                               text=True, capture_output=True, timeout=180)
        self.assertEqual(alone.returncode, 82, alone.stderr)
        self.assertIn("another process trains in", alone.stderr)
        run.let_pass(200)
        self.assertEqual(run.finish()[0], 0)

    def test_exit_0_is_not_completion(self):
        run = self.run_job(command=["true"], spec={"restartPolicy": {"maxRestarts": 1}})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn("without a completion record", output)

    def test_two_runs_in_one_folder(self):
        run = self.run_job(held_at=30)
        run.start()
        wait_until(lambda: run.pids_of(0), "the first run to start")
        second = subprocess.run([BIN / "ratoon", "run", run.job_file, "--folder", run.folder], text=True,
                                capture_output=True, timeout=180)
        self.assertEqual(second.returncode, 82)
        self.assertIn("another `ratoon run` is running", second.stderr)
        run.let_pass(200)
        self.assertEqual(run.finish()[0], 0, "the first run is not disturbed")

    def test_folder_of_another_job(self):
        run = self.run_job()
        run.start()
        self.assertEqual(run.finish()[0], 0)
        run.document["metadata"]["name"] = "other"
        run.write_job()
        self.assert_refused(run, 82, "holds a run of job 'counter'", "--folder")

    def test_a_finished_run_says_so(self):
        run = self.run_job(command=["counter", "--steps", "10", "--pause-ms", "1"])
        run.start()
        self.assertEqual(run.finish()[0], 0)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0)
        self.assertIn("has completed already", output)

    def test_bad_files(self):
        for change, part in [
            (lambda d: d.update(kind="Job"), "kind must be TrainingJob"),
            (lambda d: d["spec"].update(numNodes=0), "numNodes must be a whole number from 1 to 4096"),
            (lambda d: d["spec"].update(numNodes=4097), "numNodes must be a whole number from 1 to 4096"),
            (lambda d: d["spec"].update(processesPerNode=65), "processesPerNode must be a whole number from 1 to 64"),
            (lambda d: d["spec"].update(numNodes=2, elasticPolicy={"minReplicas": 3}), "minReplicas must be at most numNodes"),
            (lambda d: d["spec"].update(roles=[]), "roles must be"),
            (lambda d: d["spec"].update(checkpointPolicy={"intervalStep": 5}),
             "job.yaml:1: spec.checkpointPolicy.intervalStep is not a field of a TrainingJob; did you mean intervalSteps?"),
            (lambda d: d["metadata"].update(name="Has_Capitals"), "metadata.name must be lower-case letters"),
        ]:
            run = self.run_job()
            change(run.document)
            run.write_job()
            with self.subTest(part):
                self.assert_refused(run, 82, part)

    def test_a_field_that_no_job_has_is_named_with_its_line(self):
        run = self.run_job()
        run.job_file.write_text("apiVersion: ratoon.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: counter}\n"
                                "spec:\n  roles: []\n  restartPolicy:\n    maxRestart: 3\n")
        self.assert_refused(run, 82, f"{run.job_file}:7: spec.restartPolicy.maxRestart is not a field of a TrainingJob; "
                                     "did you mean maxRestarts?")

    def test_more_processes_than_this_machine_lets_one_have(self):
        run = self.run_job(spec={"numNodes": 50, "processesPerNode": 2})
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, before[1]))
        self.assert_refused(run, 82, "counter has 100 processes, so `ratoon run` opens 464 files, but it may open only 400")
        self.assertFalse(run.folder.exists())

    def test_a_trace_that_never_has_nodes_for_all(self):
        run = self.run_job()
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n1000,remove,red\n1000,add,green\n")
        run.start("--trace", trace)
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        self.assertIn("never has more than 1 nodes at once, but the smallest world of counter takes 2", output)

    def test_missing_file(self):
        run = self.run_job()
        os.unlink(run.job_file)
        self.assert_refused(run, 82, "there is no file", "give the path of a TrainingJob file")

    def test_secrets_are_private(self):
        run = self.run_job(command=["counter", "--steps", "10", "--pause-ms", "1"])
        run.start()
        self.assertEqual(run.finish()[0], 0)
        for name in ("token", "status.json"):
            self.assertEqual(stat.S_IMODE(os.stat(run.folder / name).st_mode), 0o600, name)
        token = (run.folder / "token").read_text().strip()
        self.assertNotIn(token, (run.folder / "status.json").read_text())


if __name__ == "__main__":
    unittest.main()
