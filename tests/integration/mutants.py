"""Mutants: one source file with a change, compiled again and linked before the library that holds the sound one. The tests
that are named beside it must turn red."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])


def commands_of(program):
    """Every command that makes the program; the last one links it."""
    output = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", f"bin/{program}"], check=True, text=True,
                            stdout=subprocess.PIPE)
    return [line for line in output.stdout.splitlines() if line]


class MutantTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, source, changes, program):
        text = (REPOSITORY / source).read_text()
        for pattern, instead in changes:
            text, count = re.subn(pattern, instead, text)
            self.assertGreater(count, 0, f"{source} has no {pattern} any more: change this test with it")
        mutant, compiled, linked = self.folder / "mutant.cpp", self.folder / "mutant.o", self.folder / program
        mutant.write_text(text)
        commands = commands_of(program)
        [compiling] = [line for line in commands if " -c " in line and line.endswith(f"/{source}")]
        words = shlex.split(compiling)
        words[words.index("-o") + 1], words[words.index("-c") + 1] = str(compiled), str(mutant)
        subprocess.run([*words, "-w"], cwd=BUILD, check=True)
        words = [word for word in shlex.split(commands[-1]) if word not in (":", "&&")]
        at = words.index("-o")
        words[at + 1] = str(linked)
        # The linker may still want the archive's own copy for a template that the mutant no longer instantiates.
        first_wins = "-Wl,--allow-multiple-definition"
        subprocess.run(words[:at] + [first_wins, str(compiled)] + words[at:], cwd=BUILD, check=True)
        return linked

    def run_mutant(self, source, changes, program, tests, **environment):
        """Its exit code and what it said."""
        mutant = self.make(source, changes, program)
        run = subprocess.run([mutant, f"--gtest_filter={tests}", "--gtest_fail_fast"], cwd=REPOSITORY, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                             env={**os.environ, **environment})
        return run.returncode, run.stdout

    def check_laws(self, folder, mutants, program, laws, seeds, **environment):
        """Each of {what is broken: (file, pattern, instead)} breaks a law within so many seeds, and it is told with which."""
        for what, (file, pattern, instead) in mutants.items():
            with self.subTest(mutant=what):
                code, text = self.run_mutant(folder + file, [(pattern, instead)], program, laws, RATOON_FIRST_SEED="1",
                                              RATOON_SEEDS=str(seeds), **environment)
                seed = re.search(r"RATOON_SEED=(\d+)", text)
                self.assertEqual(code, 1, f"{what}: lives\n{text[-2000:]}")
                self.assertTrue(seed, text[-2000:])
                print(f"{what} | {seed[1]} | {said(text)}", flush=True)

    def check_sound(self, source, program, tests):
        """One that is as it was passes."""
        code, text = self.run_mutant(source, [], program, tests)
        self.assertEqual(code, 0, text[-2000:])


def said(text):
    """The law's own words, below what was compared."""
    for line in text.partition(": Failure\n")[2].splitlines():
        if line and not line.startswith((" ", "Value of", "Expected", "Google Test trace", "../../", "[")):
            return line
    return "see the seed"
