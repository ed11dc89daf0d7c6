"""`ratoon run` with losses on purpose: by the clock, by a trace; and beginning afresh."""

import os
import pty
import select
import shutil
import signal
import subprocess
import time
import unittest

from local_run import BIN, LocalRun, wait_until

FOREVER = ["counter", "--steps", "1000000", "--pause-ms", "5"]


class Losses(unittest.TestCase):
    def make(self, command=None, **spec):
        run = LocalRun(command=command or FOREVER, spec=spec)
        self.addCleanup(run.close)
        return run

    def reclaims(self, run):
        return [(e["target"], e["asked_by"]) for e in run.status().get("on_purpose", [])]

    def test_every_second_a_node_goes_and_the_same_seed_takes_the_same_ones(self):
        targets = []
        for _ in range(2):
            run = self.make()
            run.start("--reclaim-every", "1s", "--seed", "7")
            wait_until(lambda r=run: len(self.reclaims(r)) >= 2, "two losses")
            run.process.terminate()
            run.finish()
            self.assertEqual({by for _, by in self.reclaims(run)}, {"every"})
            targets.append(self.reclaims(run)[0])
            self.assertIn(f"{targets[-1][0]} was removed with its members: counter-worker-", run.output())
        self.assertEqual(targets[0], targets[1])

    def test_a_trace_says_which_nodes_there_are(self):
        run = self.make()
        trace = run.root / "trace.csv"
        # An hour in 20 s, in which a busy machine forms the world: a third node comes, the first one goes.
        trace.write_text("0,add,red\n0,add,green\n3600000,add,blue\n3600000,remove,red\n")
        run.start("--trace", trace, "--trace-speed", "180")
        wait_until(lambda: self.reclaims(run) == [("red", "trace")], "the loss")
        wait_until(lambda: {m["node"] for m in run.status()["members"]} == {"green", "blue"}, "the members to be there")
        self.assertEqual([n["name"] for n in run.status()["nodes"]], ["green", "blue"])
        self.assertIn("red, green have come", run.output())
        wait_until(lambda: len(run.status()["recoveries"]) == 1, "the recovery")

    def test_a_trace_that_leaves_too_few_nodes_says_whom_it_leaves_out(self):
        run = self.make()
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n0,add,green\n1000,remove,red\n")
        run.start("--trace", trace)
        wait_until(lambda: "still waiting: " in run.output(), "the run to say that it waits", 180)
        self.assertRegex(run.output(), r"no node is free for counter-worker-[01]-i1 yet; logs are in ")
        self.assertEqual(run.job_status()["ledger"]["part"], "waitingForCapacity", "the report and the metrics say so, too")

    def test_notice_of_what_is_planned(self):
        run = self.make()
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n0,add,green\n0,add,blue\n2000,remove,red\n")
        run.start("--trace", trace, "--reclaim-notice", "2s")
        wait_until(lambda: "red was removed with its members: " in run.output(), "the node to go")
        self.assertIn("red got a preemption notice and is removed in 2 s; its members: counter-worker-", run.output())

    def test_a_program_and_a_folder_of_logs_that_are_away_for_a_moment_are_no_end_of_the_run(self):
        run = self.make()
        program, away = run.root / "program", run.root / "away"
        shutil.copy(BIN / "counter", program)
        container = run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]
        container["command"] = [str(program), *FOREVER[1:]]
        run.write_job()
        run.start()
        run.wait_for_commit(10)
        program.rename(away)
        shutil.rmtree(run.folder / "logs")
        run.hurt(1)
        wait_until(lambda: f"starting '{program}'" in run.output(), "the start that fails")
        away.rename(program)
        wait_until(lambda: len(run.status().get("recoveries", [])) == 1, "the recovery")
        self.assertTrue((run.folder / "logs" / "counter-worker-1-i1.log").exists())
        run.process.terminate()
        self.assertEqual(run.finish()[0], 130, run.output())

    def test_what_makes_no_sense_is_refused(self):
        run = self.make()
        trace = run.root / "trace.csv"
        trace.write_text("0,add,red\n0,remove,green\n")
        for words, sentence in (
                (("--trace", trace), f"ratoon: {trace}: line 2: node 'green' does not exist"),
                (("--trace", run.root / "none"), f"ratoon: --trace: opening {run.root / 'none'}: No such file or directory"),
                (("--reclaim-every", "20"), "ratoon: --reclaim-every: expected a time above 0 like 30s, 0.5s or 1m30s, "
                                            "found '20'"),
                (("--trace-speed", "2"), "--trace-speed requires --trace"),
                (("--yes",), "--yes requires --fresh")):
            run.start(*words)
            code, output = run.finish()
            self.assertEqual(code, 82, output)
            self.assertIn(sentence, output)
        self.assertFalse(run.folder.exists())


class Fresh(unittest.TestCase):
    def completed(self):
        run = LocalRun(command=["counter", "--steps", "30", "--pause-ms", "1"])
        self.addCleanup(run.close)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        return run

    def test_without_a_terminal_it_wants_a_yes_and_then_moves_everything_aside(self):
        run = self.completed()
        run.start()
        self.assertIn("to start over, pass --fresh", run.finish()[1])
        before = run.commits()
        run.start("--fresh")
        code, output = run.finish()
        self.assertEqual(code, 82, output)
        self.assertIn("there is no terminal to ask whether to start over: pass --yes with --fresh", output)
        self.assertEqual(run.commits(), before)

        run.start("--fresh", "--yes")
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn("attempt 2 trains with 2 processes from step 0", output)
        (aside,) = (run.folder / "before").iterdir()
        self.assertEqual(len(list(aside.glob("checkpoints/counter/manifests/*.json"))), len(before))
        self.assertTrue((aside / "status.json").exists())
        self.assertEqual([p.name for p in sorted((aside / "logs").iterdir())],
                         ["counter-worker-0-i0.log", "counter-worker-1-i0.log"])
        self.assertEqual({attempt for attempt, _ in run.commits()}, {2})

    def test_what_a_store_still_has_of_the_run_before_does_not_come_back(self):
        run = self.completed()
        store = run.root / "store"
        store.mkdir()
        run.document["spec"]["checkpointPolicy"]["stores"] = [str(store)]
        run.write_job()
        run.start("--fresh", "--yes")
        self.assertEqual(run.finish()[0], 0)
        run.start("--fresh", "--yes")
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertIn("attempt 3 trains with 2 processes from step 0", output)

    def killed_with_a_save_in_memory(self):
        """A run whose disk takes nothing more, ended with its members by SIGKILL: the save is staged, and nobody wrote it."""
        run = LocalRun(command=["counter", "--steps", "100000", "--pause-ms", "1", "--max-missed-saves", "100000"],
                       spec={"numNodes": 1, "checkpointPolicy": {"intervalSteps": 10, "stagingMemory": "64Mi"}})
        self.addCleanup(run.close)
        run.start()
        run.wait_for_commit(10)
        packs = run.folder / "checkpoints" / "counter" / "packs"

        def is_in_the_way():
            packs.rename(packs.with_name(f"away-{time.monotonic_ns()}"))
            try:
                return packs.write_text("in the way of the folder")
            except IsADirectoryError:  # the trainer has made it anew in between
                return False

        wait_until(is_in_the_way, "a file in place of the folder")
        wait_until(lambda: "is tried again" in "".join(run.logs().values()), "a save that waits in memory")
        run.process.send_signal(signal.SIGSTOP)  # or it would start another member
        run.hurt(0)
        run.process.kill()
        run.process.wait()
        run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
            "counter", "--steps", "30", "--pause-ms", "1"]
        run.write_job()
        return run

    def test_what_is_staged_of_a_run_that_is_not_gone_on_with_is_not_taken_for_its_own(self):
        for what, words in (("set aside", ("--fresh", "--yes")), ("removed", ())):
            with self.subTest(what):
                run = self.killed_with_a_save_in_memory()
                if what == "removed":
                    shutil.rmtree(run.folder)
                run.start(*words)
                code, output = run.finish()
                self.assertEqual(code, 0, output)
                self.assertIn("trains with 1 process from step 0", output)
                self.assertNotIn("left in memory", "".join(run.logs().values()))
                self.assertEqual(len({attempt for attempt, _ in run.commits()}), 1, run.commits())

    def test_a_new_folder_needs_no_yes(self):
        run = LocalRun(command=["counter", "--steps", "10", "--pause-ms", "1"])
        self.addCleanup(run.close)
        run.start("--fresh")
        self.assertEqual(run.finish()[0], 0)
        self.assertFalse((run.folder / "before").exists())

    def test_on_a_terminal_it_asks(self):
        run = self.completed()
        for answer, word in (("n\n", "nothing was changed"), ("y\n", "the files of earlier runs are in ")):
            output = self.on_a_terminal([BIN / "ratoon", "run", run.job_file, "--folder", run.folder, "--fresh"], answer)
            self.assertIn("Start over? The old run is moved to ", output)
            self.assertIn(word, output)

    def on_a_terminal(self, command, typed):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        os.write(ours, typed.encode())
        output = b""
        while True:
            ready, _, _ = select.select([ours], [], [], 60)
            try:
                block = os.read(ours, 65536) if ready else b""
            except OSError:  # the other end is closed
                break
            if not block:
                break
            output += block
        process.wait(timeout=180)
        os.close(ours)
        return output.decode(errors="replace")


if __name__ == "__main__":
    unittest.main()
