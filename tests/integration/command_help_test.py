"""Every command has examples and exit codes under --help, docs/reference/commands.md has the same codes, and shells complete
the commands."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["RATOON_BUILD_DIR"]) / "bin"
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/commands.md"
ROW = re.compile(r"^\| `((?:kubectl )?ratoon[^`]*)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
CODE = re.compile(r"\b\d+\b")
WITH_RATOON = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}


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
                (("run",), "ratoon run needs the argument 'file' (TrainingJob in YAML): see `ratoon run --help`"),
                (("report",),
                 "ratoon report needs the argument 'folder' (The folder or job name of a `ratoon run`, <save folder>/<run "
                 "name>, or an address in a store: s3://bucket/runs/<run name>): see `ratoon report --help`"),
                (("run", "job.yaml", "fast"),
                 "ratoon run takes no argument 'fast'; put the arguments of the trainer behind --, as in 'ratoon run job.yaml "
                 "-- fast': see `ratoon run --help`"),
                (("launch", "trainer"),
                 "ratoon launch takes no argument 'trainer'; put the trainer and its arguments behind --, as in 'ratoon "
                 "launch -- trainer': see `ratoon launch --help`"),
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
        done = subprocess.run(command, text=True, capture_output=True, timeout=180, env=WITH_RATOON)
        self.assertEqual(done.stderr, "", typed)
        # In zsh it is the caller that leaves out what does not begin so.
        begin = words[-1] if shell == "zsh" else ""
        return sorted(reply for reply in done.stdout.split("\n") if reply and reply.startswith(begin))

    def folder_with_names(self):
        """The folder of a run whose status.json has two members and three nodes."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "status.json").write_text(json.dumps(
            {"members": [{"name": "a-worker-0-i0"}, {"name": "a-worker-1-i3"}, {"name": 5}, {}],
             "nodes": [{"name": name} for name in ("node-1", "node-12", "node-2")]}))
        return folder.name

    def check(self, shell):
        self.assertEqual(self.offered(shell, "ratoon re"), ["reclaim", "report", "resume"])
        self.assertEqual(self.offered(shell, "ratoon checkpoint "), sorted(subcommands_of("ratoon", "checkpoint")))
        self.assertEqual(self.offered(shell, "ratoon checkpoint verify runs/a --ne"), ["--newest"])
        run = self.folder_with_names()
        self.assertEqual(self.offered(shell, f"ratoon kill --run {run} "), ["a-worker-0-i0", "a-worker-1-i3"])
        self.assertEqual(self.offered(shell, f"ratoon reclaim --run {run} node-1"), ["node-1", "node-12"])
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

    def test_kubectl_is_told_the_words_of_its_plugin(self):
        def told(*words):
            done = subprocess.run([BIN / "kubectl_complete-ratoon", *words], text=True, capture_output=True, timeout=180)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            return done.stdout.split("\n")[:-1]

        self.assertEqual(told(""), [*subcommands_of("kubectl ratoon"), ":4"])
        self.assertEqual(told("re"), ["resume", "report", ":4"])
        self.assertEqual(told("checkpoints", "digits", "--ver"), ["--verify", ":4"])
        self.assertEqual(told("report", "digits", "--output", ""), [":0"], "names of files")
        self.assertEqual(told("report", ""), [":4"], "a job has no file")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = subprocess.run([BIN / "ratoon", "completion", "fish"], text=True, capture_output=True, check=True,
                                timeout=180).stdout

        def offered(typed):
            done = subprocess.run(["fish", "--no-config", "-c", f"{script}\ncomplete -C {shlex.quote(typed)}"], text=True,
                                  capture_output=True, timeout=180, cwd=self.folder_with_names(), env=WITH_RATOON)
            self.assertEqual(done.stderr, "", typed)
            return sorted(line.split("\t")[0] for line in done.stdout.splitlines())

        self.assertEqual(offered("ratoon re"), ["reclaim", "report", "resume"])
        self.assertEqual(offered("ratoon checkpoint "), sorted(subcommands_of("ratoon", "checkpoint")))
        self.assertEqual(offered("ratoon checkpoint verify runs/a --ne"), ["--newest"])
        self.assertEqual(offered("ratoon run job.yaml --trace-speed 60 --trace-"), ["--trace-speed"])
        self.assertEqual(offered("ratoon run job.yaml -- --fr"), [], "options of the trainer")
        run = self.folder_with_names()
        self.assertEqual(offered(f"ratoon kill --run {run} a-"), ["a-worker-0-i0", "a-worker-1-i3"])
        self.assertEqual(offered(f"ratoon reclaim --run {run} node-1"), ["node-1", "node-12"])

    def test_names_of_no_run_and_no_other_shell(self):
        for words, said in ((("members", "--run", "nowhere"), "there is no run 'nowhere'"), (("tcsh",), "bash")):
            done = subprocess.run([BIN / "ratoon", "completion", *words], text=True, capture_output=True, timeout=180)
            self.assertEqual((done.returncode, done.stdout), (82, ""))
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
