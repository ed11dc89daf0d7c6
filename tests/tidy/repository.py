"""A tree of source files as the checkers see it: from git, or made up by self_test.py."""
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Comments, string and character literals of C++. A ' after a letter or a digit separates digits.
_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.M)


@dataclasses.dataclass(frozen=True)
class Complaint:
    where: str  # file, or file:line
    what: str
    mend: str

    def __str__(self):
        return f"{self.where} {self.what}; {self.mend}"


class SourceFile:
    def __init__(self, path, text):
        self.path, self.text = path, text

    is_cpp = property(lambda self: self.path.endswith((".h", ".cpp")))
    is_header = property(lambda self: self.path.endswith(".h"))
    folder = property(lambda self: os.path.dirname(self.path))

    @functools.cached_property
    def code(self):
        """The text with comments and literals turned into spaces: words in them are not code."""
        return _TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), self.text)

    @functools.cached_property
    def comments_and_literals(self):
        """The text with everything else turned into spaces."""
        return "".join(written if left in " \n" else " " for written, left in zip(self.text, self.code))

    @functools.cached_property
    def includes(self):
        """(line, name with its <> or "")."""
        no_comments = _TOKEN.sub(
            lambda token: re.sub(r"[^\n]", " ", token[0]) if token[0].startswith("/") else token[0], self.text)
        return [(no_comments.count("\n", 0, found.start(1)) + 1, found[1]) for found in _INCLUDE.finditer(no_comments)]

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def at(self, offset):
        return f"{self.path}:{self.line_at(offset)}"


class Repository:
    PUBLIC_FOLDERS = ("base/include", "agent/include")

    def __init__(self, files, root=None):
        self.root = root
        self.files = {path: SourceFile(path, text) for path, text in sorted(files.items())}
        self.cpp = [file for file in self.files.values() if file.is_cpp]

    @classmethod
    def from_git(cls, root=ROOT):
        """Tracked files, and new ones that git does not ignore."""
        if not (root / ".git").exists():
            skip("this is not a git checkout")
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                                check=True, capture_output=True).stdout.decode().split("\0")
        files = {}
        for path in filter(None, listed):
            try:
                files[path] = (root / path).read_text(encoding="utf-8")
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                pass  # not text, or removed a moment ago
        return cls(files, root)

    def resolve(self, file, name):
        """The repository's own file that an #include means, or None."""
        plain = name[1:-1]
        folders = self.PUBLIC_FOLDERS if name[0] == "<" else ("", file.folder)
        paths = (os.path.normpath(os.path.join(folder, plain)).lstrip("/") for folder in folders)
        return next((self.files[path] for path in paths if path in self.files), None)

    def closure(self, file):
        """The file and all that it includes, directly or not."""
        seen, todo = {}, [file]
        while todo:
            file = todo.pop()
            if file.path not in seen:
                seen[file.path] = file
                todo += filter(None, (self.resolve(file, name) for _, name in file.includes))
        return seen


class TidyTest(unittest.TestCase):
    """A test that fails with a list of complaints."""

    def expect_none(self, complaints):
        complaints = sorted(set(map(str, complaints)))
        if complaints:
            self.fail(f"{len(complaints)} to mend\n\n" + "\n\n".join(complaints))


def build_folder():
    """The build tree of this run; a file run by hand takes the newest one."""
    if "RATOON_BUILD_DIR" in os.environ:
        return pathlib.Path(os.environ["RATOON_BUILD_DIR"])
    trees = sorted(ROOT.glob("build/*/CMakeCache.txt"), key=lambda cache: cache.stat().st_mtime)
    return trees[-1].parent if trees else skip("there is no build tree: configure one, or set RATOON_BUILD_DIR")


def skip(reason):
    """Ends the process the way that ctest takes for skipped."""
    print(f"SKIPPED: {reason}", flush=True)
    os._exit(77)
