"""The checks of .clang-tidy pass: in each run on the files that the newest change touches, and on all files of the product
when RATOON_CLANG_TIDY=all is set, as nightly does.

A run of clang-tidy takes a unit of the build, so that it reads each header once for the ten files of a unit.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from repository import ROOT, Complaint, TidyTest, build_folder, skip

TOOL = "clang-tidy-19"
PRODUCT = ("agent/", "base/", "cli/", "launcher/", "operator/", "python/")
WARNINGS = ("-Wno-everything", "-Wthread-safety")  # of the compiler: the annotations of base/core/threads/mutex.h
UNITS_MAX = 8  # of one change; a larger change is left to the nightly run
_DROPPED = re.compile(r"-[MW].*|-fsanitize.*|-fno-sanitize.*|-fuse-ld.*|-c|.*\.cpp|(?:.*/)?ccache")
_FOUND = re.compile(r"^(/.*?):(\d+):\d+: (?:warning|error): (.*)$", re.M)


def changed_files(root=ROOT):
    """The files of the newest commit, and those that are not committed."""
    paths = set()
    for words in (("diff", "--name-only", "HEAD~1"), ("ls-files", "--others", "--exclude-standard")):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
        paths.update(done.stdout.split("\n") if done.returncode == 0 else [])
    return {path for path in paths if path.startswith(PRODUCT)}


def read_units(build, root=ROOT):
    """{unit: (words of its command, the files in it, from the root)}"""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        alone = [os.path.relpath(file, root)]
        in_it = re.findall(r'#include "(.*)"', file.read_text()) if (build / "unity") in file.parents else alone
        if any(path.startswith(PRODUCT) for path in in_it):
            units.setdefault(str(file), (shlex.split(entry["command"]), in_it))
    return units


def units_of(paths, units):
    """The units that compile one of these files, or the source beside one of these headers."""
    stems = {os.path.splitext(path)[0] for path in paths if path.endswith((".cpp", ".h"))}
    return {unit: command for unit, (command, in_it) in units.items()
            if stems & {os.path.splitext(path)[0] for path in in_it}}


def flags_of(words):
    flags = iter(words[1:])
    return [word for word in flags if not (word == "-o" and next(flags)) and not _DROPPED.fullmatch(word)]


def check_unit(unit, words, folder, root=ROOT):
    done = subprocess.run([TOOL, "--quiet", f"--config-file={ROOT}/.clang-tidy", unit, "--", *flags_of(words), *WARNINGS],
                          cwd=folder, capture_output=True, text=True, errors="replace")
    found = [Complaint(f"{os.path.relpath(path, root)}:{line}", f"breaks a check of .clang-tidy: {what}", "correct the line")
             for path, line, what in _FOUND.findall(done.stdout + done.stderr)]
    if done.returncode != 0 and not found:
        found = [Complaint(unit, f"was not checked: {done.stderr.strip()[-300:]}", "run clang-tidy on it by hand")]
    return found


def check_units(units, folder, root=ROOT):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(check_unit, unit, words, folder, root) for unit, words in sorted(units.items())]
    return [complaint for job in jobs for complaint in job.result()]


class ClangTidyTest(TidyTest):
    def test_the_checks_pass(self):
        build = build_folder()
        if not (build / "compile_commands.json").exists():
            skip("the build tree has no compile_commands.json")
        units = read_units(build)
        if os.environ.get("RATOON_CLANG_TIDY") == "all":
            wanted = {unit: command for unit, (command, _) in units.items()}
        else:
            wanted = units_of(changed_files(), units)
            if len(wanted) > UNITS_MAX:
                print(f"{len(wanted)} units changed: the first {UNITS_MAX} are checked, nightly checks all")
                wanted = dict(sorted(wanted.items())[:UNITS_MAX])
        self.expect_none(check_units(wanted, build))
        print(f"{len(wanted)} units were checked")


class ClangTidySelfTest(unittest.TestCase):
    def test_a_fault_is_found_in_a_file_of_a_unit_and_in_its_header(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "base").mkdir()
            (folder / "base/two.h").write_text("inline double half(int whole) { return whole / 2; }\n")
            (folder / "base/one.cpp").write_text('#include <string>\n#include "base/two.h"\n'
                                                 "std::string take(std::string a) {\n  std::string b = std::move(a);\n"
                                                 "  return b + a;\n}\n")
            unit = folder / "unit.cpp"
            unit.write_text('#include "base/one.cpp"\n')
            found = sorted(map(str, check_unit(str(unit), ["c++", f"-I{name}", "-std=c++20", "-o", "x.o", "-c", str(unit)],
                                               folder, folder)))
        self.assertEqual(len(found), 2, found)
        self.assertRegex(found[0], r"^base/one.cpp:5 .*bugprone-use-after-move")
        self.assertRegex(found[1], r"^base/two.h:1 .*bugprone-integer-division")

    def test_a_guarded_member_that_is_used_without_its_mutex_is_found(self):
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "counter.cpp"
            file.write_text('#include "base/core/threads/mutex.h"\nclass Counter {\n public:\n'
                            "  void add() {\n    const ratoon::MutexLock lock(mutex_);\n    ++count_;\n  }\n"
                            "  int count() const {\n    return count_;\n  }\n\n private:\n"
                            "  ratoon::Mutex mutex_;\n  int count_ RATOON_GUARDED_BY(mutex_) = 0;\n};\n"
                            "int one() {\n  Counter counter;\n  counter.add();\n  return counter.count();\n}\n")
            found = list(map(str, check_unit(str(file), ["c++", f"-I{ROOT}", "-std=c++20"], name, pathlib.Path(name))))
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], r"^counter.cpp:9 .*requires holding mutex 'mutex_'")

    def test_a_file_that_cannot_be_checked_is_a_complaint(self):
        self.assertEqual(len(check_unit("/no/such/unit.cpp", ["c++"], "/")), 1)

    def test_units_of_changed_files(self):
        units = {"u1": (["a"], ["base/one.cpp", "base/two.cpp"]), "u2": (["b"], ["cli/three.cpp"])}
        self.assertEqual(units_of({"base/two.h", "docs/a.md"}, units), {"u1": ["a"]})
        self.assertEqual(units_of({"cli/three.cpp"}, units), {"u2": ["b"]})


if __name__ == "__main__":
    if not shutil.which(TOOL):
        skip(f"{TOOL} is not installed")
    unittest.main()
