"""Mutants: one source file with a change, compiled again and linked before the library that holds the sound one. The tests
that are named beside it must turn red. Each file of them has mutants(), all that it knows of, of which
tests/tidy/mutants_test.py checks in a second that they still apply."""

import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])
SECONDS_MAX = 300  # of the tests of a mutant, which take seconds


@dataclasses.dataclass(frozen=True)
class Mutant:
    what: str
    source: str
    changes: tuple  # of (pattern, instead), each of which applies exactly once
    program: str
    tests: str  # a filter of gtest

    def text(self):
        """The source with its changes."""
        text = (REPOSITORY / self.source).read_text()
        for pattern, instead in self.changes:
            changed, count = re.subn(pattern, instead, text)
            if count != 1 or changed == text:
                raise ValueError(f"{self.source} has {count} places for the pattern {pattern} of the mutant '{self.what}', and "
                                 "one is expected, which it changes: change the pattern with the source")
            text = changed
        return text


def of_laws(folder, rows, program, laws):
    """{what is broken: (file, pattern, instead)}, all for the same laws."""
    return [Mutant(what, folder + file, ((pattern, instead),), program, laws)
            for what, (file, pattern, instead) in rows.items()]


def of_rows(rows):
    """{what is broken: ((program, tests), source, pattern, instead)}."""
    return [Mutant(what, source, ((pattern, instead),), *tests) for what, (tests, source, pattern, instead) in rows.items()]


def commands_of(program):
    """Every command that makes the program; the last one links it."""
    output = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", f"bin/{program}"], check=True, text=True,
                            stdout=subprocess.PIPE)
    return [line for line in output.stdout.splitlines() if line]


def find_compiling(commands, source):
    """The command that compiles the source, alone or together with others."""
    for line in commands:
        if " -c " not in line:
            continue
        unit = BUILD / shlex.split(line)[-1]
        if unit == REPOSITORY / source:
            return shlex.split(line)
        if BUILD / "unity" in unit.parents and f'#include "{source}"\n' in unit.read_text():
            return shlex.split(line)
    raise ValueError(f"no command compiles {source}, alone or with others: name a program that is made of it")


def includes(words, header):
    """Whether the unit that this command compiles includes the header, as ninja found when it compiled the unit."""
    output = words[words.index("-o") + 1]
    found = subprocess.run(["ninja", "-C", BUILD, "-t", "deps", output], check=True, text=True, stdout=subprocess.PIPE)
    return any((BUILD / line.strip()).resolve() == REPOSITORY / header for line in found.stdout.splitlines())


def headers_of(text):
    """The lines that include headers at the beginning of a source, before its first condition and its first code."""
    lines = []
    for line in text.splitlines():
        if line.startswith("#include "):
            lines.append(line)
        elif line.strip() and not line.startswith("//"):
            break
    return "".join(line + "\n" for line in lines)


class MutantTest(unittest.TestCase):
    def setUp(self):
        # The same path each night: ccache knows a mutant again whose source did not change.
        self.folder = BUILD / "mutants" / self.id()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, mutant):
        if mutant.source.endswith(".h"):
            return self.make_of_header(mutant)
        changed, compiled = self.folder / "mutant.cpp", self.folder / "mutant.o"
        changed.write_text(mutant.text())
        commands = commands_of(mutant.program)
        words = find_compiling(commands, mutant.source)
        # The source is compiled alone, also where the program compiles it together with others: objects of -fPIC call each
        # function that others see by its name, so they call the mutant's.
        assert "-fPIC" in words, f"{mutant.source} is compiled without -fPIC, so the sound function may be inlined: {words}"
        self.compile(words, "-include", self.precompiled_headers(mutant.source, words), "-c", changed, "-o", compiled)
        return self.link(shlex.split(commands[-1]), mutant.program, compiled)

    def make_of_header(self, mutant):
        """Every unit of the program that includes the header is compiled again, with the mutant's folder before the others."""
        root = self.folder / "headers"
        changed = root / mutant.source
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(mutant.text())
        folders = [f"-I{root / folder}" for folder in ("", "agent/include", "base/include")]
        commands = commands_of(mutant.program)
        including = [words for words in map(shlex.split, commands) if "-c" in words and includes(words, mutant.source)]
        if not including:
            raise ValueError(f"no unit of {mutant.program} includes {mutant.source}: name another program")
        compiled = []
        for number, (launcher, compiler, *words) in enumerate(including):
            compiled.append(self.folder / f"unit{number}.o")
            self.compile([launcher, compiler, *folders, *words], "-c", words[-1], "-o", compiled[-1])
        changed.unlink()
        # A unit of tests that is linked twice would register its tests twice.
        sound = {words[words.index("-o") + 1] for words in including}
        return self.link([word for word in shlex.split(commands[-1]) if word not in sound], mutant.program, *compiled)

    def precompiled_headers(self, source, words):
        """The header that includes those of the source, compiled once for all its mutants: it is most of their work."""
        header = self.folder / (source.replace("/", "+") + ".h")
        if not header.exists():
            header.write_text(headers_of((REPOSITORY / source).read_text()))
            self.compile(words, "-x", "c++-header", "-c", header, "-o", f"{header}.gch")
        return header

    def compile(self, words, *arguments):
        """Compiles with the options of the command `words`: at -O1 and without debug information it takes a third less time."""
        options = list(words)
        for flag, count in (("-o", 2), ("-c", 2), ("-MF", 2), ("-MT", 2), ("-MD", 1)):
            at = options.index(flag)
            del options[at:at + count]
        subprocess.run([*map(str, [*options, "-O1", "-g0", "-w", *arguments])], cwd=BUILD, check=True)

    def link(self, words, program, *compiled):
        linked = self.folder / program
        words = [word for word in words if word not in (":", "&&")]
        at = words.index("-o")
        words[at + 1] = str(linked)
        # It comes before the sound one, be that in an archive or among the program's own objects. The linker may still want the
        # archive's own copy for a template that the mutant no longer instantiates.
        compiler, *rest = words
        subprocess.run([compiler, "-Wl,--allow-multiple-definition", *map(str, compiled), *rest], cwd=BUILD, check=True)
        return linked

    def run_mutant(self, mutant, **environment):
        """Its exit code and what it said. As ctest does, kills a program whose test waits for ever, with its children."""
        words = [self.make(mutant), f"--gtest_filter={mutant.tests}", "--gtest_fail_fast"]
        with subprocess.Popen(words, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True, env={**os.environ, **environment}) as run:
            try:
                text, _ = run.communicate(timeout=SECONDS_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                text, _ = run.communicate()
            return run.returncode, text

    def check_each(self, mutants):
        """Each of them turns a test red."""
        for mutant in mutants:
            with self.subTest(mutant=mutant.what):
                code, text = self.run_mutant(mutant)
                caught_by = failed_in(text) if code == 1 else crashed_in(code, text)
                self.assertTrue(caught_by, f"{mutant.what}: lives, exit code {code}\n{text[-2000:]}")
                print(f"{mutant.what} | {', '.join(caught_by)}", flush=True)

    def check_laws(self, mutants, seeds, **environment):
        """Each of them breaks a law within so many seeds, and it is told with which."""
        for mutant in mutants:
            with self.subTest(mutant=mutant.what):
                code, text = self.run_mutant(mutant, RATOON_FIRST_SEED="1", RATOON_SEEDS=str(seeds), **environment)
                seed = re.search(r"RATOON_SEED=(\d+)", text)
                self.assertEqual(code, 1, f"{mutant.what}: lives\n{text[-2000:]}")
                self.assertTrue(seed, text[-2000:])
                print(f"{mutant.what} | {seed[1]} | {said(text)}", flush=True)

    def check_sound(self, mutants):
        """What is as it was passes: each test on each source, compiled and linked as the mutants of it are."""
        self.assertTrue(mutants, "a table names the sources whose sound form it checks")
        for source, program, tests in sorted({(mutant.source, mutant.program, mutant.tests) for mutant in mutants}):
            with self.subTest(source=source, program=program):
                code, text = self.run_mutant(Mutant("nothing", source, (), program, tests))
                self.assertEqual(code, 0, text[-2000:])


class TableOfMutants:
    """The tests of most tables. Beside a MutantTest, and no test case by itself: `mutants` gives the table's."""

    def test_each_turns_a_test_red(self):
        self.check_each(self.mutants())

    def test_what_is_left_as_it_is_passes(self):
        first_of_each = {mutant.program: mutant for mutant in self.mutants()}
        self.check_sound(list(first_of_each.values()))


class TableOfSources(TableOfMutants):
    """A table whose sound sources are checked one by one, because they are in different libraries."""

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound(self.mutants())


def failed_in(text):
    return sorted(set(re.findall(r"\[  FAILED  \] ([\w./]+)", text)))


def crashed_in(code, text):
    """The test in which the program crashed or hung, as a list; such a test is as red as one that fails."""
    last = re.findall(r"\[ +(RUN|OK|FAILED) +\] ([\w./]+)", text)[-1:]
    return [name for what, name in last if what == "RUN" and code in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL)]


def said(text):
    """The law's own words, below what was compared."""
    for line in text.partition(": Failure\n")[2].splitlines():
        if line and not line.startswith((" ", "Value of", "Expected", "Google Test trace", "../../", "[")):
            return line
    return "see the seed"
