"""scripts/test on a tiny repository: which lane runs what, what is said of skipped tests, and how it ends."""
import json
import os
import re
import sys
import unittest

from fake_machine import REPOSITORY
from tiny_repository import TinyRepository

sys.path.insert(0, os.path.join(REPOSITORY, "scripts", "lib"))
import ctest_progress  # noqa: E402


def tests_run(output):
    return set(re.findall(r"Test +#\d+: (\S+) \.", output))


class Progress(unittest.TestCase):
    def test_the_report_that_a_red_test_printed_does_not_close_the_run(self):
        report = ["    Start 1: unit.alpha\n", "1/3 Test #1: unit.alpha ....***Failed 0.1 sec\n",
                  "1/2 Test #1: unit.inner ....   Passed 0.0 sec\n", "100% tests passed, 0 tests failed out of 2\n",
                  "2/3 Test #2: unit.beta ....   Passed 0.1 sec\n", "3/3 Test #3: unit.gamma ...   Passed 0.1 sec\n"]
        closing = ["67% tests passed, 1 tests failed out of 3\n", "Total Test time (real) = 1 sec\n"]
        found = list(ctest_progress.split(report + closing))
        self.assertEqual([line for closes, line in found if closes], closing)
        self.assertEqual([line for closes, line in found if not closes], report)


class Lanes(unittest.TestCase):
    def setUp(self):
        self.repository = TinyRepository(self)

    def test_the_whole_run(self):
        result = self.repository.run("scripts/test", "-j", "2")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        ends = [int(count) for count in re.findall(r"100% tests passed, 0 tests failed out of (\d+)", result.stdout)]
        self.assertEqual(ends, [3, 1, 4])
        skipped = "skipped 1: no kubelet can run here (cluster.eta)"
        self.assertLess(result.stdout.index(skipped), result.stdout.rindex("100% tests passed"))
        closing = result.stdout[result.stdout.rindex("100% tests passed"):]
        self.assertIn("Total Test time", closing)
        self.assertNotIn("test: ", closing)
        self.assertEqual(self.repository.setup_calls(), [""])
        lanes = json.loads(self.repository.read("build/lanes.json"))["lanes"]
        self.assertEqual([lane["name"] for lane in lanes], ["asan-ubsan", "tsan", "release"])
        self.assertTrue(all(lane["passed"] for lane in lanes))

    def test_fast_needs_neither_libtorch_nor_servers(self):
        result = self.repository.run("scripts/test", "--fast")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.repository.setup_calls(), ["--only build --without-libtorch"])
        self.assertEqual(tests_run(result.stdout), {"unit.alpha", "unit.beta", "property.gamma", "tidy.delta"})

    def test_the_chosen_lanes_only(self):
        result = self.repository.run("scripts/test", "--lane", "tsan", "--lane", "fast")
        self.assertEqual(result.returncode, 0, result.stderr)
        lanes = json.loads(self.repository.read("build/lanes.json"))["lanes"]
        self.assertEqual([lane["name"] for lane in lanes], ["tsan", "fast"])

    def test_a_red_lane_stops_the_run_and_says_how_to_repeat_it(self):
        self.repository.write("sanitizer-is-red", "")
        result = self.repository.run("scripts/test")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("1 tests failed out of 4", result.stdout)
        self.assertNotIn("lane tsan", result.stdout)
        self.assertTrue(result.stderr.strip().endswith("scripts/test --lane asan-ubsan"), result.stderr)

    def test_a_lane_that_does_not_build(self):
        self.repository.write("CMakeLists.txt", 'message(FATAL_ERROR "ratoon: nothing here")')
        result = self.repository.run("scripts/test", "--fast")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ratoon: nothing here", result.stderr)
        self.assertTrue(result.stderr.strip().endswith("did not build; to repeat it alone: scripts/test --lane fast"))

    def test_a_lane_without_a_test_is_red(self):
        text = self.repository.read("CMakeLists.txt").replace("unit;threads", "unit")
        self.repository.write("CMakeLists.txt", text)
        result = self.repository.run("scripts/test", "--lane", "tsan")
        self.assertNotEqual(result.returncode, 0)

    def test_setup_that_fails_ends_the_run(self):
        self.repository.write("scripts/setup", "#!/bin/sh\nexit 1\n", executable=True)
        result = self.repository.run("scripts/test", "--fast")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(tests_run(result.stdout), set())

    def test_ci_says_what_machine_it_has_and_ends_as_the_tests_do(self):
        result = self.repository.run(".ci/run", CI="true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"cores: \d+\nmemory: \d+ MB available\ndisk: \d+ MB free\n")
        self.assertIn("Total Test time", result.stdout.strip().splitlines()[-1] + result.stdout[-600:])


if __name__ == "__main__":
    unittest.main()
