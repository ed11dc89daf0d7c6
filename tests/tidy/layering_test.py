"""Who may include and link whom. The table is in rules.py; nothing in the tree is outside of it."""
import re
import unittest

import cmake_files
import rules
from repository import Complaint, Repository, TidyTest

_ADD_PART = "add it to PARTS in tests/tidy/rules.py, with the parts that it may see"


class Table:
    def __init__(self, parts=rules.PARTS, third_party=None, impure_allowed=rules.IMPURE_ALLOWED):
        self.third_party = rules.THIRD_PARTY if third_party is None else third_party
        self.impure_allowed = impure_allowed
        self.by_length = sorted(parts, key=lambda part: -len(part.path.rstrip("*")))
        self.by_target = {}
        for part in parts:
            for target in part.target.split():
                self.by_target.setdefault(target, []).append(part)

    def part_of(self, path):
        for part in self.by_length:
            if path.startswith(part.path[:-1] if part.path.endswith("*") else part.path + "/"):
                return part
        return None

    def package_of_header(self, name):
        for package, entry in self.third_party.items():
            if any(name == header or header.endswith("/") and name.startswith(header) for header in entry.headers):
                return package
        return None

    def package_of_target(self, name):
        return next((package for package, entry in self.third_party.items() if name in entry.targets), None)


def _refuse(where, what, part):
    sees = list(dict.fromkeys(part.may)) + [f"{package} (third-party)" for package in part.third_party]
    mend = f"{part.path} may see {', '.join(sees) if sees else 'the standard library'} only: {part.instead}"
    return Complaint(where, what, mend)


def check_includes(repository, table):
    for file in repository.cpp:
        part = table.part_of(file.path)
        if part is None:
            if not file.path.startswith(rules.NO_PART):
                yield Complaint(file.path, "is in no part of the architecture", _ADD_PART)
            continue
        for line, name in file.includes:
            where, what = f"{file.path}:{line}", f"includes {name}"
            own = repository.resolve(file, name)
            package = table.package_of_header(name[1:-1])
            if own is not None:
                seen = table.part_of(own.path)
                if seen and seen is not part and seen.path not in part.may:
                    yield _refuse(where, what, part)
            elif package:
                if package not in part.third_party:
                    yield _refuse(where, what, part)
            elif name[0] == '"':
                yield Complaint(where, what, "there is no such file: write the path from the repository's root")
            elif name[1:-1] not in rules.STANDARD and not re.fullmatch(rules.SYSTEM, name[1:-1]):
                yield Complaint(where, what, "nothing is known about it: add its library to THIRD_PARTY in "
                                             "tests/tidy/rules.py (or SYSTEM, if the C library brings it)")


def check_purity(repository, table):
    for file in repository.cpp:
        part = table.part_of(file.path)
        if part is None or not part.is_pure:
            continue
        mend = f"{part.path} is pure and sees no clock, thread, socket, file or random device: {part.instead}"
        for line, name in file.includes:
            plain = name[1:-1]
            effect = rules.IMPURE_HEADERS.get(plain) or re.fullmatch(rules.SYSTEM, plain) and "the system"
            if effect and (file.path, plain) not in table.impure_allowed:
                yield Complaint(f"{file.path}:{line}", f"includes {name} ({effect})", mend)
        for pattern, effect in rules.IMPURE_WORDS.items():
            for found in re.finditer(pattern, file.code):
                yield Complaint(file.at(found.start()), f"says {found[0].rstrip('( ')} ({effect})", mend)


def check_links(repository, table):
    targets = cmake_files.targets(repository)
    for target in {id(target): target for target in targets.values()}.values():
        parts = table.by_target.get(target.name) or [
            part for part in {table.part_of(path) for path in target.sources if path.endswith(".cpp")} if part]
        module = next((source for source in target.sources if source.endswith(".cpp")), None)
        if not parts:
            if module and not module.startswith(rules.NO_PART):
                yield Complaint(target.where, f"makes {target.name} of files of no part", _ADD_PART)
            continue
        for where, library in target.links:
            what = f"links {target.name} with {library}"
            package = table.package_of_target(library)
            if library in rules.FREE_TARGETS:
                continue
            if package:
                allowed = any(package in part.third_party for part in parts)
            elif library in targets:
                linked = targets[library]
                seen = table.by_target.get(linked.name) or [table.part_of(path) for path in linked.sources]
                allowed = any(part is other or other and other.path in part.may for part in parts for other in seen)
            elif library.startswith("ratoon::") and library[8:] in table.by_target:  # from outside: find_package
                allowed = any(other.path in part.may for part in parts for other in table.by_target[library[8:]])
            else:
                yield Complaint(where, what, "nothing is known about it: add it to THIRD_PARTY in tests/tidy/rules.py")
                continue
            if not allowed:
                yield _refuse(where, what, parts[0])


def check_table(repository, table):
    """Rules that nothing uses are noise: they go when the last user does. Folders not yet used by an allowed one are
    fine: those are decisions."""
    at = "tests/tidy/rules.py"
    used_parts, used_packages, used_files = set(), set(), set()
    for file in repository.cpp:
        part = table.part_of(file.path)
        if part:
            used_parts.add(part.path)
            used_packages |= {(part.path, table.package_of_header(name[1:-1])) for _, name in file.includes}
            used_files |= {(file.path, name[1:-1]) for _, name in file.includes}
    known = {part.path for part in table.by_length}
    for part in table.by_length:
        if part.path not in used_parts:
            yield Complaint(at, f"has a part {part.path} without a file", "remove it; it comes back with its first file")
        for path in set(part.may) - known:
            yield Complaint(at, f"lets {part.path} see {path}, which is no part", "correct the name")
        for package in part.third_party:
            if part.path in used_parts and (part.path, package) not in used_packages:
                yield Complaint(at, f"lets {part.path} see {package}, which it does not include", "remove that")
    for package in table.third_party:
        if not any(package in part.third_party for part in table.by_length):
            yield Complaint(at, f"knows {package}, which no part may see", "remove it from THIRD_PARTY")
    for path, header in sorted(table.impure_allowed - used_files):
        yield Complaint(at, f"allows {path} to include <{header}>, which it does not", "remove that")
    modules = {name[8:] for name in cmake_files.targets(repository) if name.startswith("ratoon::")}
    for name in sorted(set(table.by_target) - modules):
        yield Complaint(at, f"names a target {name} that no ratoon_module() makes", "correct the name")


def check_circles(table):
    """Parts of one module may know each other; parts of different modules stand above one another."""
    owner = lambda part: part.target or part.path
    edges = {}
    paths = {part.path: part for part in table.by_length}
    for part in table.by_length:
        edges.setdefault(owner(part), set()).update(owner(paths[path]) for path in part.may if path in paths)
    done = set()

    def walk(node, trail):
        if node in trail:
            yield Complaint("tests/tidy/rules.py", f"lets parts see each other in a circle ({' -> '.join(trail)})",
                            "take one direction out: what both need belongs below both")
        elif node not in done:
            for other in sorted(edges[node] - {node}):
                yield from walk(other, trail + [node])
            done.add(node)

    for node in sorted(edges):
        yield from walk(node, [])


class LayeringTest(TidyTest):
    @classmethod
    def setUpClass(cls):
        cls.repository, cls.table = Repository.from_git(), Table()

    def test_every_include_is_allowed(self):
        self.expect_none(check_includes(self.repository, self.table))

    def test_pure_parts_are_pure(self):
        self.expect_none(check_purity(self.repository, self.table))

    def test_every_link_is_allowed(self):
        self.expect_none(check_links(self.repository, self.table))

    def test_every_rule_is_used(self):
        self.expect_none(check_table(self.repository, self.table))

    def test_parts_stand_above_each_other(self):
        self.expect_none(check_circles(self.table))


if __name__ == "__main__":
    unittest.main()
