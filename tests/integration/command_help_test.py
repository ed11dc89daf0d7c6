"""Every command has examples and exit codes under --help, docs/reference/commands.md has the same codes, and shells complete
the commands."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/commands.md"
ROW = re.compile(r"^\| `((?:kubectl )?ratoon[^`]*)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
CODE = re.compile(r"\b\d+\b")


def help_of(*words):
    program, *words = words
    shown = subprocess.run([BIN / program.replace(" ", "-"), *words, "--help"], text=True, capture_output=True, timeout=180)
    assert shown.returncode == 0, words
    return shown.stdout


def subcommands_of(*words):
    return re.findall(r"(?m)^  (\S+)", help_of(*words).partition("\nSubcommands:\n")[2])


def commands_in(*words):
    """Every command below these words that has none below it."""
    names = subcommands_of(*words)
    return [found for name in names for found in commands_in(*words, name)] if names else [words]


class Help(unittest.TestCase):
    def test_every_command_has_examples_and_exit_codes_and_docs_list_the_same(self):
        commands = [*commands_in("ratoon"), *commands_in("kubectl ratoon"), ("ratoon-operator",)]
        self.assertGreaterEqual(len(commands), 15, commands)
        listed = {command: CODE.findall(codes) for command, codes in ROW.findall(DOCS.read_text())}
        self.assertEqual(sorted(listed), sorted(" ".join(words) for words in commands))
        for words in commands:
            command = " ".join(words)
            with self.subTest(command):
                shown = help_of(*words)
                self.assertIn(f"Examples:\n  {command}", shown)
                codes = CODE.findall(shown.partition("Exit codes: ")[2])
                self.assertEqual(codes[0], "0")
                self.assertEqual(sorted(listed[command]), sorted(codes))

    def test_a_command_line_that_is_wrong_is_a_sentence_and_82(self):
        for words, said in (
                (("statsu",), "ratoon has no command 'statsu'; did you mean 'status'? See `ratoon --help`"),
                (("rnu",), "ratoon has no command 'rnu'; did you mean 'run'? See `ratoon --help`"),
                (("run", "job.yaml", "--steps", "5"),
                 "ratoon run takes no option '--steps'; put an option of the trainer behind --, as in 'ratoon run job.yaml -- "
                 "--steps': see `ratoon run --help`"),
                (("nonsense",), "ratoon has no command 'nonsense': see `ratoon --help`"),
                ((), "ratoon needs a command: see `ratoon --help`"),
                (("checkpoint",), "ratoon checkpoint needs a command: see `ratoon checkpoint --help`"),
                (("checkpoint", "verfy"),
                 "ratoon checkpoint has no command 'verfy'; did you mean 'verify'? See `ratoon checkpoint --help`"),
                (("run",), "file is required: see `ratoon run --help`"),
                (("run", "job.yaml", "--foldr=x"),
                 "ratoon run takes no option '--foldr'; did you mean '--folder'? See `ratoon run --help`"),
                (("kill", "m", "runs/a"),
                 "ratoon kill takes no argument 'runs/a'; name a run with --run: see `ratoon kill --help`"),
                (("status", "a", "b"), "ratoon status takes no argument 'b': see `ratoon status --help`")):
            with self.subTest(words):
                done = subprocess.run([BIN / "ratoon", *words], text=True, capture_output=True, timeout=180)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (82, "", f"ratoon: {said}\n"))


class Completion(unittest.TestCase):
    """The script in the shell itself, which is told what was typed up to the cursor."""

    def offered(self, shell, typed):
        words = typed.split(" ")
        script = subprocess.run([BIN / "ratoon", "completion", shell], text=True, capture_output=True, check=True,
                                timeout=180).stdout
        ask = f"""COMP_WORDS=({" ".join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _ratoon
                  for reply in "${{COMPREPLY[@]}}"; do printf '%s\\n' "$reply"; done"""
        command = ["bash", "--norc", "-c", script + ask]
        if shell == "zsh":
            # In the mode in which bashcompinit calls it; the folders of zsh's own functions are not ours to check.
            script = script.replace("&& compinit\n", "&& compinit -u -D\n")
            command = ["zsh", "-f", "-c", f"{script} f() {{ emulate -L sh; setopt kshglob braceexpand\n{ask}\n}}; f"]
        done = subprocess.run(command, text=True, capture_output=True, timeout=180)
        self.assertEqual(done.stderr, "", typed)
        # In zsh it is the caller that leaves out what does not begin so.
        begin = words[-1] if shell == "zsh" else ""
        return sorted(reply for reply in done.stdout.split("\n") if reply and reply.startswith(begin))

    def check(self, shell):
        self.assertEqual(self.offered(shell, "ratoon re"), ["reclaim", "report", "resume"])
        self.assertEqual(self.offered(shell, "ratoon checkpoint "), sorted(subcommands_of("ratoon", "checkpoint")))
        self.assertEqual(self.offered(shell, "ratoon checkpoint verify runs/a --ne"), ["--newest"])
        self.assertEqual(self.offered(shell, "ratoon run job.yaml --trace-speed 60 --trace-"), ["--trace-speed"])
        for files in ("ratoon run ", "ratoon run --folder -", "ratoon run job.yaml -- --fr"):
            self.assertEqual(self.offered(shell, files), [], "names of files")

    def test_bash(self):
        self.check("bash")
        self.assertEqual(self.offered("bash", "ratoon "), sorted(subcommands_of("ratoon")))
        for words in commands_in("ratoon"):
            options = re.findall(r"(?m)^  (?:(-\w),)?(--[\w-]+)", help_of(*words))
            self.assertEqual(self.offered("bash", " ".join(words) + " -"), sorted(filter(None, sum(options, ()))), words)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        self.check("zsh")

    def test_no_other_shell(self):
        done = subprocess.run([BIN / "ratoon", "completion", "fish"], text=True, capture_output=True, timeout=180)
        self.assertEqual(done.returncode, 82)
        self.assertIn("bash", done.stderr)


if __name__ == "__main__":
    unittest.main()
