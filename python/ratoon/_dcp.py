"""What both sides of ratoon.dcp know: where checkpoints are, and which of them is the newest."""
import os
import re

from ratoon import checkpoints
from ratoon._errors import RatoonError

VERSION = 1
OURS = "dcp:"  # "dcp:3": the layout of what rank 3 wrote; "dcp:3:NAME": an array of its values
BAD = 83
_LOOKS_MAX = 20


def newest(folder: "str | os.PathLike", *, run_name: str) -> checkpoints.Checkpoint | None:
    """The newest checkpoint whose every byte is as it was saved, or None if there was no save yet.

    A save that is not finished has no name yet, and one that was damaged is passed over. If there are checkpoints and all
    of them are damaged, the call is refused with exit code 83.

    >>> import tempfile, ratoon.dcp
    >>> ratoon.dcp.newest(tempfile.mkdtemp(), run_name="titan") is None
    True
    """
    place = place_of(folder, run_name)
    for look in range(_LOOKS_MAX):
        found = checkpoints.list(place) if os.path.isdir(place) else []
        if not found:
            return None
        problems = []
        for one in found:
            try:
                verified, = checkpoints.verify(place, step=one.step, attempt=one.attempt)
            except RatoonError:
                if look + 1 == _LOOKS_MAX:
                    raise
                break  # a save removed it meanwhile: there is a newer one
            if verified.is_good:
                return one
            if verified.verdict == "retired":
                break
            problems.append(verified.why)
        else:
            raise RatoonError(f"no checkpoint in {place} is sound: {problems[0]}", BAD)
    raise RatoonError(f"the program that saves in {place} removes checkpoints faster than they can be read: give its Writer "
                      "a greater keep_last", 84)


def place_of(folder, run_name: str) -> str:
    folder = os.fspath(folder)
    if "://" in folder:
        raise RatoonError(f"ratoon.dcp saves into folders, and {folder} is a store: save into a folder and copy it")
    if run_name in ("", ".", "..") or "/" in run_name:
        raise RatoonError(f"run_name is the name of the run's folder in {folder}, and '{run_name}' cannot be one")
    return os.path.join(folder, run_name)


def step_of(checkpoint_id) -> int | None:
    """DCP calls the name of a checkpoint its id. Here it is the step."""
    if checkpoint_id is None:
        return None
    text = str(checkpoint_id)
    if not re.fullmatch("[0-9]{1,15}", text):
        raise RatoonError(f"checkpoint_id of a save or load with ratoon.dcp is the step, such as 1200, and not '{text}': the "
                          "folder is that of the Writer or Reader")
    return int(text)
