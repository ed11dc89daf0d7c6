"""Each mutant (tests/integration/*_mutants_nightly_test.py) still applies: its pattern is in its file exactly once and changes
it, its program is a test, and the tests that are to catch it are there. Nothing is compiled."""
import fnmatch
import importlib
import os
import re
import sys
import unittest

from repository import ROOT, Repository

os.environ.setdefault("RATOON_BUILD_DIR", "nowhere")  # the modules ask for it, and what is asked of them here needs none
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from named_tests import programs  # noqa: E402

# Where mutants are: in each file of the first, in each of these files, and somewhere in each of these folders.
WHOLE_FOLDERS = ("operator/core", "agent/src/board", "base/contract")
FILES = ("agent/src/checkpoint/commit/commit.cpp", "agent/src/checkpoint/retention/retention.cpp",
         "agent/src/checkpoint/format/rollback.cpp",
         "agent/src/checkpoint/tiers/claim.cpp", "agent/src/checkpoint/tiers/claim_rules.cpp",
         "agent/src/checkpoint/tiers/resume_choice.cpp", "agent/src/checkpoint/pack/cover.cpp",
         "agent/src/checkpoint/format/manifest.cpp", "agent/src/checkpoint/commit/lost_manifests.cpp",
         "agent/src/checkpoint/tiers/stale_links.cpp", "agent/src/session/engine/program_requests.cpp",
         "agent/src/session/shutdown/process_exit.cpp",
         "agent/src/session/api/attempt_loop.cpp", "agent/src/session/api/train.cpp", "agent/src/session/api/in_place.cpp",
         "agent/src/session/state/start_snapshot.cpp", "agent/src/session/options/misspelled_flags.cpp",
         "agent/src/torch/tracking/track_optimizer.cpp", "operator/coordinator/job_session.cpp",
         "operator/local/folder/status_file.cpp")
FOLDERS = ("agent/src/data/loader", "agent/src/data/order", "agent/src/data/sets", "agent/src/objects/cache",
           "agent/src/objects/credentials", "agent/src/objects/remote", "agent/src/objects/s3", "agent/src/torch/collectives",
           "cli/checkpoint", "cli/cluster", "cli/report", "cli/run")


def all_mutants():
    """[(module, mutant)]"""
    names = sorted(path.stem for path in (ROOT / "tests/integration").glob("*_mutants_nightly_test.py"))
    return [(name, mutant) for name in names for mutant in importlib.import_module(name).mutants()]


def is_of(tests, suite, case):
    """Whether a part of a filter of gtest takes the case, be it one with parameters."""
    return any(fnmatch.fnmatchcase(name, tests) for name in (f"{suite}.{case}", f"All/{suite}.{case}/0"))


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mutants = all_mutants()
        cls.programs = programs(Repository.from_git())

    def test_each_applies_once(self):
        self.assertGreater(len(self.mutants), 200)
        for module, mutant in self.mutants:
            with self.subTest(module=module, mutant=mutant.what):
                self.assertTrue(mutant.changes)
                try:
                    mutant.text()
                except ValueError as fault:
                    self.fail(str(fault))

    def test_each_names_a_program_and_tests_of_it(self):
        for module, mutant in self.mutants:
            with self.subTest(module=module, mutant=mutant.what):
                program = self.programs.get(mutant.program)
                self.assertTrue(program is not None and program.has_cpp, f"{mutant.program} is no program of tests")
                for tests in mutant.tests.split(":"):
                    self.assertTrue(any(is_of(tests, *case) for case in program.cases), f"{mutant.program} has no {tests}")

    def test_each_has_a_name_of_its_own(self):
        names = [(module, mutant.what) for module, mutant in self.mutants]
        self.assertEqual(len(set(names)), len(names))

    def test_what_is_to_have_mutants_has_some(self):
        mutated = {mutant.source for _, mutant in self.mutants}
        wanted = {str(path.relative_to(ROOT)) for folder in WHOLE_FOLDERS for path in (ROOT / folder).rglob("*.cpp")}
        self.assertEqual(sorted((wanted | set(FILES)) - mutated), [], "no mutant is in them: add one to the table of their part")
        for folder in FOLDERS:
            self.assertTrue(any(source.startswith(folder + "/") for source in mutated), folder)

    def test_a_pattern_that_does_not_apply_is_seen(self):
        from mutants import Mutant
        source = "operator/core/wake_time.cpp"
        for pattern, instead, count in (("no such text", "", 0), ("namespace", "", 2), ("void wake_no_later_than",
        "void wake_no_later_than", 1)):
            with self.assertRaisesRegex(ValueError, f"{re.escape(source)} has {count} places"):
                Mutant("a", source, ((pattern, instead),), "operator_core_test", "*").text()
        Mutant("a", source, (("void wake_no_later_than", "void wake_earlier_than"),), "operator_core_test", "*").text()

    def test_a_test_in_which_the_program_crashes_is_red(self):
        from mutants import crashed_in
        ended = "[ RUN      ] A.IsSound\n[       OK ] A.IsSound (0 ms)\n"
        self.assertEqual(crashed_in(-11, ended + "[ RUN      ] A.IsBroken\nan assertion\n"), ["A.IsBroken"])
        self.assertEqual(crashed_in(-9, ended + "[ RUN      ] A.WaitsForEver\n"), ["A.WaitsForEver"])
        self.assertEqual(crashed_in(-11, ended), [], "it crashed after its tests")
        self.assertEqual(crashed_in(-11, ""), [], "it crashed before its tests")
        self.assertEqual(crashed_in(0, ended), [])



if __name__ == "__main__":
    unittest.main()
