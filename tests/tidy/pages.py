"""What holds for every page of the documentation: it is reached, its links lead somewhere, its lines are short."""
import os
import re

from repository import Complaint

INDEX = "docs/README.md"
ROOMS = ("train", "operate", "reference", "contribute", "design")
ALONE = (INDEX, "docs/how_ratoon_compares.md", "docs/nightly.md")  # pages that stand directly in docs/
COLUMNS = 120
README_LINES = 120
RELEASE_LINES = 110  # of CHANGELOG.md: two screens
_LINK = re.compile(r"\]\(\s*<?([^()\s<>]+)>?\s*\)")
_HEADING = re.compile(r"^#+ +(.+?) *#*$", re.M)
_CODE = re.compile(r"^( *)```.*?^\1```[^\n]*$", re.M | re.S)
_CODE_IN_LINE = re.compile(r"`[^`\n]*`")


def is_page(path):
    return path.endswith(".md") and path != "CHANGELOG.md"  # releases are written down as they were


def blank(found):
    return re.sub(r"[^\n]", " ", found[0])


def prose(text):
    """The text with its code turned into spaces."""
    return _CODE_IN_LINE.sub(blank, _CODE.sub(blank, text))


def anchors(text):
    """The names under which a browser finds the headings of a page."""
    seen = {}
    for heading in _HEADING.findall(_CODE.sub(blank, text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        yield name if seen[name] == 0 else f"{name}-{seen[name]}"


def links(file):
    """(offset, path in the repository, anchor) of every link that stays in the repository."""
    for found in _LINK.finditer(prose(file.text)):
        path, _, anchor = found[1].partition("#")
        if not re.match(r"[a-z]+:", found[1]):
            target = os.path.normpath(os.path.join(file.folder, path)) if path else file.path
            yield found.start(1), target, anchor


def check_links(repository):
    folders = {os.path.dirname(path) for path in repository.files}
    folders |= {parent for folder in folders for parent in _parents(folder)}
    for file in filter(lambda file: is_page(file.path), repository.files.values()):
        for offset, target, anchor in links(file):
            if target not in repository.files and target not in folders:
                yield Complaint(file.at(offset), f"links to {target}, which does not exist", "correct the link")
            elif anchor and anchor not in anchors(repository.files[target].text):
                yield Complaint(file.at(offset), f"links to #{anchor}, which is no heading of {target}",
                                "take the heading's words in small letters, with - between them")


def _parents(folder):
    while folder := os.path.dirname(folder):
        yield folder


def check_paths(repository):
    """The index names each page, and each page has its room."""
    pages = [path for path in repository.files if path.startswith("docs/") and is_page(path)]
    named = {target for _, target, _ in links(repository.files[INDEX])} if INDEX in repository.files else set()
    names = {}
    for path in pages:
        room, name = path.split("/")[1], os.path.basename(path)
        if path not in named and path != INDEX:
            yield Complaint(path, f"is not reached from {INDEX}", "add it there to the path of its reader")
        if path not in ALONE and (room not in ROOMS or path.count("/") != 2):
            yield Complaint(path, "is in no reader's folder", f"move it to docs/ and one of {', '.join(ROOMS)}")
        if name in names and path != INDEX:
            yield Complaint(path, f"has the name of {names[name]}", "give it a name of its own")
        names[name] = path
    for path in repository.files:
        if path.startswith("docs/") and path.endswith(".json"):
            yield Complaint(path, "is a raw record", "move it to tests/bench/records")


def check_lines(repository):
    for file in filter(lambda file: is_page(file.path), repository.files.values()):
        lines = file.text.split("\n")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS and not line.lstrip().startswith("|"):
                yield Complaint(f"{file.path}:{number}", f"has {len(line)} columns of {COLUMNS}", "break the line")
        if file.path == "README.md" and len(lines) - 1 > README_LINES:
            yield Complaint(file.path, f"has {len(lines) - 1} lines of {README_LINES}",
                            "move what is not for a first look to a page under docs/")


def check_changelog(repository):
    """What a release brings is read in two screens."""
    for section in re.split(r"^## ", repository.files["CHANGELOG.md"].text, flags=re.M)[1:]:
        title, lines = section.split("\n", 1)[0], section.rstrip("\n").count("\n") + 1
        if lines > RELEASE_LINES:
            yield Complaint("CHANGELOG.md", f"has {lines} lines of {RELEASE_LINES} for '{title}'",
                            "join entries of one subject; pages of docs/ have the details")
