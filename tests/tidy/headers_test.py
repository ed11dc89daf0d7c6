"""Every header compiles alone, says what it is for, and is guarded; those that users see show how they are used.

The headers that users see are compiled here in each run, and all others too when RATOON_HEADERS=all is set, as nightly
does: the build compiles the files of a folder together (cmake/Unity.cmake), so it proves that of few of them. A header
that a source includes first was compiled alone, if that source was. What passed is kept in the build tree under a hash of
all that the compiler was given from this repository; a second run compiles what changed. With ccache, a fresh build tree
is quick as well.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

from layering_test import Table
from repository import ROOT, Complaint, Repository, TidyTest, build_folder, skip

PUBLIC = ("base/include/", "agent/include/")
_DROPPED = re.compile(r"-[MOWg].*|-fsanitize.*|-o|-c|.*\.(?:o|cpp)|(?:.*/)?ccache")


def check_heads(repository, table):
    for file in repository.cpp:
        if not file.is_header:
            continue
        head = re.match(r"(?://[^\n]*\n)*", file.text)[0]
        if not head:
            yield Complaint(f"{file.path}:1", "does not begin with a comment", "say in a sentence what it is for")
        if not re.search(r"^#pragma once$", file.text, re.M):
            yield Complaint(f"{file.path}:1", "has no #pragma once", "write it under the head comment")
        if not file.path.startswith(PUBLIC):
            continue
        if head and not re.search(r"^//   \S", head, re.M):
            yield Complaint(f"{file.path}:1", "is seen by users and shows no use",
                            "put two to six lines of a user's code into the head comment, each after three spaces")
        for line, name in file.includes:
            package = table.package_of_header(name[1:-1])
            if name[0] == '"' or package and not (package == "libtorch" and "/torch/" in file.path):
                yield Complaint(f"{file.path}:{line}", f"is seen by users and includes {name}",
                                "forward-declare the type, and include it in the .cpp file")


def flags_for(header, repository, commands):
    """The flags of a source that includes the header, the closest one; None where this build has no such source."""
    def distance(path):
        return (os.path.splitext(path)[0] != os.path.splitext(header.path)[0],
                -len(os.path.commonprefix([path, header.path])), path)

    users = [path for path in commands if path in repository.files and
             header.path in repository.closure(repository.files[path])]
    if not users:
        return None
    return [word for word in commands[min(users, key=distance)] if not _DROPPED.fullmatch(word)]


def compile_alone(header, flags, build, root):
    """None, or the compiler's first complaint. Twice, for the guard."""
    stub = build / "tidy" / (re.sub(r"\W", "_", header.path) + ".cpp")
    stub.parent.mkdir(exist_ok=True)
    text = f'#include "{header.path}"\n' * 2
    if not stub.exists() or stub.read_text() != text:
        stub.write_text(text)
    launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
    what = ["-c", "-o", str(stub.with_suffix(".o"))] if launcher else ["-fsyntax-only"]  # ccache keeps objects only
    done = subprocess.run([*launcher, *flags, f"-I{root}", "-O0", "-w", *what, str(stub)], cwd=build,
                          capture_output=True, text=True, errors="replace")
    stub.with_suffix(".o").unlink(missing_ok=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return (errors or done.stderr.splitlines() or ["the compiler failed"])[0]


def seen_by_the_build(repository, commands, together):
    """The headers that a source which is compiled alone includes before all else."""
    firsts = ((file, file.includes[0][1]) for path in commands
              if path not in together and (file := repository.files.get(path)) and file.includes)
    return {header.path for file, name in firsts if (header := repository.resolve(file, name))}


def check_alone(repository, commands, together, build, root=ROOT, is_wanted=lambda header: True):
    memory = build / "tidy_headers.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    jobs, passed = {}, {}
    seen = seen_by_the_build(repository, commands, together)
    for header in (file for file in repository.cpp if file.is_header and file.path not in seen and is_wanted(file)):
        flags = flags_for(header, repository, commands)
        if flags is None:
            continue  # banned_test knows headers that nobody includes; this build merely lacks those who do
        everything = hashlib.sha256("\0".join(flags).encode())
        for path, file in sorted(repository.closure(header).items()):
            everything.update(f"\0{path}\0{file.text}".encode())
        if known.get(header.path) == everything.hexdigest():
            passed[header.path] = everything.hexdigest()
        else:
            jobs[header.path] = (header, flags, everything.hexdigest())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = {path: pool.submit(compile_alone, header, flags, build, root)
                   for path, (header, flags, _) in jobs.items()}
    for path, result in results.items():
        if result.result() is None:
            passed[path] = jobs[path][2]
        else:
            yield Complaint(path, f"does not compile alone: {result.result()}", "include what it uses")
    memory.write_text(json.dumps(passed))


def read_commands(build, root=ROOT):
    """({source, from the root: words of its command}, the sources that are compiled together with others)."""
    commands, together = {}, set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words, file = shlex.split(entry["command"]), pathlib.Path(entry["file"])
        if (build / "unity") not in file.parents:
            commands[os.path.relpath(file, root)] = words
            continue
        sources = re.findall(r'#include "(.*)"', file.read_text())
        commands |= {source: words for source in sources}
        together.update(sources[1:])  # the first of them sees no other
    return commands, together


class HeadersTest(TidyTest):
    def test_every_header_says_what_it_is_for(self):
        self.expect_none(check_heads(Repository.from_git(), Table()))

    def test_headers_compile_alone(self):
        build = pathlib.Path(build_folder())
        if not (build / "compile_commands.json").exists():
            skip("the build tree has no compile_commands.json")
        wants_all = os.environ.get("RATOON_HEADERS") == "all"
        self.expect_none(check_alone(Repository.from_git(), *read_commands(build), build,
                                     is_wanted=lambda header: wants_all or header.path.startswith(PUBLIC)))


if __name__ == "__main__":
    unittest.main()
