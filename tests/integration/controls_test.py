"""Losses on purpose: `ratoon kill`, `ratoon reclaim`, and what `ratoon status` says of the run meanwhile."""

import json
import os
import signal
import stat
import subprocess
import unittest

from local_run import BIN, LocalRun, wait_until

FOREVER = ["counter", "--steps", "1000000", "--pause-ms", "5"]


def ratoon(*words, cwd=None):
    """(exit code, what it printed)"""
    done = subprocess.run([BIN / "ratoon", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=180, cwd=cwd)
    return done.returncode, done.stdout


class Controls(unittest.TestCase):
    def begin(self, command=None, **spec):
        run = LocalRun(command=command or FOREVER, spec=spec)
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(10)
        return run

    def recoveries(self, run, count):
        return wait_until(lambda: (lambda found: found if len(found) >= count else None)(
            run.status().get("recoveries", [])), f"{count} recoveries")

    def test_a_member_is_killed_by_its_name_and_comes_back(self):
        run = self.begin()
        code, said = ratoon("kill", "worker-1", "--run", run.folder)
        self.assertEqual((code, said), (0, "counter-worker-1-i0 is killed\n"))
        (recovery,) = self.recoveries(run, 1)
        self.assertEqual((recovery["member"], recovery["reason"]), ("counter-worker-1-i0", "ended by signal 9"))
        self.assertIn("killed counter-worker-1-i0 with kill -9, on request", run.output())
        self.assertEqual([(e["kind"], e["target"]) for e in run.status()["on_purpose"]], [("kill", "counter-worker-1-i0")])
        code, said = ratoon("kill", "worker-9", "--run", run.folder)
        self.assertEqual(code, 82)
        self.assertIn("no member 'worker-9' is running; there are counter-worker-0-i0, counter-worker-1-i1", said)

    def test_a_silent_reclaim_takes_the_node_and_another_one_comes(self):
        run = self.begin()
        code, said = ratoon("reclaim", "node-2", "--silent", "--run", run.folder)
        self.assertEqual((code, said), (0, "node-2 was removed with its members: counter-worker-1-i0\n"))
        (recovery,) = self.recoveries(run, 1)
        self.assertEqual(recovery["node"], "node-2")
        self.assertEqual([n["name"] for n in run.status()["nodes"]], ["node-1", "node-3", "node-4"])
        code, said = ratoon("reclaim", "node-2", "--silent", "--run", run.folder)
        self.assertEqual((code, said), (82, "ratoon: there is no node 'node-2'; there are node-1, node-3, node-4\n"))

    def test_notice_costs_no_step(self):
        # A world of one agrees with itself; local_notice_test has several, with a collective in their loop.
        run = self.begin(numNodes=1)
        code, said = ratoon("reclaim", "node-1", "--notice", "60s", "--run", run.folder)
        self.assertEqual((code, said), (0, "node-1 got a preemption notice and is removed in 60 s; "
                                           "its members: counter-worker-0-i0\n"))
        self.recoveries(run, 1)
        wait_until(lambda: [m["node"] for m in run.status()["members"]] == ["node-2"], "the member to be on its new node alone")
        last = run.job_status()["lastDisruption"]
        self.assertEqual((last["lostSteps"], run.job_status()["restarts"]["disruption"]), (0, 0), last)
        self.assertIn("(taint ratoon.dev/reclaim, rule ratoon-reclaim)", run.output())

    def test_a_member_saves_again_and_leaves_before_the_deadline_that_it_is_told(self):
        """Where the machine stands still for longer than the margin, no save can end in time: tried again."""
        self.assertTrue(any(self.leaves_in_time() for _ in range(5)), "no member has saved again and left before its node's end")

    def leaves_in_time(self):
        """Whether the member has saved again, and left before its node was removed."""
        run = LocalRun(command=FOREVER, spec={"numNodes": 1, "checkpointPolicy": {"intervalSteps": 1_000_000}})
        self.addCleanup(run.close)
        trace = run.root / "trace.csv"
        trace.write_text("0,add,only\n")  # no other node can take the member
        run.start("--trace", trace)
        wait_until(lambda: run.job_status()["progress"]["step"] > 0, "a step")
        self.assertNotIn("lastCheckpoint", run.job_status())
        # A busy disk makes commits of seconds, and a save that does not fit is not begun.
        ratoon("reclaim", "only", "--notice", "30s", "--run", run.folder)
        first = wait_until(lambda: run.job_status().get("lastCheckpoint"), "a save at once")
        (node,) = [node for node in run.status()["nodes"] if node["name"] == "only"]
        self.assertEqual(run.job_status()["members"][0]["nodeEndsAt"], node["ends_at"])
        log = run.folder / "logs" / "counter-worker-0-i0.log"
        wait_until(lambda: "left because of the operator's notice" in log.read_text()
                   or "only was removed with its members" in run.output(), "the member to leave, or the end of its node")
        if "left because of the operator's notice" not in log.read_text() or run.commits()[-1][1] == first["step"]:
            return False
        last = wait_until(lambda: (lambda at: at if at["step"] > first["step"] else None)(
            run.job_status()["lastCheckpoint"]), "a save of what was trained meanwhile")
        self.assertLessEqual(last["step"], run.job_status()["progress"]["step"])
        return True

    def test_notice_is_not_taken_back(self):
        run = self.begin()
        self.assertEqual(ratoon("reclaim", "node-1", "--notice", "1800s", "--run", run.folder)[0], 0)
        code, said = ratoon("reclaim", "node-1", "--notice", "3600s", "--run", run.folder)
        self.assertEqual(code, 82, said)
        self.assertRegex(said, r"node-1 already got a preemption notice and is removed in [0-9.]+ s: "
                               r"the time of notice can be shortened")
        self.assertEqual(ratoon("reclaim", "node-1", "--notice", "900s", "--run", run.folder)[0], 0)

    def test_at_its_deadline_a_node_goes_whoever_is_on_it(self):
        # Nobody can take over, and who is there does not leave: they are stopped, and silence counts later.
        run = self.begin(command=["sh", "-c", "[ $RATOON_INCARNATION = 1 ] && exec sleep 3600; exec " + " ".join(FOREVER)],
                         disruptionPolicy={"suspectAfterSeconds": 60})
        for pid in wait_until(lambda: run.pids_of(1), "the member to be in the status"):
            os.kill(pid, signal.SIGSTOP)
        code, said = ratoon("reclaim", "node-2", "--notice", "0.5s", "--run", run.folder)
        self.assertEqual(code, 0, said)
        wait_until(lambda: "node-2 was removed with its members: counter-worker-1-i0" in run.output(), "the node to go")
        wait_until(lambda: run.job_status()["restarts"]["disruption"] == 1, "the loss to be counted")

    def test_a_suspended_run_has_saved_and_holds_no_process_until_it_is_resumed(self):
        run = self.begin(numNodes=1)
        code, said = ratoon("suspend", run.folder)
        self.assertEqual((code, said), (0, "the run saves and ends its processes; `ratoon resume` continues it\n"))
        wait_until(lambda: run.job_status()["phase"] == "Suspended" and not run.status()["members"], "no process to be held")
        status = run.job_status()
        self.assertEqual(status["lastCheckpoint"]["step"], status["progress"]["step"], "nothing is made again")
        news = f"suspended; when resumed, the run goes on from step {status['progress']['step']}\n"
        wait_until(lambda: news in run.output(), "the news")
        self.assertIn("counter  Suspended", ratoon("status", run.folder)[1])
        code, said = ratoon("suspend", run.folder)
        self.assertEqual((code, said), (82, "ratoon: the run is suspended already\n"))
        code, said = ratoon("resume", run.folder)
        self.assertEqual((code, said), (0, "the run continues\n"))
        wait_until(lambda: f"trains with 1 process from step {status['lastCheckpoint']['step']}\n" in run.output(), "a world")
        self.assertEqual(run.job_status()["restarts"]["disruption"], 0)
        code, said = ratoon("resume", run.folder)
        self.assertEqual((code, said), (82, "ratoon: the run is not suspended\n"))

    def test_a_job_that_is_suspended_in_its_file_waits(self):
        run = LocalRun(command=["counter", "--steps", "10", "--pause-ms", "1"], spec={"suspend": True})
        self.addCleanup(run.close)
        run.start()
        wait_until(lambda: run.job_status().get("phase") == "Suspended", "the run to wait")
        self.assertIn("spec.suspend is true: no member is started before `ratoon resume`", run.output())
        self.assertEqual(run.logs(), {})
        self.assertEqual(ratoon("resume", run.folder)[0], 0)
        code, output = run.finish()
        self.assertEqual(code, 0, output)

    def test_status_of_a_run_that_goes_on_and_of_one_that_does_not(self):
        run = self.begin()
        report = wait_until(lambda: (lambda r: r if "seconds_left" in r.get("progress", {}) else None)(
            json.loads(ratoon("status", run.folder, "--json")[1])), "a rate")
        self.assertEqual((report["version"], report["running"], report["folder"]), (1, True, str(run.folder)))
        self.assertEqual((report["progress"]["total"], report["progress"]["unit"]), (1000000, "step"))
        self.assertGreater(report["progress"]["steps_per_second"], 0)
        wait_until(lambda: "durable  step " in ratoon("status", run.folder)[1], "a checkpoint in the status")
        code, text = ratoon("status", run.folder)
        self.assertEqual(code, 0, text)
        for part in ("counter  Running, attempt 1, 2 processes", "of 1000000 (0 %)", "steps/s", " left", "durable  step ",
                     "0 lost, 0 failed", "node-1    counter-worker-0-i0  Running", "node-3    -"):
            self.assertIn(part, text)
        self.assertEqual(stat.S_IMODE((run.folder / "control").stat().st_mode), 0o600)
        run.process.terminate()
        run.finish()
        self.assertIn("counter  Stopped, attempt 1", ratoon("status", run.folder)[1])
        self.assertIs(json.loads(ratoon("status", run.folder, "--json")[1])["running"], False)
        code, said = ratoon("kill", "worker-1", "--run", run.folder)
        self.assertEqual((code, said), (82, f"ratoon: no `ratoon run` is running in {run.folder}\n"))

    def test_a_runner_that_was_killed_is_seen_to_be_dead_though_its_number_may_live(self):
        run = self.begin()
        run.process.kill()
        run.process.wait()
        document = run.status()
        document["runner_pid"] = 1
        (run.folder / "status.json").write_text(json.dumps(document))
        self.assertIn("counter  Stopped", ratoon("status", run.folder)[1])
        code, said = ratoon("reclaim", "node-1", "--silent", "--run", run.folder)
        self.assertEqual((code, said), (82, f"ratoon: no `ratoon run` is running in {run.folder}\n"))

    def test_watch_goes_on_until_the_run_ends(self):
        run = self.begin()
        wait_until(lambda: run.job_status()["progress"]["step"] > 0, "a step in the status")
        watcher = subprocess.Popen([BIN / "ratoon", "status", run.folder, "--watch"], stdout=subprocess.PIPE, text=True)
        first = watcher.stdout.readline()
        self.assertRegex(first, r"^Running, attempt 1, 2 processes: step \d+ of 1000000")
        run.process.terminate()
        run.finish()
        rest, _ = watcher.communicate(timeout=180)
        self.assertRegex(rest.splitlines()[-1], r"^Stopped, attempt 1: step \d+ of 1000000 \(0 %\)  durable step \d+")

    def test_a_run_is_found_by_its_jobs_name_or_by_being_the_only_one(self):
        run = LocalRun(command=FOREVER)
        self.addCleanup(run.close)
        code, said = ratoon("status", cwd=run.root)
        self.assertEqual(code, 82)
        self.assertIn("there is no run in ratoon-runs/", said)
        run.folder = run.root / "ratoon-runs" / "counter"
        run.start()
        run.wait_for_commit(10)
        for words in ((), ("counter",), ("ratoon-runs/counter",)):
            code, said = ratoon("status", *words, cwd=run.root)
            self.assertEqual(code, 0, said)
        for words in (("report",), ("checkpoint", "list"), ("checkpoint", "verify", "--newest")):
            code, said = ratoon(*words, "counter", cwd=run.root)
            self.assertEqual(code, 0, said)
        self.assertTrue((run.folder / "report.html").is_file())
        code, said = ratoon("status", "letters", cwd=run.root)
        self.assertEqual((code, said), (82, "ratoon: there is no run 'letters': neither a run's folder nor "
                                            "ratoon-runs/letters; in ratoon-runs/ are: ratoon-runs/counter; name the folder "
                                            "that `ratoon run` printed when the run began; no cluster was asked: use "
                                            "`ratoon status letters --cluster` to ask it\n"))
        code, said = ratoon("kill", "worker-0", cwd=run.root)
        self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
