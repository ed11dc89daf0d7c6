"""bench_release.py RESULT: how soon the peers of a lost process are released, step again, and all step again: four ranks of
examples/digits under `ratoon run`. Writes google-benchmark's JSON, as other benchmarks do. RATOON_BENCH_KILLS and
RATOON_BENCH_STOPS set how often, RATOON_SEED repeats a run's choices.

A process prints a line when it has left an attempt, and one a step; the lines are looked for each 2 ms, in real time. In
a world of four nobody can step before the process that is started again. So a second job may shrink to three: there peers
step as soon as they have met again, and the fourth comes later. With SIGSTOP the time counts from the order, which is when
events.jsonl has that the world was given up."""
import datetime
import json
import os
import pathlib
import random
import re
import signal
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("RATOON_BUILD_DIR", str(ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tests/integration"))
from local_run import LocalRun, wait_until  # noqa: E402

RANKS = 4
KILLS = int(os.environ.get("RATOON_BENCH_KILLS", "20"))
STOPS = int(os.environ.get("RATOON_BENCH_STOPS", "5"))
LOOK_SECONDS = 0.002
PATIENCE = 120
STEP = re.compile(r"^attempt (\d+) rank (\d+) step \d+ loss ")
LEFT = re.compile(r"^ratoon: attempt (\d+) ends ")
SHRINKS = {"elasticPolicy": {"minReplicas": RANKS - 1, "shrinkAfterSeconds": 0, "growCooldownSeconds": 1}}


class Lines(threading.Thread):
    """When each member left each attempt, and when it had made the first step of it."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.read = folder, {}
        self.left, self.stepped = {}, {}  # by (member, attempt)
        self.is_over = False
        self.start()

    def run(self):
        while not self.is_over:
            for path in self.folder.glob("logs/*.log"):
                self.follow(path)
            time.sleep(LOOK_SECONDS)

    def follow(self, path):
        known = self.read.get(path, 0)
        if path.stat().st_size <= known:
            return
        now = time.time()
        with open(path, "rb") as log:
            log.seek(known)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read[path] = known + len(text)
        for line in text.decode().splitlines():
            for pattern, moments in ((STEP, self.stepped), (LEFT, self.left)):
                if found := pattern.match(line):
                    moments.setdefault((path.stem, int(found[1])), now)

    def members_of(self, attempt):
        return {member for member, one in list(self.stepped) if one == attempt}


class Bed:
    """One run, and what is known of it."""

    def __init__(self, spec):
        self.run = LocalRun("digits", {"numNodes": RANKS, "checkpointPolicy": {"intervalSteps": 20}, **spec},
                            ["digits", "--steps", "1000000000", "--batch", "96", "--pause-ms", "5"])
        self.run.start()
        self.lines = Lines(self.run.folder)

    def close(self):
        self.lines.is_over = True
        self.lines.join()
        self.run.close()

    def whole_attempt(self):
        """That in which all four have stepped, once it is the newest."""
        def find():
            attempt = max((one for _, one in list(self.lines.stepped)), default=0)
            return attempt if len(self.lines.members_of(attempt)) == RANKS else 0
        return wait_until(find, "four ranks that step", PATIENCE)

    def order_after(self, moment):
        """When the run gave its world up."""
        def find():
            for line in (self.run.folder / "events.jsonl").read_text().splitlines():
                event = json.loads(line)
                at = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
                if event["kind"] == "apart" and at > moment:
                    return at
            return None
        return wait_until(find, "the order", PATIENCE)

    def lose(self, chance, how):
        attempt = self.whole_attempt()
        self.wait_for(lambda: any(one == attempt for one, _ in self.run.commits()), "a checkpoint of it")
        time.sleep(chance.uniform(0.2, 1.0))
        peers = self.lines.members_of(attempt)
        lost = chance.choice(sorted(peers))
        pids = [pid for one in self.run.status()["members"] if one["name"] == lost for pid in one["pids"]]
        began = time.time()
        os.kill(pids[0], how)
        peers.discard(lost)
        again = self.wait_for(lambda: self.whole_attempt_after(attempt), "all four to step")
        since = self.order_after(began) if how == signal.SIGSTOP else began
        left = {peer: self.lines.left[peer, attempt] for peer in peers}
        stepped = {peer: min(at for (member, one), at in list(self.lines.stepped.items())
                             if member == peer and one > attempt) for peer in peers}
        recovery = self.run.job_status().get("lastDisruption", {}).get("phases", {})
        return {"released": max(left.values()) - since, "next_step": max(stepped[peer] - left[peer] for peer in peers),
                "all": max(at for (_, one), at in self.lines.stepped.items() if one == again) - since,
                "phases": recovery}

    def whole_attempt_after(self, attempt):
        found = self.whole_attempt()
        return found if found > attempt else 0

    @staticmethod
    def wait_for(condition, what):
        return wait_until(condition, what, PATIENCE)


def p95(values):
    return sorted(values)[-(-len(values) * 95 // 100) - 1]


def rows_of(name, trials):
    for field in ("released", "next_step", "all"):
        values = [one[field] for one in trials]
        name_of_row = f"release/{name}/{field}"
        yield {"name": name_of_row, "run_name": name_of_row, "run_type": "iteration", "iterations": len(values),
               "real_time": statistics.median(values) * 1000, "cpu_time": 0, "time_unit": "ms",
               "p95_seconds": p95(values), "max_seconds": max(values), "seconds": [round(one, 4) for one in values]}
    for phase in sorted({phase for one in trials for phase in one["phases"]}):
        values = [one["phases"][phase] for one in trials if phase in one["phases"]]
        name_of_row = f"release/{name}/phase_{phase}"
        yield {"name": name_of_row, "run_name": name_of_row, "run_type": "iteration", "iterations": len(values),
               "real_time": statistics.median(values) * 1000, "cpu_time": 0, "time_unit": "ms"}


def main(result):
    seed = int(os.environ.get("RATOON_SEED", random.randrange(2**32)))
    chance = random.Random(seed)
    rows = []
    for name, spec, how, times in (("kill", {}, signal.SIGKILL, KILLS), ("kill_shrinks", SHRINKS, signal.SIGKILL, KILLS),
                                   ("stop", {}, signal.SIGSTOP, STOPS), ("stop_shrinks", SHRINKS, signal.SIGSTOP, STOPS)):
        bed = Bed(spec)
        try:
            rows += rows_of(name, [bed.lose(chance, how) for _ in range(times)])
        finally:
            bed.close()
        # After each, so that what was measured is there whatever becomes of the rest.
        context = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "num_cpus": os.cpu_count(), "load_avg": os.getloadavg(),
                   "seed": seed}
        pathlib.Path(result).write_text(json.dumps({"context": context, "benchmarks": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
