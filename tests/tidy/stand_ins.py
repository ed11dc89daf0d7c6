"""Words that stand in for a noun, or for a plain word: docs/contribute/style.md says why. Of pages everything but code is
read, of C++ comments and texts."""
import re

from repository import Complaint

FOLDERS = ("docs/", "scripts/", "charts/", "crds/", ".github/")
PROGRAMS = ("base/", "operator/", "agent/", "cli/", "examples/")  # C++
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
WITH_EXAMPLES = ("docs/contribute/style.md",)  # it quotes sentences that are to be avoided
LIST = "tests/tidy/stand_ins.txt"
MENDS = (
    (re.compile(r"\b(?:no|some|any|every)body\b", re.I), "name the process, the person or the part: no member, another job"),
    (re.compile(r"\b(?:whoever|whomever|what\s*ever)\b", re.I), "name the noun: any process that, each value that"),
    (re.compile(r"\bno\s+more\b(?!(?:\s+\w+){0,5}\s+than\b)", re.I), "write 'no longer', or 'no further' with its noun"),
    (re.compile(r"\b(?:Who|Whom|What)(?=\s)"), "begin with the noun, or ask a question and end it with ?"),
)
_CODE_OF_PAGE = re.compile(r"^( *)```.*?^\1```[^\n]*$|`[^`\n]*`", re.M | re.S)
_END = re.compile(r"[.?!|](?=\s|[\"')*]|$)|\n[ \t#/*>]*\n|\n[ \t]*(?=[-*#|])", re.M)


def is_read(file):
    if file.is_cpp:
        return file.path.startswith(PROGRAMS)
    return (file.path in PAGES or file.path.startswith(FOLDERS)) and "/packages/servers/" not in file.path \
        and not file.path.endswith((".json", ".svg"))


def prose(file):
    """The text, for pages with spaces in place of code."""
    if file.is_cpp:
        return file.comments_and_literals
    return _CODE_OF_PAGE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), file.text) if file.path.endswith(".md") else file.text


def is_question(text, offset):
    end = _END.search(text, offset)
    return end is not None and end[0] == "?"


def stand_ins(file):
    """(offset, word, mend) of each."""
    text = prose(file)
    for pattern, mend in MENDS:
        for found in pattern.finditer(text):
            if not (found[0].startswith("Wh") and is_question(text, found.start())):
                yield found.start(), found[0], mend


def read_list(text):
    """{file: how many are left}"""
    return {path: int(count) for line in text.splitlines() if line and not line.startswith("#")
            for path, count in [line.rsplit(" ", 1)]}


def check(repository, left):
    for file in filter(is_read, repository.files.values()):
        if file.path in WITH_EXAMPLES:
            continue
        found, allowed = list(stand_ins(file)), left.get(file.path, 0)
        if len(found) > allowed:
            for offset, word, mend in found:
                yield Complaint(file.at(offset), f"says '{' '.join(word.split())}'", mend)
        elif len(found) < allowed:
            yield Complaint(LIST, f"allows {file.path} {allowed}, and {len(found)} are left",
                            "lower the number, or remove the line")
    for path in sorted(left.keys() - repository.files.keys()):
        yield Complaint(LIST, f"names {path}, which does not exist", "remove the line")
