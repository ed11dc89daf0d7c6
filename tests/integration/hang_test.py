"""One rank stands still for good and lives on: in the read of a data set, in compute, in a collective that it never takes part
in. The run goes on without being told, takes each sample once, and ends where an unbroken one does."""

import datetime
import json
import os
import re
import signal
import time
import unittest

from local_run import BIN, LocalRun, wait_until

STEPS = 300
HANG_AT = 120
HUNG_RANK = 1
ALLOWED_SECONDS = 15  # for a phase of a step of five milliseconds, on a machine that may have much else to do
FROZEN_SECONDS = 13  # longer than a gap between two beats that has other reasons
SILENT_SECONDS = 10  # less than that; on a busy machine beats come late after the thaw
FROZEN_ALLOWED_SECONDS = 16
PATIENCE_SECONDS = 180
DONE = re.compile(rf"^done after {STEPS} steps, digest ([0-9a-f]{{16}})$", re.MULTILINE)
ATTEMPT_END = re.compile(r"^ratoon: attempt 1 ends at step \d+: (.*)$", re.MULTILINE)


def start(*flags, allowed=ALLOWED_SECONDS, spec=None):
    """A run of three members that agree once a step."""
    run = LocalRun(spec={"numNodes": 3, **(spec or {})})
    words = run.root / "words"
    words.mkdir()
    run.document["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = [
        str(BIN / "drain_probe"), "--agree", str(words), "--steps", str(STEPS), "--hang-after", f"{allowed}s",
        "--leave-within", "15", *flags]
    run.write_job()
    return run.start()


def start_to_hang(phase, **more):
    return start("--hang", phase, "--hang-at", str(HANG_AT), "--hang-rank", str(HUNG_RANK), **more)


class Hang(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All at once: each of them mostly waits."""
        cls.unbroken = start()
        cls.addClassCleanup(cls.unbroken.close)
        cls.hung = {phase: start_to_hang(phase) for phase in ("data", "compute", "collective")}
        cls.frozen = start_to_hang("compute", allowed=FROZEN_ALLOWED_SECONDS,
                                   spec={"disruptionPolicy": {"suspectAfterSeconds": SILENT_SECONDS}})
        for run in (*cls.hung.values(), cls.frozen):
            cls.addClassCleanup(run.close)

    def finish(self, run):
        code, output = run.finish(PATIENCE_SECONDS)
        self.assertEqual(code, 0, output)
        return output

    def digests(self, run):
        """Of the samples that each rank had taken at the end, in their order."""
        return [found for text in run.logs().values() for found in DONE.findall(text)]

    def ledger(self, run):
        """The last that rank 0, which outlived the hang, has written of where the time went."""
        rows = [json.loads(line) for path in sorted(run.folder.glob("checkpoints/*/history/*.jsonl"))
                for line in path.read_text().splitlines()]
        return [row["values"] for row in rows if row.get("kind") == "ledger"][-1]

    def test_the_run_ends_as_if_nothing_had_been(self):
        self.finish(self.unbroken)
        self.assertEqual(self.unbroken.job_status()["restarts"]["hung"], 0)
        digest = self.digests(self.unbroken)[0]
        for phase, run in self.hung.items():
            with self.subTest(phase):
                output = self.finish(run)
                self.assertEqual((run.root / "words" / "hung").read_text(), phase)
                self.assertEqual(self.digests(run), [digest] * 3, run.logs())
                restarts = run.job_status()["restarts"]
                self.assertEqual((restarts["hung"], restarts["application"]), (1, 0), output)
                self.assertIn(f" s in {phase} at step {HANG_AT}, {ALLOWED_SECONDS}.0 s are allowed", output)
                self.assertIn(f"counter-worker-{HUNG_RANK}-i1", run.logs(), "the one that hung is replaced")
                for rank in (0, 2):
                    self.assertNotIn(f"counter-worker-{rank}-i1", run.logs(), "who waited lives on")

    def test_the_time_is_known_as_hung(self):
        for phase, run in self.hung.items():
            with self.subTest(phase):
                self.finish(run)
                ledger = self.ledger(run)
                # On a busy machine rank 0 comes later than the one that hangs to the collective in which it waits.
                self.assertGreater(ledger["hung"], ALLOWED_SECONDS / 2, ledger)
                phases = run.job_status()["lastDisruption"]["phases"]
                # It was more, and the status has whole milliseconds.
                self.assertGreaterEqual(phases["detectSeconds"], ALLOWED_SECONDS, phases)

    def test_to_blame_is_the_one_that_is_not_in_the_collective(self):
        for phase in ("data", "compute"):
            with self.subTest(phase):
                run = self.hung[phase]
                self.finish(run)
                failure = run.job_status()["lastFailure"]
                self.assertEqual(failure["member"], f"counter-worker-{HUNG_RANK}-i0")
                self.assertEqual(failure["attempt"], 1)
                reasons = [found for text in run.logs().values() for found in ATTEMPT_END.findall(text)]
                self.assertEqual(len(reasons), 2, run.logs())
                for reason in reasons:
                    self.assertIn(f"counter-worker-{HUNG_RANK}-i0 was lost: hung: ", reason)

    def test_where_nobody_is_to_blame_the_one_that_does_not_leave_asks_for_a_fresh_start(self):
        run = self.hung["collective"]
        output = self.finish(run)
        self.assertIn("all processes wait for each other: ", output)
        self.assertIn(f"counter-worker-{HUNG_RANK}-i0: exit code 81 (asks for a fresh start)", output)
        log = run.logs()[f"counter-worker-{HUNG_RANK}-i0"]
        self.assertIn("this process was ordered to leave its world but makes no progress", log)
        self.assertEqual(run.job_status()["restarts"]["disruption"], 1)

    def test_a_machine_that_stood_still_does_not_hang(self):
        """The time in which nobody could move counts for nobody: here for one that hangs before and after it."""
        run = self.frozen
        wait_until((run.root / "words" / "hung").exists, "rank 1 to hang", seconds=180)
        pids = [run.process.pid, *(pid for index in range(3) for pid in run.pids_of(index))]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: run.job_status().get("lastFailure") or run.process.poll() is not None, "the hang to be found",
                   seconds=PATIENCE_SECONDS)
        output = self.finish(run)
        found_at = datetime.datetime.fromisoformat(run.job_status()["lastFailure"]["time"].replace("Z", "+00:00")).timestamp()
        hung_at = (run.root / "words" / "hung").stat().st_mtime
        self.assertGreater(found_at - hung_at, FROZEN_SECONDS + FROZEN_ALLOWED_SECONDS - 1, output)
        self.assertEqual(run.job_status()["restarts"]["hung"], 1, output)


if __name__ == "__main__":
    unittest.main()
