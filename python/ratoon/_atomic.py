"""Files that hold their old bytes or all of their new ones."""
import contextlib
import os
from collections.abc import Iterator
from typing import IO

from ratoon import _core
from ratoon._errors import RatoonError


@contextlib.contextmanager
def atomic_save(path: "str | os.PathLike", mode: str = "wb", *, replaces: bool = True,
                encoding: str | None = None) -> Iterator[IO]:
    """A file that has its name, whole and synced, when the with statement ends; an error within it leaves nothing.

    >>> import json, pathlib, tempfile, ratoon
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "metrics.json"
    >>> with ratoon.atomic_save(path, "w") as file:
    ...     json.dump({"loss": 0.25}, file)
    >>> path.read_text()
    '{"loss": 0.25}'

    `mode` is "wb", or "w" for text, which is UTF-8 unless `encoding` says otherwise. With `replaces=False` a file
    that is there already stays, and the call is refused.
    """
    if mode not in ("w", "wb"):
        raise RatoonError(f"atomic_save() writes a new file: mode is 'wb' or 'w', not '{mode}'")
    unfinished = _core.Unfinished(os.fspath(path), replaces)
    try:
        text = None if mode == "wb" else encoding or "utf-8"
        with open(os.dup(unfinished.fd()), mode, encoding=text) as file:
            yield file
        unfinished.publish()
    except BaseException:
        unfinished.discard()
        raise
