"""Skips are counted: whole tests and cases within programs are printed with their reasons, and one that
tests/expected_skips.txt does not expect on this machine makes its lane red."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

from fake_machine import REPOSITORY
from tiny_repository import TinyRepository

sys.path.insert(0, os.path.join(REPOSITORY, "scripts", "lib"))
import expected_skips  # noqa: E402
import machine_facts  # noqa: E402
import skips  # noqa: E402

OF_GTEST = """[ RUN      ] Disk.Fills
[       OK ] Disk.Fills (0 ms)
[ RUN      ] Disk.Freezes
a word of the program
/r/disk_test.cpp:7: Skipped
no disk can be frozen here

[  SKIPPED ] Disk.Freezes (2 ms)
[ RUN      ] Ways/Sum.IsRight/0
/r/sum_test.cpp:9: Skipped
no SSE

[  SKIPPED ] Ways/Sum.IsRight/0 (0 ms)
[==========] 3 tests from 2 test suites ran. (2 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Disk.Freezes
[  SKIPPED ] Ways/Sum.IsRight/0
"""
OF_PYTHON = '''"""Cases of every kind."""
import unittest


class Cases(unittest.TestCase):
    def test_runs(self):
        print("it ran with", __import__("sys").argv[1:])

    @unittest.skipIf(True, "no tmux here")
    def test_screen(self):
        self.fail("not skipped")

    def test_within(self):
        with self.subTest(file="a"):
            self.skipTest("no\\nzsh: here")


@unittest.skip("the class is skipped")
class Others(unittest.TestCase):
    def test_other(self):
        self.fail("not skipped")


if __name__ == "__main__":
    unittest.main()
'''


def report(name, said, is_skipped=False):
    test = ET.Element("testcase", name=name, status="notrun" if is_skipped else "run")
    if is_skipped:
        ET.SubElement(test, "skipped")
    ET.SubElement(test, "system-out").text = said
    return test


class Read(unittest.TestCase):
    def test_cases_of_gtest_have_their_reasons(self):
        self.assertEqual(skips.skips_of(report("unit.disk", OF_GTEST)), [
            skips.Skip("unit.disk", "Disk.Freezes", "no disk can be frozen here"),
            skips.Skip("unit.disk", "Ways/Sum.IsRight/0", "no SSE")])

    def test_one_whose_own_lines_were_cut_off_is_still_seen(self):
        cut = OF_GTEST[:10] + "\n[output was cut off]\n" + OF_GTEST[OF_GTEST.index("[  PASSED"):]
        self.assertEqual([skip.case for skip in skips.skips_of(report("unit.disk", cut))],
                         ["Disk.Freezes", "Ways/Sum.IsRight/0"])

    def test_a_reason_is_not_the_one_of_the_case_before(self):
        said = OF_GTEST.replace("/r/sum_test.cpp:9: Skipped\nno SSE\n", "")
        self.assertEqual(skips.skips_of(report("unit.disk", said))[1].reason, skips.NO_REASON)

    def test_cases_of_python_are_told_by_what_runs_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cases_test.py"
            path.write_text(OF_PYTHON)
            done = subprocess.run([sys.executable, f"{REPOSITORY}/tests/support/run_python.py", path, "--verbose"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("it ran with ['--verbose']", done.stdout)
        self.assertEqual(sorted(skips.skips_of(report("scripts.cases", done.stdout))), [
            skips.Skip("scripts.cases", "Cases.test_screen", "no tmux here"),
            skips.Skip("scripts.cases", "Cases.test_within", "no zsh: here"),
            skips.Skip("scripts.cases", "Others.test_other", "the class is skipped")])

    def test_what_runs_them_keeps_a_proxy_from_the_servers_of_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "proxy_test.py"
            path.write_text("import os; print(os.environ['no_proxy'], os.environ['NO_PROXY'])")
            done = subprocess.run([sys.executable, f"{REPOSITORY}/tests/support/run_python.py", path], capture_output=True,
                                  text=True, env={**os.environ, "no_proxy": "", "NO_PROXY": "example.org"})
        self.assertEqual(done.stdout, "127.0.0.1,::1,localhost example.org,127.0.0.1,::1,localhost\n", done.stderr)

    def test_a_whole_test(self):
        self.assertEqual(skips.skips_of(report("cluster.eta", "a line\nSKIPPED: no kubelet\n", is_skipped=True)),
                         [skips.Skip("cluster.eta", skips.WHOLE, "no kubelet")])
        self.assertEqual(skips.skips_of(report("cluster.eta", "", is_skipped=True))[0].reason, skips.NO_REASON)


class Table(unittest.TestCase):
    skip = skips.Skip("gpu.data", "Data.Moves", "there is no GPU")

    def complaints(self, line, lane="release", lacks=("GPU",)):
        table = [expected_skips.read_row(line, "table")] if line else []
        return expected_skips.complaints([self.skip], table, lane, lambda fact: fact not in lacks)

    def test_what_is_expected_here_is_fine(self):
        for line in ("no GPU | gpu.data | Data.Moves | there is no GPU", "no root, no GPU | gpu.* | * | there is no *",
                     "lane release | gpu.* | * | *"):
            self.assertEqual(self.complaints(line), [], line)

    def test_what_is_not_is_said(self):
        for line in ("", "no GPU | gpu.data | Data.Copies | *", "no GPU | gpu.data | - | *", "no GPU | gpu | * | *",
                     "no GPU | gpu.* | * | another reason"):
            self.assertEqual(self.complaints(line), [
                "gpu.data: Data.Moves was skipped: there is no GPU; no line of tests/expected_skips.txt expects it. "
                "Next: bring what it lacks, or add the line"], line)

    def test_a_machine_that_has_it_must_not_skip(self):
        [said] = self.complaints("no GPU, lane tsan | gpu.* | * | *", lacks=())
        self.assertIn("it is expected with lane tsan or no GPU only", said)

    def test_a_line_that_says_nothing_known(self):
        for line in ("no gpu | a | b | c", "GPU | a | b | c", "no GPU | a | b"):
            with self.assertRaises(SystemExit) as refused:
                expected_skips.read_row(line, "table")
            self.assertIn("expected condition | test | case | reason", str(refused.exception))

    def test_each_fact_can_be_found_out(self):
        for fact in machine_facts.FACTS:
            self.assertIn(machine_facts.has(fact), (True, False), fact)


class Lane(unittest.TestCase):
    def setUp(self):
        self.repository = TinyRepository(self)
        self.repository.write("disk.txt", "a line of the program\n" * 10000 + OF_GTEST)  # more than ctest keeps
        text = self.repository.read("CMakeLists.txt").replace(
            "tiny_test(tidy.delta", 'tiny_test(unit.disk "unit" cat ${PROJECT_SOURCE_DIR}/disk.txt)\ntiny_test(tidy.delta')
        self.repository.write("CMakeLists.txt", text)

    def test_a_case_that_nothing_expects_makes_it_red(self):
        result = self.repository.run("scripts/test", "--fast")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("100% tests passed", result.stdout)
        self.assertIn("unit.disk: Disk.Freezes was skipped: no disk can be frozen here; no line of", result.stderr)
        self.assertTrue(result.stderr.strip().endswith(
            "lane fast skipped what it must not skip; to repeat it alone: scripts/test --lane fast"), result.stderr)

    def test_expected_ones_are_printed_and_green(self):
        self.repository.write("tests/expected_skips.txt", "# table\nlane fast | unit.disk | * | *\n")
        result = self.repository.run("scripts/test", "--fast")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("skipped 1: no disk can be frozen here (unit.disk: Disk.Freezes)", result.stdout)

    def test_a_whole_test_that_nothing_expects_makes_it_red(self):
        self.repository.write("disk.txt", "")
        self.repository.write("tests/expected_skips.txt", "")
        result = self.repository.run("scripts/test", "--lane", "release")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("cluster.eta was skipped: no kubelet can run here", result.stderr)


if __name__ == "__main__":
    unittest.main()
