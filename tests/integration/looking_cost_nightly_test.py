"""What looking at a run costs: processor time of the runner with a picture on a terminal against one without, at the same time on
the same machine; and of `ratoon report` against the length of its run. RATOON_SECONDS of each (30), RATOON_FIGURES=file.json."""

import json
import os
import pathlib
import pty
import resource
import subprocess
import threading
import time
import unittest

from local_run import BIN, LocalRun, keep_figures

LIMIT = 0.01  # of one core
MEMBERS = 4


def processor_seconds(pid):
    """Of a process with all its threads, without its children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Terminal:
    """One that takes all that is written to it."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self.bytes = 0
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        try:
            while block := os.read(self.ours, 65536):
                self.bytes += len(block)
        except OSError:
            pass  # nobody has the other end any more

    def close(self):
        os.close(self.theirs)
        self.reader.join()
        os.close(self.ours)


class Cost(unittest.TestCase):
    def begin(self, output):
        run = LocalRun(command=["counter", "--steps", "1000000000", "--pause-ms", "20"], spec={"numNodes": MEMBERS})
        self.addCleanup(run.close)
        run.process = subprocess.Popen([BIN / "ratoon", "run", run.job_file, "--folder", run.folder], stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        run.wait_for_commit(10)
        return run

    def test_the_screen_and_the_report_take_less_than_a_hundredth_of_a_core(self):
        seconds = float(os.environ.get("RATOON_SECONDS", "30"))
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with open(os.devnull, "w") as nowhere:
            runs = {"screen": self.begin(terminal.theirs), "no screen": self.begin(nowhere)}
        drawn = terminal.bytes
        began = time.monotonic(), {name: processor_seconds(run.process.pid) for name, run in runs.items()}
        time.sleep(seconds)  # what is measured is that it passes
        passed = time.monotonic() - began[0]
        cores = {name: (processor_seconds(run.process.pid) - began[1][name]) / passed for name, run in runs.items()}
        self.assertGreater(terminal.bytes, drawn, "there is a picture")

        folder = runs["screen"].folder
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([BIN / "ratoon", "report", folder], check=True, stdout=subprocess.DEVNULL, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        length = json.loads(subprocess.run([BIN / "ratoon", "report", folder, "--json"], check=True, capture_output=True,
                                           timeout=60).stdout)["seconds"]

        keep_figures({"seconds": round(passed, 1), "members": MEMBERS, "runner_percent": round(100 * cores["no screen"], 2),
                      "screen_percent": round(100 * (cores["screen"] - cores["no screen"]), 2),
                      "report_seconds": round(report, 3), "run_seconds": round(length, 1),
                      "report_percent": round(100 * report / length, 2)})
        self.assertLess(cores["screen"] - cores["no screen"], LIMIT)
        self.assertLess(report / length, LIMIT)


if __name__ == "__main__":
    unittest.main()
