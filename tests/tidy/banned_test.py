"""What no file says and how long nothing gets; the rules are in banned.py."""
import re
import unittest

import banned
import cmake_files
from repository import Complaint, Repository, TidyTest

_RULES = "tests/tidy/banned.py"
_TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class)?|concept)\s+(?:\[\[\w+\]\]\s*)?"
                   r"(\w+)\s*(?:final\s*)?[:{=](?!:)")
_ENUM = re.compile(r"\benum\s+(?:class\s+)?(\w+)[^;{}()]*\{([^{}]*)\}")
_PATH = re.compile(r"(?<![\w./\-<}$])((?:base|operator|agent|cli|tests|docs|cmake|scripts|examples|charts|crds)"
                   r"/[\w./-]+\.(?:h|cpp|py|md|cmake|yaml))\b")


def check_words(repository, code=banned.CODE, text=banned.TEXT):
    for bans, of in ((code, lambda file: file.code), (text, lambda file: file.text)):
        for ban in bans:
            pattern, used = re.compile(ban.pattern, re.M), set()
            for file in repository.files.values():
                if not file.path.startswith(ban.folders) or not file.path.endswith(ban.endings):
                    continue
                for found in pattern.finditer(of(file)):
                    if file.path in ban.allowed:
                        used.add(file.path)
                    else:
                        yield Complaint(file.at(found.start()), f"has {ban.name}: {found[0].strip()}", ban.mend)
            for path in sorted(set(ban.allowed) - used):
                yield Complaint(_RULES, f"allows {path} {ban.name}, which it does not have", "remove that")


def check_sizes(repository, wide=banned.WIDE):
    for file in repository.files.values():
        is_script = file.path.startswith(("scripts/", ".ci/")) and "/packages/" not in file.path
        if not file.path.endswith(banned.MEASURED) and not is_script:
            continue
        lines = file.text.split("\n")
        if len(lines) - 1 > banned.FILE_LINES:
            yield Complaint(file.path, f"has {len(lines) - 1} lines of {banned.FILE_LINES}",
                            "split it where its parts change for different reasons; 150 is the aim")
        columns = banned.CPP_COLUMNS if file.is_cpp else banned.OTHER_COLUMNS
        for number, line in enumerate(lines, 1):
            if len(line) > columns and file.path not in wide:
                yield Complaint(f"{file.path}:{number}", f"has {len(line)} columns of {columns}", "break the line")
    for file in repository.cpp:
        for line, length in functions(file):
            if length > banned.FUNCTION_LINES:
                yield Complaint(f"{file.path}:{line}", f"begins a function of {length} lines of {banned.FUNCTION_LINES}",
                                "name its steps and make each a function")


def functions(file):
    """(line, lines) of every function body, roughly: a brace after ) that opens neither a type nor a value."""
    code, stack, start = file.code, [], 0
    for found in re.finditer(r"[{};]", code):
        next_start = found.end()
        if found[0] == "{":
            kind = "inside" if any(kind == "function" for kind, *_ in stack) else _kind_of(code[start:found.start()])
            stack.append((kind, found.start(), start))
        elif found[0] == "}" and stack:
            kind, opened, before = stack.pop()
            if kind == "function":
                yield file.line_at(opened), code.count("\n", opened, found.start()) + 1
            elif kind == "member":
                next_start = before  # the constructor's body is still to come
        start = next_start


def _kind_of(head):
    if ")" not in head or re.search(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()]*$|[^=!<>]=\s*$", head):
        return "other"
    return "member" if re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", head) and re.search(r"[\w>]\s*$", head) else "function"


def check_names(repository):
    for file in repository.files.values():
        if file.path.endswith((".h", ".cpp", ".py")):
            bad = [part for part in file.path.split("/") if not re.fullmatch(r"\.?[a-z0-9_]+(?:\.\w+)?", part)]
            if bad:
                yield Complaint(file.path, f"is not snake_case: {bad[0]}", "use small letters, digits and _")
    for file in repository.cpp:
        for found in _TYPE.finditer(file.code):
            if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", found[1]):
                yield Complaint(file.at(found.start(1)), f"names a type {found[1]}", "types are CamelCase")
        for found in _ENUM.finditer(file.code):
            for name in re.findall(r"(?:^|,)\s*(\w+)", found[2]):
                if not re.fullmatch(r"k[A-Z]\w*", name):
                    yield Complaint(file.at(found.start()), f"names an enumerator {name}", "enumerators are kCamel")


def check_use(repository, unnamed=banned.UNNAMED_HEADERS, unbuilt=banned.UNBUILT, made=banned.MADE):
    """Dead files, and paths in comments and documents that lead nowhere."""
    named = set(cmake_files.named_files(repository))
    included = {own.path for file in repository.cpp for _, name in file.includes
                for own in [repository.resolve(file, name)] if own and own is not file}
    for file in repository.files.values():
        path = file.path
        if path.endswith(".cpp") and path not in named and path not in unbuilt and not path.startswith("cmake/"):
            yield Complaint(path, "is in no CMake target", "add it to a target, or delete it")
        if path.startswith("tests/") and path.endswith("_test.py") and path not in named:
            yield Complaint(path, "is a test that ctest does not know", "register it in the tests.cmake beside it")
        if path.endswith("/tests.cmake") and path not in named:
            yield Complaint(path, "is not included by tests/CMakeLists.txt", "include it there")
        if file.is_header and path not in included and path not in unnamed:
            yield Complaint(path, "is included by nobody", "delete it, or write the test that uses it")
        if not path.startswith(("tests/scripts/", "tests/tidy/")) and not cmake_files.is_cmake(path):
            for found in _PATH.finditer(file.text):
                if found[1] not in repository.files and found[1] not in made:
                    yield Complaint(file.at(found.start()), f"speaks of {found[1]}, which does not exist",
                                    "correct the path, or write the file")
    for path in sorted({*unnamed, *unbuilt} - set(repository.files)):
        yield Complaint(_RULES, f"excuses {path}, which does not exist", "remove that")


class BannedTest(TidyTest):
    @classmethod
    def setUpClass(cls):
        cls.repository = Repository.from_git()

    def test_nothing_banned_is_said(self):
        self.expect_none(check_words(self.repository))

    def test_files_functions_and_lines_are_short(self):
        self.expect_none(check_sizes(self.repository))

    def test_names_have_their_shape(self):
        self.expect_none(check_names(self.repository))

    def test_every_file_is_used(self):
        self.expect_none(check_use(self.repository))


if __name__ == "__main__":
    unittest.main()
