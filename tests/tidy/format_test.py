"""Every C++ file is as clang-format 19 writes it, by .clang-format. Other versions break lines differently."""
import concurrent.futures
import shutil
import subprocess
import unittest

from repository import ROOT, Complaint, Repository, TidyTest, skip

TOOL = "clang-format-19"
_MEND = f"run {TOOL} -i on it"


def check_format(root, paths):
    """One complaint a file: its first line that differs."""
    pieces = [paths[start::2] for start in range(2)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda piece: _report(root, piece), pieces)
    seen = set()
    for line in "\n".join(reports).splitlines():
        path, _, rest = line.partition(":")
        if "-Wclang-format-violations" in rest and path not in seen:
            seen.add(path)
            yield Complaint(f"{path}:{rest.split(':')[0]}", "is not formatted", _MEND)


def _report(root, paths):
    if not paths:
        return ""
    done = subprocess.run([TOOL, "--dry-run", "--style=file", "--ferror-limit=1", *paths], cwd=root,
                          capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stderr


class FormatTest(TidyTest):
    def test_every_file_is_formatted(self):
        self.expect_none(check_format(ROOT, [file.path for file in Repository.from_git().cpp]))


if __name__ == "__main__":
    if not shutil.which(TOOL):
        skip(f"{TOOL} is not installed")
    unittest.main()
