"""Mutants of the checkpoint engine: with one checksum, sync, rename or check of cover left out, a test of crashes or damage
must turn red. Each mutant is one source file, compiled again and linked before the library that holds the sound one."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RATOON_BUILD_DIR"])
ENGINE = "agent/src/checkpoint/"

# what is left out: (file, [(pattern, instead)], test program, its filter)
MUTANTS = {
    "sums of blocks": ("pack_reader.cpp", [(r"if \(crc32c\(one\) != ", "if (false && crc32c(one) != ")],
                       "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "hashes of tensors": ("pack_reader.cpp", [(r"if \(xxh3_128\(into\) == header_\.hashes\.at\(index\)\) ", "")],
                          "checkpoint_test", "*"),
    "digest of a header": ("pack_reader.cpp", [(r"if \(digest != record\.header_digest\)", "if (false)")],
                           "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "checksum of a manifest": ("manifest.cpp", [(r"if \(text\.substr\(body\.size\(\)\) != checksum_line\(body\)\)",
                                                 "if (false)")],
                               "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "votes of all ranks": ("commit.cpp", [(r"if \(!\*receipt\) return [^;]*;", "if (!*receipt) continue;")],
                           "checkpoint_zombie_test", "Ranks.*"),
    "sync of a manifest": ("disk/durable.cpp", [(r"if \(lasts == Lasts::kPowerCuts\) \{", "if (false) {")],
                           "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of a name": ("disk/durable.cpp", [(r"(renamed\) return renamed;\n  )return disk\.sync_folder\(folder_of\(path\)\);",
                                             r"\1return {};")],
                       "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of folders": ("disk/durable.cpp", [(r"return lasts == Lasts::kPowerCuts \? disk\.sync_folder\(above\) : ", "return ")],
                        "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of a pack": ("pack_writer.cpp", [(r"if \(auto synced = \(\*file\)->sync\(\); !synced\) return synced\.error\(\);", "")],
                       "checkpoint_crash_test", "*SeveralBlocks"),
    "rename of a manifest": ("disk/durable.cpp", [(r"temporary_path\(path, mark\)", "path"),
                                                  (r"saved = publish\(disk, temporary, path\)",
                                                   "saved = disk.sync_folder(folder_of(path))"),
                                                  (r"saved = disk\.rename_new\(temporary, path\)", "saved = Result<void>()")],
                             "checkpoint_crash_test", "*SeveralBlocks"),
}


def commands_of(program):
    """Every command that makes the program; the last one links it."""
    output = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", f"bin/{program}"], check=True, text=True,
                            stdout=subprocess.PIPE)
    return [line for line in output.stdout.splitlines() if line]


class Mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, file, changes, program):
        source = ENGINE + file
        text = (REPOSITORY / source).read_text()
        for pattern, instead in changes:
            text, count = re.subn(pattern, instead, text)
            self.assertGreater(count, 0, f"{source} has no {pattern} any more: change this test with it")
        mutant, compiled, linked = self.folder / "mutant.cpp", self.folder / "mutant.o", self.folder / program
        mutant.write_text(text)
        commands = commands_of(program)
        [compiling] = [line for line in commands if f"/src/{source.split('/src/')[1]}.o -c " in line]
        words = shlex.split(compiling)
        words[words.index("-o") + 1], words[words.index("-c") + 1] = str(compiled), str(mutant)
        subprocess.run([*words, "-w"], cwd=BUILD, check=True)
        words = [word for word in shlex.split(commands[-1]) if word not in (":", "&&")]
        at = words.index("-o")
        words[at + 1] = str(linked)
        subprocess.run(words[:at] + [str(compiled)] + words[at:], cwd=BUILD, check=True)
        return linked

    def run_mutant(self, file, changes, program, tests):
        mutant = self.make(file, changes, program)
        run = subprocess.run([mutant, f"--gtest_filter={tests}", "--gtest_fail_fast"], cwd=REPOSITORY, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        return run.returncode, run.stdout[-2000:]

    def test_each_is_caught(self):
        for what, mutant in MUTANTS.items():
            with self.subTest(without=what):
                code, text = self.run_mutant(*mutant)
                print(f"without {what}: {mutant[2]} ends with {code}", flush=True)
                self.assertEqual(code, 1, text)

    def test_what_is_left_as_it_is_passes(self):
        code, text = self.run_mutant("disk/durable.cpp", [], "checkpoint_crash_test", "*SeveralBlocks")
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
