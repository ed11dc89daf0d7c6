"""What the CMake files say about targets: their sources, and what each links. Enough of CMake's language for ours."""
import dataclasses
import os
import re

_COMMAND = re.compile(r"^[ \t]*([A-Za-z_]\w*)[ \t]*\(", re.M)
_WORD = re.compile(r'"(?:\\.|[^"\\])*"|[^\s"()]+')
_KEYWORDS = {"PUBLIC", "PRIVATE", "INTERFACE", "STATIC", "SHARED", "OBJECT", "IMPORTED", "GLOBAL", "ALIAS",
             "SOURCES", "INCLUDE", "LIBS", "LABELS", "ARGS", "TIMEOUT", "ENVIRONMENT"}
_MAKING = {"add_library", "add_executable", "nanobind_add_module", "ratoon_module", "ratoon_program",
           "ratoon_static_program", "ratoon_test", "ratoon_test_support"}
_LINKS = _MAKING - {"add_library", "add_executable", "nanobind_add_module"} | {"target_link_libraries"}
_LINKING = {"LIBS", "PUBLIC", "PRIVATE", "INTERFACE"}


@dataclasses.dataclass
class Command:
    file: str
    line: int
    name: str
    words: list

    where = property(lambda self: f"{self.file}:{self.line}")


@dataclasses.dataclass
class Target:
    name: str
    where: str
    sources: list = dataclasses.field(default_factory=list)
    links: list = dataclasses.field(default_factory=list)  # (where, library)


def is_cmake(path):
    return os.path.basename(path) == "CMakeLists.txt" or path.endswith(".cmake")


def commands(repository):
    for file in repository.files.values():
        if is_cmake(file.path):
            yield from _commands_of(file)


def _commands_of(file):
    text = re.sub(r"(^|\s)#[^\n]*", r"\1", file.text)  # comments; no string of ours has " #" in it
    for found in _COMMAND.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        words = [word.strip('"') for word in _WORD.findall(text[found.end():end - 1])]
        yield Command(file.path, text.count("\n", 0, found.start(1)) + 1, found[1], words)


def folder_of(repository, path):
    """The folder that relative names in a CMake file start from: that of the nearest CMakeLists.txt."""
    folder = os.path.dirname(path)
    while folder and f"{folder}/CMakeLists.txt" not in repository.files:
        folder = os.path.dirname(folder)
    return folder


def named_files(repository):
    """Every file of the repository that a CMake file names, be it as a test without its ending."""
    for command in commands(repository):
        for word in command.words:
            for ending in ("", ".cpp", ".py"):
                yield from _meant(repository, command, word + ending)


def _meant(repository, command, name):
    """The file that a word means: beside its CMakeLists.txt, or beside the test that is named first."""
    folder = folder_of(repository, command.file)
    beside = os.path.join(folder, os.path.dirname(command.words[0]))
    paths = dict.fromkeys(os.path.normpath(os.path.join(place, name)) for place in (folder, beside))
    return [path for path in paths if path in repository.files][:1]


def targets(repository):
    """Our targets by every name that they are linked under."""
    found = {}
    for command in commands(repository):
        if command.file.startswith("cmake/") or not command.words:
            continue
        words = command.words
        if command.name in _MAKING:
            target = Target(os.path.basename(words[0]), command.where)
            found[target.name] = target
            if command.name == "ratoon_module":
                found["ratoon::" + target.name] = found["ratoon_" + target.name] = target
        elif command.name in ("target_link_libraries", "target_sources") and words[0] in found:
            target = found[words[0]]
        else:
            continue
        keyword = ""
        for position, word in enumerate(words):
            keyword = word if word in _KEYWORDS else keyword
            paths = _meant(repository, command, word if position else word + ".cpp")
            if paths:
                target.sources += paths
            elif position and word not in _KEYWORDS and keyword in _LINKING and command.name in _LINKS:
                target.links.append((command.where, word))
    return found
