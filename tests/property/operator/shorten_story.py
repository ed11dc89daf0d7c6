"""Leaves out of a story the moves that its failure does not need:

  shorten_story.py PROGRAM STORY

PROGRAM is reconcile_laws_test or writes_laws_test, or a mutant of one; STORY a file that it wrote for RATOON_KEEP. The
failure is known by the words of the law; what is left is written to STORY."""

import os
import pathlib
import subprocess
import sys
import tempfile

LAWS = "ReconcileLaws.HoldInEveryWorldWithFaults:WritesLaws.HoldOverAServerThatIsInTheWay"


def failure_of(program, moves):
    """What the law says of these moves; empty: it holds."""
    with tempfile.NamedTemporaryFile("w", suffix=".story") as story:
        story.write("".join(moves))
        story.flush()
        run = subprocess.run([program, f"--gtest_filter={LAWS}"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             env={**os.environ, "RATOON_STORY": story.name}, timeout=300, check=False)
    for line in run.stdout.partition(": Failure\n")[2].splitlines():
        if line and not line.startswith((" ", "Value of", "Expected", "Which is", "Google Test trace", "[")):
            return words_of(line)
    return "another failure" if run.returncode else ""


def words_of(line):
    """Without the names in it, which change with the moves."""
    return " ".join(word for word in line.split() if not any(letter.isdigit() for letter in word))


def shorten(moves, fails):
    """The moves without those that can be left out, in ever smaller pieces."""
    size = len(moves)
    while size >= 1:
        at = 0
        while at < len(moves):
            fewer = moves[:at] + moves[at + size:]
            if fails(fewer):
                moves = fewer
            else:
                at += size
        size = min(size // 2, len(moves))
    return moves


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[2])
    moves = path.read_text().splitlines(keepends=True)
    wanted = failure_of(program, moves)
    if not wanted:
        sys.exit(f"{path} breaks no law of {program}: nothing to shorten; was it kept from a run that failed?")
    shorter = shorten(moves, lambda some: failure_of(program, some) == wanted)
    path.write_text("".join(shorter))
    print(f"{len(moves)} moves, {len(shorter)} left: {wanted}")


if __name__ == "__main__":
    main()
