"""What `ratoon run` makes of a job's policies."""

import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from local_run import BIN, LocalRun

TELL = 'echo "$RATOON_STAGING_FOLDER|$RATOON_STAGING_MEMORY_MIB|$RATOON_STORES|$RATOON_LOAD_FROM|$RATOON_OVERWRITE"; '

NOBODY = 65534


class Policies(unittest.TestCase):
    def run_job(self, **arguments):
        run = LocalRun(**arguments)
        self.addCleanup(run.close)
        return run

    def told(self, run):
        """The variables of each start of member 0, as its logs have them."""
        logs = sorted((run.folder / "logs").glob("*-worker-0-i*.log"))
        return [log.read_text().splitlines()[0].split("|") for log in logs]

    def test_members_learn_of_the_checkpoint_policy_and_overwrite_once(self):
        policy = {"intervalSteps": 5, "stagingMemory": "64Mi", "overwrite": True}
        run = self.run_job(command=["sh", "-c", TELL + "exec counter --steps 20 --pause-ms 1"],
                           spec={"numNodes": 1, "checkpointPolicy": policy})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        ((folder, mib, stores, load_from, overwrite),) = self.told(run)
        self.assertTrue(folder.startswith(("/dev/shm/ratoon-run-", str(run.folder))), folder)
        self.assertEqual((mib, stores, load_from, overwrite), ("64", "", "", "true"))
        self.assertFalse(pathlib.Path(folder).exists(), "nothing is staged any more, and it stayed")
        self.assertEqual(run.job_status()["lineageStart"], 1)

        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "exit 82"]
        run.write_job()
        run.start()
        self.assertIn("overwrite applies only to the first run in a folder", run.finish()[1])

    def test_rules_say_what_an_ending_is(self):
        rules = [{"exitCodes": [7], "action": "Fail"}, {"exitCodes": [6], "reasons": ["Evicted"], "action": "Ignore"}]
        run = self.run_job(command=["sh", "-c", "[ $RATOON_INCARNATION = 2 ] && exit 7; exit 6"],
                           spec={"numNodes": 1, "restartPolicy": {"maxRestarts": 0, "rules": rules}})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        self.assertIn("exit code 7 (rules[0]: Fail)", output)
        self.assertEqual(output.count("exit code 6 (rules[1]: Ignore)"), 2, output)
        self.assertEqual(output.count("OOMKilled is the only reason that occurs in a local run"), 1, output)
        self.assertEqual(run.job_status()["restarts"]["disruption"], 2)

    def test_the_same_exception_twice_before_a_step_ends_the_job(self):
        def starts_of(program, **policy):
            run = self.run_job(command=["python3", "-c", program], spec={
                "numNodes": 1, "restartPolicy": {"maxRestarts": 3, "backoffSeconds": 0, **policy}})
            run.start()
            code, output = run.finish()
            self.assertEqual(code, 1, output)
            return run.job_status()["restarts"]["application"], output
        starts, output = starts_of("import os; [][os.getpid()]")
        self.assertEqual(starts, 2, output)
        self.assertIn("failed as counter-worker-0-i0 did, before any step of the job was made: IndexError: ", output)
        starts, output = starts_of("import os; {}['%d %s' % (os.getpid(), 'a' * int(os.environ['RATOON_INCARNATION']))]")
        self.assertEqual(starts, 4, "another text each time: " + output)
        starts, output = starts_of("open('/nowhere/at/all')")
        self.assertEqual(starts, 4, "what is missing may come: " + output)

    def test_roles_of_their_own_sizes_and_programs(self):
        def role(name, replicas, command):
            return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [
                {"name": "trainer", "image": "none:1", "command": command, "env": [{"name": "WHO", "value": name}]}]}}}
        run = self.run_job(spec={
            "roles": [role("worker", 2, ["sh", "-c", "echo $WHO; exec counter --steps 30 --pause-ms 1"]),
                      role("eval", 1, ["sh", "-c", "echo $WHO; exec counter --steps 1000000 --pause-ms 1"])],
            "successPolicy": {"roles": ["worker"]}})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn("trains with 3 processes from step 0", output)
        self.assertEqual({name: text.split("\n")[0] for name, text in run.logs().items()},
                         {"counter-worker-0-i0": "worker", "counter-worker-1-i0": "worker", "counter-eval-0-i0": "eval"})
        ignored = "role eval: a local run ignores these fields of the pod template: image\n"
        self.assertEqual(output.count(ignored), 1, output)

    def test_a_run_that_has_completed_goes_on_to_a_later_end(self):
        run = self.run_job(command=["counter", "--steps", "30", "--pause-ms", "1"])
        run.start()
        self.assertEqual(run.finish()[0], 0)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn("has completed already; to continue, give the trainer other arguments, such as a later end", output)
        run.start("--", "--steps", "70")
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"attempt 2 trains with 2 processes from step 30\n(.*\n)*completed at step 70")
        self.assertEqual(run.first_line_of(2, 0)[2:], (30, 30 * 29 // 2))
        progress = run.job_status()["progress"]
        self.assertEqual((progress["position"], progress["total"], progress["unit"]), (70, 70, "step"))
        done = [text for text in run.logs().values() if f"done: 70 steps, sum {70 * 69 // 2}" in text]
        self.assertEqual(len(done), 2, run.logs())

    def test_another_size_the_next_time(self):
        run = self.run_job(command=["counter", "--steps", "1000000", "--pause-ms", "5"])
        run.start()
        run.wait_for_commit(20)
        run.process.terminate()
        self.assertEqual(run.finish()[0], 130)
        left = max(run.commits())[1]
        for attempt, members in ((2, 3), (3, 1)):
            run.document["spec"]["numNodes"] = members
            run.write_job()
            run.start()
            run.wait_for_commit(left + 10, attempt)
            run.process.terminate()
            self.assertEqual(run.finish()[0], 130)
            self.assertRegex(run.output(), rf"attempt {attempt} trains with {members} process(es)? from step {left}\n")
            left = max(run.commits())[1]

    def test_a_port_that_is_taken_ends_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            run = self.run_job(command=["sh", "-c", f"export RATOON_METRICS_PORT={port}; exec counter --steps 30 --pause-ms 1"])
            run.start()
            code, output = run.finish()
        self.assertEqual(code, 0, output)
        for member, text in run.logs().items():
            said = [line for line in text.splitlines() if "without /metrics" in line]
            self.assertEqual(len(said), 1, f"{member}: {text}")
            self.assertIn("free the port, or set another port in RATOON_METRICS_PORT", said[0])
            self.assertIn(str(port), said[0])

    @unittest.skipIf(os.getuid() != 0, "whoever runs the tests shows it with all of them")
    def test_it_takes_no_root(self):
        run = self.run_job(command=["counter", "--steps", "30", "--pause-ms", "1"])
        for program in ("ratoon", "counter"):
            shutil.copy(BIN / program, run.root)
        for path in (run.root, *run.root.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
                               run.root / "ratoon", "run", run.job_file, "--folder", run.folder], cwd=run.root,
                              capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("completed at step 30", done.stdout)
        self.assertEqual((run.folder / "status.json").stat().st_uid, NOBODY)

    def test_the_status_keeps_the_first_failure_with_its_last_words(self):
        run = self.run_job(command=["sh", "-c", "echo step 6; echo 'ratoon: no data in /data' >&2; exit 7"],
                           spec={"numNodes": 1, "ttlSecondsAfterFinished": 0,
                                 "restartPolicy": {"rules": [{"exitCodes": [7], "roles": ["worker"], "action": "Fail"}]}})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        status = run.job_status()
        failure = status["lastFailure"]
        self.assertEqual((failure["member"], failure["exitCode"]), ("counter-worker-0-i0", 7))
        self.assertEqual(failure["exception"], "no data in /data")
        self.assertEqual(failure["lastLines"], "step 6\nratoon: no data in /data\n")
        conditions = {c["type"]: c["status"] for c in status["conditions"]}
        self.assertEqual(conditions.get("Failed"), "True", conditions)
        self.assertNotIn("Succeeded", conditions)
        self.assertEqual(output.count("ttlSecondsAfterFinished: a local run never deletes its folder"), 1, output)

    def test_a_member_that_never_speaks_is_made_anew_and_then_the_job_fails(self):
        run = self.run_job(command=["sleep", "3600"], spec={
            "numNodes": 1, "startDeadlineSeconds": 1, "restartPolicy": {"maxLossesWithoutStep": 1, "backoffSeconds": 0},
            "disruptionPolicy": {"suspectAfterSeconds": 3}})
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 1, output)
        for member in ("counter-worker-0-i0", "counter-worker-0-i1"):
            self.assertIn(f"{member}: sent no message within 1 s of its start, and no process of its job did", output)
        self.assertIn("2 losses in a row, and no new step or checkpoint between them", output)

    def test_a_job_whose_time_is_over_saves_and_fails(self):
        for seconds in (3, 12, 48):  # a busy machine takes longer to start, to step and to save
            run = self.run_job(command=["counter", "--steps", "1000000", "--pause-ms", "10"], spec={
                "numNodes": 1, "maxDurationSeconds": seconds, "checkpointPolicy": {"intervalSteps": 1000000}})
            run.start()
            code, output = run.finish()
            self.assertEqual(code, 1, output)
            self.assertIn(f"maxDurationSeconds ({seconds}) is over", output)
            if run.commits():
                break
        self.assertRegex(output, rf"maxDurationSeconds \({seconds}\) is over; the checkpoint of step \d+ is the newest")


if __name__ == "__main__":
    unittest.main()
