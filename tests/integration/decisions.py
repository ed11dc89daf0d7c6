"""What a run decided, read from its folder: where it ended and why, which checkpoints it keeps, which steps it saved, with which
bits it ended, and its history. Two runs of one program are compared by it."""

import dataclasses
import json
import re

from format_reader import FORMAT, names_newest_first, read_newest, read_sealed

HANDED_OVER = re.compile(r"attempt (\d+) ends at step \d+: handed over")


@dataclasses.dataclass(frozen=True)
class Decisions:
    end: int
    finished: dict  # why the program ended the run
    pins: dict  # {step: why}
    saves: frozenset  # of steps, those that are kept too
    bits: dict  # {tensor: bytes} of rank 0, at the end
    history: list  # [(step, values)]


def history_rows(folder, place):
    """(step, values) up to a place, read as docs/reference/history.md says."""
    parts = []
    while place:
        text = (folder / "history" / f"a{place['attempt']:04}.jsonl").read_bytes()[:place["bytes"]]
        if len(text) != place["bytes"]:
            raise AssertionError(f"{folder}/history: attempt {place['attempt']} has {len(text)} bytes of {place['bytes']}")
        first, *lines = [json.loads(line) for line in text.decode().splitlines()]
        parts.insert(0, lines)
        place = first.get("after")
    return [(row["step"], row["values"]) for part in parts for row in part if row["kind"] == "step"]


def manifests(folder):
    """{(attempt, step): manifest}"""
    return {(attempt, step): read_sealed(path, FORMAT) for attempt, step, path in names_newest_first(folder / "manifests")}


def read_pins(folder):
    """{(attempt, step): why}, of checkpoints that exist: one that is never committed may be pinned for nothing."""
    committed = {(attempt, step) for attempt, step, _ in names_newest_first(folder / "manifests")}
    return {(attempt, step): path.read_text().rstrip("\n") for attempt, step, path in names_newest_first(folder / "pins")
            if (attempt, step) in committed}


def read_decisions(folder):
    committed = manifests(folder)
    last = committed[max(committed)]
    newest, passed_over = read_newest(folder)
    if passed_over:
        raise AssertionError(f"{folder}: {passed_over}")
    return Decisions(end=max(step for _, step in committed), finished=last["run"].get("finished"),
                     pins=pins_of_steps(folder), saves=frozenset(step for _, step in committed),
                     bits={name: tensor.data for name, tensor in newest.of_rank(0).items()},
                     history=history_rows(folder, last["run"]["history"]))


def pins_of_steps(folder):
    """{step: why}. A step that was made again was saved and pinned again."""
    pins = read_pins(folder)
    of_steps = {step: why for (_, step), why in pins.items()}
    for attempt, step, _ in names_newest_first(folder / "manifests"):
        if step in of_steps and pins.get((attempt, step)) != of_steps[step]:
            raise AssertionError(f"step {step} is kept for '{of_steps[step]}' in one attempt, and in attempt {attempt} for "
                                 f"'{pins.get((attempt, step))}'")
    return of_steps


def check_same(found, unbroken):
    """Saves apart: see check_saves()."""
    for field in ("end", "finished", "pins", "history", "bits"):
        if getattr(found, field) != getattr(unbroken, field):
            raise AssertionError(f"{field}: {getattr(found, field)}, and the unbroken run has {getattr(unbroken, field)}")


def check_saves(folder, unbroken, asked):
    """Each step that the unbroken run saved is saved; others in attempts alone that were asked to save, or handed over."""
    found = manifests(folder)
    if missing := unbroken.saves - {step for _, step in found}:
        raise AssertionError(f"steps {sorted(missing)} are not saved, and the unbroken run saved them")
    others = {(attempt, step) for attempt, step in found if step not in unbroken.saves and attempt not in asked}
    if others:
        raise AssertionError(f"(attempt, step) {sorted(others)} was saved, which nobody had asked for")


def handed_over(logs):
    """The attempts that ended so, by what members say."""
    return {int(attempt) for text in logs.values() for attempt in HANDED_OVER.findall(text)}
