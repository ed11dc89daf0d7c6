"""ctest_progress.py CLOSING: prints ctest's report while it runs, except for its closing lines, which it writes to the file. A
test that failed may have printed the report of another ctest: the closing lines are those that count the tests of this run."""
import re
import sys

NUMBERED = re.compile(r"^ *\d+/(\d+) Test +#\d+: ")
CLOSING = re.compile(r"^\d+% tests passed, \d+ tests failed out of (\d+)$")


def split(lines):
    """(whether it is a closing line, line) of each."""
    total, closes = None, False
    for line in lines:
        if numbered := NUMBERED.match(line):
            total = total or numbered[1]
        closing = CLOSING.match(line.rstrip("\n"))
        closes = closes or bool(closing and closing[1] == total)
        yield closes, line


def main(path):
    with open(path, "w") as kept:
        for closes, line in split(sys.stdin):
            if closes:
                kept.write(line)
            else:
                print(line, end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
