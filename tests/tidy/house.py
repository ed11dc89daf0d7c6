"""The house: which words names no longer have, how many files a folder holds, and where the name of a type stands."""
import collections
import os
import pathlib
import re

from repository import Complaint

WORDS = "tests/tidy/retired_words.txt"
LARGE = "tests/tidy/large_folders.txt"
PRODUCT = ("base/", "operator/", "agent/", "cli/", "launcher/")
FOLDER_FILES = 20
# Names of retired words that are not ours to change: {name: why}.
WORDS_ALLOWED = {}
# Types whose name stands in several modules: {name: why}.
TWICE = {
    "ReadFile": "of a disk and of a history", "TensorPart": "of a user and of a pack",
    "TensorValue": "of a user and of a pickle",
}

_NAME = re.compile(r"\b[A-Za-z_]\w*")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SCOPE = re.compile(r"[{}]|\b(?:class|struct|union|enum(?:\s+class)?|concept)\s+(?:\[\[\w+\]\]\s*)?(\w+)\s*(?:final\s*)?[:{](?!:)"
                    r"|^[ \t]*using\s+(\w+)\s*=", re.M)


def words_of(name):
    """{"open", "door"} of openDoor, OpenDoor_ and open_door."""
    return {part.lower() for part in _PART.findall(name)}


def read_words(text):
    """{word: (what to write instead, folders)}"""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.strip() and line[0] != "#"]
    return {word: (instead, tuple(f"{folder}/" for folder in folders.split())) for word, instead, folders in rows}


def check_words(repository, words, allowed=None):
    allowed = WORDS_ALLOWED if allowed is None else allowed
    retired, used = words.keys() | {f"{word}s" for word in words}, set()
    for file in repository.cpp:
        found = [(file.path, name) for name in {os.path.splitext(os.path.basename(file.path))[0]}]
        found += [(file.at(each.start()), each[0]) for each in _NAME.finditer(file.code)]
        for where, name in found:
            for part in words_of(name) & retired:
                word = part if part in words else part[:-1]
                instead, folders = words[word]
                if not file.path.startswith(folders):
                    continue
                if name in allowed:
                    used.add(name)
                else:
                    yield Complaint(where, f"has the retired word {word} in {name}", f"write {instead}")
    for name in sorted(allowed.keys() - used):
        yield Complaint("tests/tidy/house.py", f"allows {name}, which is nowhere", "remove that")


def read_large(text):
    return {folder: int(number) for folder, number in
            (line.split() for line in text.splitlines() if line.strip() and line[0] != "#")}


def count_files(repository):
    counts = collections.Counter(file.folder for file in repository.cpp if file.path.startswith(PRODUCT))
    return dict(counts)


def check_folders(repository, large):
    counts = count_files(repository)
    for folder, count in sorted(counts.items()):
        limit = large.get(folder, FOLDER_FILES)
        if count > limit:
            yield Complaint(folder, f"holds {count} source files of {limit}", "make folders by duty in it, of 5 to 20 files each")
        elif folder in large and count < limit:
            yield Complaint(LARGE, f"allows {folder} {limit} source files, and it has {count}",
                            "run python3 tests/tidy/house_test.py --write")
    for folder in sorted(large.keys() - counts.keys()):
        yield Complaint(LARGE, f"names {folder}, where no source file is", "run python3 tests/tidy/house_test.py --write")


def write_large(root, repository):
    """Smaller numbers alone."""
    path, counts = pathlib.Path(root) / LARGE, count_files(repository)
    text = path.read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    rows = [f"{folder} {min(limit, counts[folder])}" for folder, limit in sorted(read_large(text).items())
            if counts.get(folder, 0) > FOLDER_FILES]
    path.write_text("\n".join(head + rows) + "\n")


def types_of(code):
    """The types that stand in namespaces, not in other types, of a header's code."""
    scopes, found = [], set()
    for each in _SCOPE.finditer(code):
        if each[0] == "}":
            scopes[-1:] = []
            continue
        name = each[1] or each[2]
        if name and all(scope == "namespace" for scope in scopes):
            found.add(name)
        if each[0].endswith("{"):
            head = code[max(code.rfind(mark, 0, each.start()) for mark in ";{}") + 1:each.start()]
            scopes.append("namespace" if not name and re.search(r"\bnamespace\b", head) else "other")
    return found


def check_types(repository, twice=None):
    twice = TWICE if twice is None else twice
    where = collections.defaultdict(list)
    for file in repository.cpp:
        if file.is_header and file.path.startswith(PRODUCT):
            for name in types_of(file.code):
                where[name].append(file.path)
    for name, paths in sorted(where.items()):
        if len(paths) > 1 and name not in twice:
            yield Complaint(paths[1], f"has a type {name}, as {paths[0]} has", "call it by what tells the two apart")
    for name in sorted(twice):
        if len(where[name]) < 2:
            yield Complaint("tests/tidy/house.py", f"allows {name} to stand twice, which it does not", "remove that")
