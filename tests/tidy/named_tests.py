"""Which program has which cases: from the CMake files, the C++ sources of each, and the Python files. Targets of fuzzing and
benchmarks are among them, and have none."""
import collections
import dataclasses
import os
import re

import cmake_files

_CASE = re.compile(r"\b(?:TEST(?:_F|_P)?|TYPED_TEST(?:_P)?|RC_GTEST_(?:FIXTURE_)?PROP)\(\s*(\w+)\s*,\s*(\w+)\s*[,)]")
_CASE_OF_PYTHON = re.compile(r"^\s+def (test_\w+)\(", re.M)
_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.M)


@dataclasses.dataclass
class Program:
    name: str
    has_cpp: bool = False
    cases: set = dataclasses.field(default_factory=set)  # of C++: (suite, case)
    methods: set = dataclasses.field(default_factory=set)  # of Python: test_...

    suites = property(lambda self: {suite for suite, _ in self.cases})

    def has(self, case):
        """SUITE.CASE, SUITE.* or test_case."""
        suite, _, one = case.partition(".")
        if not one:
            return case in self.methods
        return suite in self.suites if one == "*" else (suite, one) in self.cases


def programs(repository):
    """{name: Program}; where a test of C++ and one of Python have the same name, it has the cases of both."""
    found, targets = collections.defaultdict(lambda: None), cmake_files.targets(repository)
    for command in cmake_files.commands(repository):
        if not command.file.startswith("tests/"):
            continue
        if command.name == "foreach" and command.file == "tests/fuzz/tests.cmake":
            found.update({name: Program(name) for name in command.words[1:]})
        if command.name not in ("ratoon_program", "ratoon_test", "ratoon_python_test"):
            continue
        name = os.path.basename(command.words[0])
        program = found[name] = found[name] or Program(name)
        if command.name == "ratoon_program":
            continue  # a benchmark, or what a test runs
        if command.name == "ratoon_test":
            program.has_cpp = True
            program.cases |= _cases_of(repository, targets, targets[name])
        else:
            program.methods |= _methods_of(repository, f"tests/{command.words[0]}.py")
    return dict(found)


def _cases_of(repository, targets, target):
    """Of its own sources, of the libraries of tests that it links, and of the headers of tests that these include."""
    linked = [targets[name] for _, name in target.links if name in targets and targets[name].where.startswith("tests/")]
    sources = [path for one in [target, *linked] for path in one.sources]
    files = {path: file for source in sources for path, file in repository.closure(repository.files[source]).items()}
    return {case for path, file in files.items() if path.startswith("tests/") for case in _CASE.findall(file.text)}


def _methods_of(repository, path):
    """Of the file, and of the tests that it imports: their classes run in it, as they are or changed."""
    seen, todo = set(), [path]
    while todo:
        path = todo.pop()
        if path in seen or path not in repository.files:
            continue
        seen.add(path)
        folders = (os.path.dirname(path), "tests/integration")
        todo += [f"{folder}/{name}.py" for name in _IMPORT.findall(repository.files[path].text) for folder in folders]
    return {name for path in seen for name in _CASE_OF_PYTHON.findall(repository.files[path].text)}
