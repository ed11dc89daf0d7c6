"""The C++ snippets of README, docs/train and the public headers, and the programs that run them.

  snippets.py frames/one.cpp.in out/one.cpp    puts the snippets into a frame

A frame is C++ code around snippets. Each line of this form is replaced by the text of a snippet, or by one of its paragraphs or
lines, in which each OLD is replaced by its NEW:

  //! snippet docs/train/loop.md : session.track("net" | paragraph 1 | line 2 | OLD => NEW
  //!   | OLD => NEW

The text after the colon selects the snippet of the file that begins with it, or else that contains it.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DIRECTIVE = re.compile(r"^ *//! snippet (\S+) : (.+?)(?: \| (.*))?$")
LEFT_OUT = re.compile(r"\s*(?:\.\.\.;?\s*(?://.*)?|#include .*)")  # the rest of a snippet, which a frame supplies


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "README.md", "docs/train", "agent/include",
                             "base/include"], cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()
    return [name for name in listed if name.endswith((".md", ".h")) and (ROOT / name).exists()]


def snippets_of(name, text):
    """The snippets of a file, in order: the C++ blocks of a page, and the indented lines in comments of a header."""
    if name.endswith(".md"):
        return re.findall(r"```cpp\n(.*?)```", text, re.S)
    found, lines = [], []
    for line in [*text.splitlines(), ""]:
        comment = re.fullmatch(r"\s*//(?:   (.*))?", line)
        if comment and (lines or comment[1]):
            lines.append(comment[1] or "")
        else:
            if lines:
                found.append("\n".join(lines).rstrip() + "\n")
            lines = []
    return found


def all_snippets():
    """{file: its snippets}"""
    return {name: snippets_of(name, (ROOT / name).read_text()) for name in files()}


def selected(snippets, name, text, where):
    """The one snippet of a file that begins with a text, or else that contains it."""
    of_file = snippets.get(name, [])
    found = [snippet for snippet in of_file if snippet.lstrip().startswith(text)] or [one for one in of_file if text in one]
    if len(found) != 1:
        raise SystemExit(f"{where}: {len(found)} snippets of {name} have the text '{text}', and not one: correct the text")
    return found[0]


def one_line_each(frame):
    """The lines of a frame, with each directive on one line and empty lines behind it, so that no number of a line changes."""
    lines = frame.splitlines()
    for at in range(len(lines) - 1, 0, -1):
        if lines[at].lstrip().startswith("//!   | "):
            follower = lines[at].strip().removeprefix("//!  ")
            below = next(i for i in range(at - 1, -1, -1) if lines[i])
            lines[below], lines[at] = lines[below] + follower, ""
    return lines


def directives(frame):
    """(line number, file, text of the snippet, changes) of each directive in a frame."""
    for at, line in enumerate(one_line_each(frame), 1):
        if found := DIRECTIVE.match(line):
            yield at, found[1], found[2], found[3].split(" | ") if found[3] else []


def changed(text, changes, where):
    """The text after the changes of a directive."""
    for change in changes:
        old, arrow, new = change.partition(" => ")
        if not arrow:
            unit, number = change.split()
            text = text.split({"paragraph": "\n\n", "line": "\n"}[unit])[int(number) - 1]
        elif old in text:
            text = text.replace(old, new)
        else:
            raise SystemExit(f"{where}: the snippet does not contain '{old}': correct the directive")
    return text


def filled(frame_name, frame, snippets):
    """The text of a frame with its snippets; compilers name the places of the snippets."""
    lines = one_line_each(frame)
    for at, name, beginning, changes in reversed(list(directives(frame))):
        where = f"{frame_name}:{at}"
        text = changed(selected(snippets, name, beginning, where), changes, where)
        kept = ["" if LEFT_OUT.fullmatch(line) else line for line in text.splitlines()]
        lines[at - 1:at] = [f'#line 1 "{name}"', *kept, f'#line {at + 1} "{frame_name}"']
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(filled(str(source), source.read_text(), all_snippets()))
