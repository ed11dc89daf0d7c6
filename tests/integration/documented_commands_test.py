"""The commands in the documentation exist: in each code block the programs, subcommands, options, scripts, presets, targets
and tests of this repository have the names that the page gives them, and quoted --help texts are those of the programs."""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
BLOCK = re.compile(r"^( *)```(?:sh|bash|console)?\n(.*?)^\1```", re.M | re.S)
PROGRAMS = {"ratoon", "kubectl-ratoon", "ratoon-operator"}


def pages():
    return [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))


def command_lines(text):
    """The lines of all code blocks, without comments; a line that ends with a backslash goes on in the next one."""
    for block in BLOCK.finditer(text):
        for line in block[2].replace("\\\n", " ").split("\n"):
            yield re.sub(r"(^|\s)#.*", "", line.removeprefix("$ ")).strip()


def simple_commands(line):
    """The commands of a line of the shell as lists of words, without assignments of variables in front of them."""
    for part in re.split(r"&&|\|\||;|\||&(?!\d)|\bdo\b|\buntil\b", line):
        try:
            words = shlex.split(part)
        except ValueError:
            continue  # prose, or a text of several lines
        while words and re.fullmatch(r"export|[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words:
            yield words


@functools.cache
def help_of(program, *subcommands):
    done = subprocess.run([BIN / program, *subcommands, "--help"], text=True, capture_output=True, timeout=180)
    return done.stdout if done.returncode == 0 else None


@functools.cache
def cmake_text():
    listed = subprocess.run(["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=ROOT, text=True, capture_output=True).stdout
    return "\n".join((ROOT / name).read_text() for name in listed.split())


def faults_of_program(program, words):
    """What is wrong with the words of a command of Ratoon."""
    words = words[:words.index("--")] if "--" in words else words
    path = []
    while len(path) < len(words) and f"\n  {words[len(path)]} " in (help_of(program, *path) or "").partition("\nSubcommands:")[2]:
        path.append(words[len(path)])
    if program != "ratoon-operator" and not path and words and not words[0].startswith("-"):
        yield f"{program} has no command {words[0]}"
    text = help_of(program, *path)
    for option in {word.split("=")[0] for word in words if word.startswith("--")} - {"--help"}:
        if not re.search(rf"{re.escape(option)}\b", text):
            yield f"{' '.join([program, *path])} has no option {option}"


def faults_of(words):
    name, rest = words[0], words[1:]
    program = "kubectl-ratoon" if words[:2] == ["kubectl", "ratoon"] else name.rsplit("/", 1)[-1]
    if program in PROGRAMS:
        yield from faults_of_program(program, rest[program == "kubectl-ratoon":])
    elif name.startswith("scripts/"):
        if not os.access(ROOT / name, os.X_OK):
            yield f"there is no program {name}"
        else:
            sources = [ROOT / name, *(ROOT / "scripts/lib").rglob("*.py"), *(ROOT / "scripts/lib").rglob("*.sh")]
            known = "".join(source.read_text() for source in sources)
            yield from (f"{name} has no option {word}" for word in rest if word.startswith("--") and word not in known)
    elif re.fullmatch(r"build/[\w-]+/bin/\w[\w-]*", name):
        if not re.search(rf"\b{program}\b", cmake_text()):
            yield f"no target makes {name}"
    elif name == "python3" and rest and rest[0].endswith(".py"):
        if not (ROOT / rest[0]).is_file():
            yield f"there is no file {rest[0]}"
    elif name in ("cmake", "ctest"):
        presets = (ROOT / "CMakePresets.json").read_text()
        for option, word in zip(rest, rest[1:]):
            if option == "--preset" and f'"{word}"' not in presets:
                yield f"there is no preset {word}"
            if option in ("--target", "-R") and not re.search(rf"\b{re.escape(word.split('.')[-1])}\b", cmake_text()):
                yield f"there is no target or test {word}"


def faults_of_page(text):
    return [fault for line in command_lines(text) for words in simple_commands(line) for fault in faults_of(words)]


def quoted_helps(text):
    """(the words of a command, the lines of its --help text that a page quotes)"""
    for block in BLOCK.finditer(text):
        found = re.match(r"\$ ([\w -]+) --help\n", block[2])
        if found:
            yield found[1].split(), [line for line in block[2].splitlines()[1:] if line != "..."]


class DocumentedCommands(unittest.TestCase):
    def test_each_command_of_a_page_exists(self):
        seen = 0
        for page in pages():
            text = page.read_text()
            seen += sum(words[0].rsplit("/", 1)[-1] in PROGRAMS for line in command_lines(text)
                        for words in simple_commands(line))
            with self.subTest(page.relative_to(ROOT)):
                self.assertEqual(faults_of_page(text), [])
        self.assertGreater(seen, 20, "commands of Ratoon on all pages")

    def test_quoted_help_is_that_of_the_program(self):
        seen = 0
        for page in pages():
            for words, lines in quoted_helps(page.read_text()):
                shown = help_of(words[0], *words[1:]).splitlines()
                with self.subTest(f"{page.name}: {' '.join(words)}"):
                    self.assertEqual([line for line in lines if line not in shown], [], "lines that --help does not print")
                seen += 1
        self.assertGreater(seen, 0)

    def test_what_does_not_exist_is_found(self):
        for line, fault in (("ratoon statsu", "ratoon has no command statsu"),
                            ("A=5 build/release/bin/ratoon run a --foldr x -- --steps 5", "ratoon run has no option --foldr"),
                            ("ratoon checkpoint pin a --wy b", "ratoon checkpoint pin has no option --wy"),
                            ("kubectl ratoon logs digits --follo", "kubectl-ratoon logs has no option --follo"),
                            ("scripts/setup --jobs 2 && scripts/never", "there is no program scripts/never"),
                            ("scripts/test --slow", "scripts/test has no option --slow"),
                            ("build/release/bin/no_such_program", "no target makes build/release/bin/no_such_program"),
                            ("python3 nowhere/no_test.py", "there is no file nowhere/no_test.py"),
                            ("cmake --preset fast", "there is no preset fast"),
                            ("ctest --preset release -R unit.no_such_test", "there is no target or test unit.no_such_test")):
            with self.subTest(line):
                self.assertIn(fault, faults_of_page(f"```\n{line}    # a comment\n```\n"))
        self.assertEqual(faults_of_page("```\n# ratoon statsu\nratoon run job.yaml -- --whatever\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
