"""The live picture of `ratoon run`, as tmux shows it at two widths; and lines alone where there is no terminal."""

import os
import shutil
import subprocess
import tempfile
import unittest

from local_run import BIN, LocalRun, wait_until

COMMAND = ["counter", "--steps", "1000000", "--pause-ms", "5"]


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class LiveScreen(unittest.TestCase):
    def setUp(self):
        self.sockets = tempfile.mkdtemp(prefix="ratoon-tmux-")
        self.addCleanup(shutil.rmtree, self.sockets, ignore_errors=True)
        self.server = os.path.join(self.sockets, "s")
        self.addCleanup(lambda: self.tmux("kill-server", check=False))

    def tmux(self, *words, check=True):
        return subprocess.run(["tmux", "-S", self.server, "-f", "/dev/null", *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=check).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def open(self, columns, rows, *options, is_shown=lambda line: "steps/s" in line or line.endswith(">")):
        run = LocalRun(command=COMMAND)
        self.addCleanup(run.close)
        # In one command, because the run may be over before the next one.
        self.tmux("start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";",
                  "new-session", "-d", "-x", columns, "-y", rows, "-e", f"PATH={os.environ['PATH']}", BIN / "ratoon", "run",
                  run.job_file, "--folder", run.folder, *options)
        wait_until(lambda: any(map(is_shown, self.screen())), "a rate on the screen, or what the test asks for")
        return run

    def picture(self):
        """The lines from the job's name on; there is one picture, however often it was drawn."""
        def found():  # not in the middle of a drawing
            lines = self.screen()
            begins = [i for i, line in enumerate(lines) if line.startswith("counter  ")]
            return (lines[:begins[0]], lines[begins[0]:]) if len(begins) == 1 else None

        return wait_until(found, "one picture, and no other")

    def test_a_wide_screen_has_it_all_and_a_recovery_appears(self):
        run = self.open(120, 30)
        subprocess.run([BIN / "ratoon", "reclaim", "node-2", "--silent", "--run", run.folder], check=True, timeout=180,
                       stdout=subprocess.DEVNULL)
        wait_until(lambda: any("STEPS AGAIN" in line for line in self.screen()), "the recovery on the screen")
        above, picture = self.picture()
        text = "\n".join(picture)
        self.assertRegex(text, r"^counter  \w+, attempt \d")
        for pattern in (r"(?m)^at       step \d+ of 1000000 \(\d %\)", r"(?m)^durable  step \d+  \w+ [0-9a-f]+",
                        r"(?m)^losses   1 lost, 0 failed, 1 on purpose; recovered in \d+\.\d\d s$",
                        r"(?m)^node-1 +counter-worker-0-i0  Running +127\.0\.0\.1:\d+$",
                        r"(?m)^node-3 +counter-worker-1-i1  Running +127\.0\.0\.1:\d+$",
                        r"(?m)^\d\d:\d\d:\d\d +\d+\.\d\d +\d+ +counter-worker-1-i0  node-2  ended by signal 9$"):
            self.assertRegex(text, pattern)
        self.assertTrue(any("node-2 was removed with its members: counter-worker-1-i0" in line for line in above), above)

    def test_a_narrow_screen_cuts_lines_and_never_wraps_them(self):
        self.open(40, 12, is_shown=lambda line: line == "counter  Running, attempt 1, 2 processes")
        _, picture = self.picture()
        self.assertLessEqual(len(picture), 10)
        self.assertTrue(any(line.endswith(">") for line in picture), picture)
        self.assertRegex(picture[0], r"^counter  Running, attempt 1, 2 processes$")
        self.assertRegex(picture[2], r"^durable  ")

    def test_it_stays_when_the_run_is_over(self):
        self.open(100, 30, "--", "--steps", "300", is_shown=lambda line: "completed at step 300" in line)
        wait_until(lambda: any(line.startswith("counter  Succeeded") for line in self.screen()), "the last picture")
        _, picture = self.picture()
        self.assertIn("at       step 300 of 300 (100 %)", picture)


class Lines(unittest.TestCase):
    def test_elsewhere_there_is_no_picture(self):
        run = LocalRun(command=["counter", "--steps", "50", "--pause-ms", "1"])
        self.addCleanup(run.close)
        run.start()
        code, output = run.finish()
        self.assertEqual(code, 0, output)
        self.assertNotIn("\x1b", output)
        self.assertNotIn("NODE", output)


if __name__ == "__main__":
    unittest.main()
