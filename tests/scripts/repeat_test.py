"""scripts/repeat on a tiny repository: what it runs, beside which load, and what it says of failures."""
import os
import pathlib
import subprocess
import unittest

from tiny_repository import TinyRepository

# Red each second time. It says how many processes of the load there are at the time.
MOODY = """#!/bin/sh
echo x >>"$0.calls"
ps -eo args | grep -c '[o]s.getppid() == parent' >>"$0.load"
echo "${RATOON_SERVERS_BIN-no servers}" >>"$0.servers"
test $(($(wc -l <"$0.calls") % 2)) = 1 || { echo "a bad day"; exit 1; }
"""


class Repeat(unittest.TestCase):
    def setUp(self):
        self.repository = TinyRepository(self)
        self.moody = pathlib.Path(self.repository.write("moody", MOODY, executable=True))
        self.repository.write("CMakeLists.txt", self.repository.read("CMakeLists.txt") +
                              "tiny_test(unit.moody unit ${PROJECT_SOURCE_DIR}/moody)\n")
        subprocess.run(["cmake", "--preset", "no-torch"], cwd=self.repository.path, check=True, capture_output=True)

    def test_it_counts_runs_and_failures_and_keeps_what_was_said(self):
        result = self.repository.run("scripts/repeat", "--times", "4", "--load", "2", "unit.alpha", "^unit.moody$")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("  unit.moody: 2 passed, 2 failed, 0 skipped\n  unit.alpha: 4 passed, 0 failed, 0 skipped\n"
                      "2 of 8 runs failed\n", result.stdout)
        kept = os.path.join(self.repository.path, "build/no-torch/repeat")
        said = {name: pathlib.Path(kept, name).read_text() for name in os.listdir(kept) if name.startswith("unit.")}
        self.assertEqual(said.keys(), {"unit.moody-round-2.log", "unit.moody-round-4.log"})
        self.assertTrue(all("a bad day" in text for text in said.values()), said)
        loads = [int(line) for line in pathlib.Path(f"{self.moody}.load").read_text().split()]
        self.assertEqual(len(loads), 4)
        self.assertGreaterEqual(min(loads), 2, "the load is there")
        self.assertNotIn("no servers", pathlib.Path(f"{self.moody}.servers").read_text(), "tests find the servers")

    def test_all_green_and_no_load_is_left(self):
        result = self.repository.run("scripts/repeat", "--times", "2", "--load", "3", "unit.beta")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("0 of 2 runs failed", result.stdout)

    def test_a_test_that_is_not_there(self):
        result = self.repository.run("scripts/repeat", "--times", "2", "--load", "0", "unit.omega")
        self.assertNotEqual(result.returncode, 0, result.stdout)

    def test_what_is_not_configured(self):
        result = self.repository.run("scripts/repeat", "--preset", "tsan", "unit.alpha")
        self.assertEqual(result.returncode, 1)
        self.assertIn("build/tsan has no tests. Next: cmake --preset tsan", result.stderr)


if __name__ == "__main__":
    unittest.main()
