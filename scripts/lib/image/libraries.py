"""The shared libraries that a program needs, by the search of its own loader on this machine."""
import os
import re
import subprocess

_LINE = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x[0-9a-f]+\)$")
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.M)
_OF_THE_DRIVER = re.compile(r"lib(?:cuda|nvidia-[\w-]+|nvcuvid)\.so")


class Missing(Exception):
    """A library that was not found, or a file that is no program."""


def find(program, folders=()):
    """{path in the image, without its first slash: path here}. The loader keeps its own path, which is in the program;
    all others go to the folder that every loader searches last."""
    search = ":".join([*map(str, folders), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    asked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False,
                           env={**os.environ, "LD_LIBRARY_PATH": search, "LC_ALL": "C"})
    if "not a dynamic executable" in asked.stdout + asked.stderr:
        return _without_libraries(program)
    if "statically linked" in asked.stdout:
        return {}
    if asked.returncode != 0:
        raise Missing(f"{program}: {(asked.stderr or asked.stdout).strip()}")
    absent = sorted({name for name in _MISSING.findall(asked.stdout) if not _OF_THE_DRIVER.match(name)})
    if absent:
        raise Missing(f"{program} needs {', '.join(absent)}, found nowhere")
    found = {}
    for line in map(_LINE.match, asked.stdout.splitlines()):
        if line is None or _OF_THE_DRIVER.match(line["name"] or ""):
            continue
        name = line["name"]
        if name is None or name.startswith("/"):  # the loader itself
            found[(name or line["path"]).lstrip("/")] = line["path"]
        else:
            found[f"usr/lib/{name}"] = line["path"]
    return found


def _without_libraries(program):
    with open(program, "rb") as file:
        if file.read(4) == b"\x7fELF":
            return {}
    raise Missing(f"{program} is no program of this machine's kind")
