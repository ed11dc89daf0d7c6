"""Which target links which third-party library: links.txt, compared with what the build tells the linker."""
import os
import re
import unittest

from repository import ROOT, Complaint, TidyTest, build_folder, skip

TABLE = "tests/tidy/links.txt"
_EDGE = re.compile(r"^build (\S+): CXX_(?:EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)_LINKER\S*((?: \S+)*)\n((?:  .*\n)*)",
                   re.M)
_LIBRARY = re.compile(r"(?:^|[\s,;])(/?[^\s,;]*?)(?:lib([\w+.-]*?)\.(?:so|a)(?:\.[\d.]+)?|-l([\w+.-]+))(?=$|[\s,;])")
_OF_THE_SYSTEM = {"pthread", "dl", "m", "rt", "c", "stdc++"}


def read_table(text, with_http):
    """({row name: libraries}, {row name: line number})."""
    sets, rows, lines = {}, {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line.startswith("set "):
            name, _, libraries = line[4:].partition("=")
            sets[name.strip()] = set(libraries.split()) if with_http or name.strip() != "http" else set()
        elif line:
            name, _, libraries = line.partition(":")
            lines[name] = number
            rows[name] = set().union(*(sets.get(word, {word}) for word in libraries.split()))
    return rows, lines


def read_build(ninja, rows=()):
    """{row name: libraries}, from the text of build.ninja. A row that is a folder stands for all below it."""
    found = {}
    for edge in _EDGE.finditer(ninja):
        name = re.sub(r"\.(?:cpython-[\w-]+|abi3)\.so$", "", os.path.basename(edge[1]))  # a module of Python
        own = r"\w+" if name.startswith("lib") else re.escape(name)  # a shared library's name is not its target's
        objects = [word for word in edge[2].split(" | ")[0].split() if re.search(f"/{own}\\.dir/", word)]  # not of others
        libraries = set()
        for line in edge[3].splitlines():
            variable, _, value = line.strip().partition(" = ")
            if variable in ("LINK_LIBRARIES", "LINK_FLAGS"):
                for folder, file, flag in _LIBRARY.findall(value):
                    if flag or folder.startswith("/"):  # a relative path is a library of ours
                        libraries.add(flag or file)
        source_folder = re.sub(r"CMakeFiles/[^/]+\.dir/", "", os.path.dirname(objects[0])) if objects else ""
        if "/unity/" in source_folder:  # what is compiled together is named after its folder and a number
            source_folder = unity_folder([os.path.basename(word) for word in objects], rows)
        row = next((row for row in rows if (source_folder + "/").startswith(row + "/")),
                   source_folder if source_folder.startswith("tests/") else name)
        found.setdefault(row, set()).update(libraries - _OF_THE_SYSTEM)
    return found


def unity_folder(object_names, rows):
    """The row's folder that "tests_unit_core_1.cpp.o" is made of; names are compared as CMake makes identifiers of them."""
    for key in (re.sub(r"_\d+\.cpp\.o$", "_", name) for name in object_names):
        if fits := [row for row in rows if key.startswith(re.sub(r"\W", "_", row) + "_")]:
            return max(fits, key=len)
    return ""


def check_links(table_text, ninja, with_http, exists=lambda row: True):
    rows, lines = read_table(table_text, with_http)
    built = read_build(ninja, rows)
    mend = f"think whether that is wanted; then write it into {TABLE}"
    for row, libraries in sorted(built.items()):
        actual = f"{row}: {' '.join(sorted(libraries))}"
        if row not in rows:
            yield Complaint(TABLE, f"has no line for what the build links as\n  {actual}\n", mend)
        elif libraries - rows[row] if row.startswith("tests/") else libraries != rows[row]:
            expected = f"{row}: {' '.join(sorted(rows[row]))}"
            yield Complaint(f"{TABLE}:{lines[row]}", f"says\n  {expected}\nand the build links\n  {actual}\n", mend)
    for row in sorted(set(rows) - set(built)):
        if not exists(row):
            yield Complaint(f"{TABLE}:{lines[row]}", f"has a line for {row}, which is not there", "remove it")


class LinksTest(TidyTest):
    def test_the_build_links_what_the_table_says(self):
        build = build_folder()
        if not (build / "build.ninja").exists():
            skip("the build tree is not one of Ninja")
        cache = (build / "CMakeCache.txt").read_text()
        with_http = "RATOON_WITH_HTTP:BOOL=ON" in cache

        def exists(row):
            # A build without LibTorch, say, lacks rows; they are dead only when their folder is gone.
            example = ROOT / "examples" / row.removeprefix("plain_")
            return (ROOT / row).exists() or example.exists() or "/" not in row and not with_http

        self.expect_none(check_links((ROOT / TABLE).read_text(), (build / "build.ninja").read_text(), with_http, exists))


if __name__ == "__main__":
    unittest.main()
