"""docs/nightly.md says of each part of scripts/nightly how it ended last, and no entry is older than 300 commits."""
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from repository import ROOT, build_folder, skip

sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import nightly_record  # noqa: E402

PAGE = "docs/nightly.md"
COMMITS_MAX = 300
DAYS_MAX = 30  # where the history at hand is too short to count commits
OTHER_PARTS = {"each file compiled alone", "unit tests, optimized", "property tests", "fuzz targets"}


def git(root, *words):
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def fault_of_age(root, commit, day, today):
    """Why the entry is too old, or nothing. A shallow clone may lack its commit: then it has to be too short to hold it."""
    if git(root, "merge-base", "--is-ancestor", commit, "HEAD") is not None:
        age = int(git(root, "rev-list", "--count", f"{commit}..HEAD"))
        return f"is {age} commits old" if age > COMMITS_MAX else None
    if git(root, "rev-parse", "--is-shallow-repository") != "true":
        return f"names the commit {commit}, which is not in the history of HEAD"
    if int(git(root, "rev-list", "--count", "HEAD")) > COMMITS_MAX:
        return f"is more than {COMMITS_MAX} commits old"
    days = (today - datetime.date.fromisoformat(day)).days
    return f"is {days} days old, and this clone is too shallow to count commits" if days > DAYS_MAX else None


def faults(root, rows, today):
    """`not run` counts from the day on which the entry was made: that nobody has run it may be said for as long as a result
    may stand."""
    for part, (result, commit, day) in rows.items():
        if result == "red":
            yield f"{part} was red at {commit}: mend it, and run scripts/nightly again"
        elif fault := fault_of_age(root, commit, day, today):
            yield f"{part} {fault}: run scripts/nightly (--only runs some tests, --part one other part), and commit {PAGE}"


class NightlyRecord(unittest.TestCase):
    def test_no_part_is_red_or_older_than_three_hundred_commits(self):
        rows = nightly_record.rows((ROOT / PAGE).read_text())
        self.assertLessEqual(OTHER_PARTS, set(rows))
        found = list(faults(ROOT, rows, datetime.date.today()))
        self.assertEqual(found, [], f"{PAGE}:\n" + "\n".join(found))

    def test_each_benchmark_has_an_entry(self):
        names = {path.stem.removeprefix("bench_") for path in (ROOT / "tests/bench").glob("bench_*")}
        self.assertTrue(names)
        missing = sorted({f"benchmark {name}" for name in names} - set(nightly_record.rows((ROOT / PAGE).read_text())))
        self.assertEqual(missing, [], f"add them to {PAGE} as `not run`, with the newest commit and today's day")

    def test_each_test_that_is_labelled_nightly_has_an_entry(self):
        said = subprocess.run(["ctest", "--test-dir", build_folder(), "--show-only=json-v1", "--label-regex", "^nightly$"],
                              capture_output=True, text=True, check=True).stdout
        tests = {test["name"] for test in json.loads(said)["tests"]}
        self.assertTrue(tests)
        missing = sorted(tests - set(nightly_record.rows((ROOT / PAGE).read_text())))
        self.assertEqual(missing, [], f"add them to {PAGE} as `not run`, with the newest commit and today's day")


class Ages(unittest.TestCase):
    """In histories made here."""
    today = datetime.date(2026, 3, 1)

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="ratoon-record-")
        cls.addClassCleanup(scratch.cleanup)
        cls.whole = pathlib.Path(scratch.name) / "whole"
        cls.whole.mkdir()
        git(cls.whole, "init", "-q")
        stream = "".join(f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + i} +0000\ndata 1\nx\n" for i in range(310))
        subprocess.run(["git", "fast-import", "--quiet"], cwd=cls.whole, input=stream, text=True, check=True)
        git(cls.whole, "symbolic-ref", "HEAD", "refs/heads/main")
        cls.commits = git(cls.whole, "rev-list", "--reverse", "HEAD").split()
        cls.clones = {}
        for depth in (20, 305):
            cls.clones[depth] = pathlib.Path(scratch.name) / f"shallow-{depth}"
            git(scratch.name, "clone", "-q", f"--depth={depth}", f"file://{cls.whole}", str(cls.clones[depth]))

    def fault(self, root, commit, day="2026-02-20"):
        return fault_of_age(root, commit, day, self.today)

    def test_in_a_whole_clone_commits_are_counted(self):
        self.assertIsNone(self.fault(self.whole, self.commits[9]), "300 commits")
        self.assertEqual(self.fault(self.whole, self.commits[8]), "is 301 commits old")
        self.assertIn("not in the history", self.fault(self.whole, "0123456789ab"))

    def test_in_a_shallow_one_as_far_as_it_goes(self):
        self.assertIsNone(self.fault(self.clones[20], self.commits[300]))
        self.assertIsNone(self.fault(self.clones[20], self.commits[0]), "it cannot tell, and the entry is young")
        self.assertIn("39 days old", self.fault(self.clones[20], self.commits[0], "2026-01-21"))
        self.assertIsNone(self.fault(self.clones[305], self.commits[9]))
        self.assertIn("more than 300", self.fault(self.clones[305], self.commits[0]))

    def test_a_result_that_is_red_and_one_that_is_missing(self):
        newest, oldest = self.commits[-1], self.commits[0]
        entries = (("a_test", "green", newest), ("b_test", "red", newest), ("c", "not run", newest), ("d", "not run", oldest))
        rows = nightly_record.rows("".join(f"| `{part}` | {result} | `{commit}` | 2026-02-20 |\n"
                                           for part, result, commit in entries))
        self.assertEqual([fault.split()[0] for fault in faults(self.whole, rows, self.today)], ["b_test", "d"])

    def test_a_new_result_takes_the_place_of_the_one_before(self):
        page = "a\n| part |\n|---|\n| `a` | not run | `1234567` | 2026-01-01 |\n| `b` | red | `1234567` | 2026-01-01 |\n\nmore\n"
        text = nightly_record.with_results(page, {"b": "green", "c": "red"}, "89abcde", "2026-02-02")
        self.assertEqual(nightly_record.rows(text), {
            "a": ("not run", "1234567", "2026-01-01"), "b": ("green", "89abcde", "2026-02-02"),
            "c": ("red", "89abcde", "2026-02-02")})
        self.assertTrue(text.endswith("2026-02-02 |\n\nmore\n"))


if __name__ == "__main__":
    if not (ROOT / ".git").exists():
        skip("this is not a git checkout")
    unittest.main()
