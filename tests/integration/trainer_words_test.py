"""The words behind `--` reach the trainer byte for byte, through `ratoon run` and through `ratoon launch`."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from local_run import BIN

TRAINER = """import json, os, sys
with open(os.environ["WORDS"], "a") as file:
    file.write(json.dumps([os.fsencode(word).hex() for word in sys.argv[1:]]) + "\\n")
"""
# A member with the agent: the program becomes a trainer that completes, once it has told its words.
MEMBER = TRAINER + 'os.execvp("counter", ["counter", "--steps", "2"])\n'
JOB = """apiVersion: ratoon.dev/v1alpha1
kind: TrainingJob
metadata: {name: words}
spec:
  numNodes: 1
  roles:
    - name: worker
      agent: None
      template:
        spec:
          containers:
            - name: trainer
              command: [PYTHON, TRAINER, "of the file", "$(GREETING)", "$$(GREETING)"]
              env: [{name: GREETING, value: "good day"}]
"""
KNOWN = ["[64,32]", '[{"a":1,"b":2}]', "[]", "[", "{}", "", " ", "a b", "$(HOME)", "$$", "$(GREETING)", "--", "--help", "-h",
         "--folder", "/x", "--fresh", "'", '"', "\\", "a=b", "--json=[1,2]", "%s", "\n", "\t", "é", "*", "~", "#", "!", "@file"]


def words_of(seed):
    """All those that have gone wrong somewhere, and some that are drawn."""
    draw = random.Random(seed)
    letters = "ab01[]{}()<>$%&|;:,.=-_+*?!#@~^'\"\\/ \t\n\u00e9\u4e2d"
    drawn = ["".join(draw.choice(letters) for _ in range(draw.randrange(12))) for _ in range(100)]
    words = KNOWN + drawn
    draw.shuffle(words)
    return words


def told_words(file):
    """The words that each process of TRAINER got and wrote to this file."""
    return [[bytes.fromhex(word).decode() for word in json.loads(line)] for line in file.read_text().splitlines()]


class TrainerWords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trainer = self.folder / "trainer.py"
        self.trainer.write_text(TRAINER)
        self.told = self.folder / "words"
        self.seed = int(os.environ.get("RATOON_SEED", random.randrange(1 << 30)))

    def run_command(self, *command):
        done = subprocess.run([BIN / "ratoon", *map(str, command)], cwd=self.folder, env={**os.environ, "WORDS": str(self.told)},
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"RATOON_SEED={self.seed}\n{done.stdout}")

    def test_through_a_job_file_behind_its_own_words(self):
        words = words_of(self.seed)
        job = self.folder / "job.yaml"
        job.write_text(JOB.replace("PYTHON", sys.executable).replace("TRAINER", str(self.trainer)))
        self.run_command("run", job, "--", *words)
        self.assertEqual(told_words(self.told), [["of the file", "good day", "$(GREETING)", *words]], f"RATOON_SEED={self.seed}")

    def test_to_each_process_of_a_member(self):
        words = words_of(self.seed)
        job = self.folder / "job.yaml"
        job.write_text(JOB.replace("PYTHON", sys.executable).replace("TRAINER", str(self.trainer))
                       .replace("numNodes: 1", "numNodes: 1\n  processesPerNode: 2"))
        self.run_command("run", job, "--", *words)
        self.assertEqual(told_words(self.told), [["of the file", "good day", "$(GREETING)", *words]] * 2,
                         f"RATOON_SEED={self.seed}")

    def test_through_launch(self):
        words = words_of(self.seed)
        self.run_command("launch", "--nproc", 1, "--", sys.executable, self.trainer, *words)
        self.assertEqual(told_words(self.told), [words], f"RATOON_SEED={self.seed}")

    def test_through_launch_to_each_process_of_a_world_of_its_own(self):
        words = words_of(self.seed)
        self.trainer.write_text(MEMBER)
        self.run_command("launch", "--nproc", 2, "--folder", self.folder / "run", "--", sys.executable, self.trainer, *words)
        told = told_words(self.told)
        self.assertGreaterEqual(len(told), 2, "a world of two")
        for each in told:  # a process that is started again is told them again
            self.assertEqual(each, words, f"RATOON_SEED={self.seed}")

    def test_a_word_in_front_of_the_separator_is_refused_with_the_way_on(self):
        done = subprocess.run([BIN / "ratoon", "launch", sys.executable], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 82)
        self.assertIn("put the trainer and its arguments behind --", done.stderr)


if __name__ == "__main__":
    unittest.main()
