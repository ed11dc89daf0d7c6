"""The command line of scripts/image, and the content of each layer."""
import argparse
import os
import pathlib
import re
import sys
import time

from . import archive, libraries

_AGAIN = "scripts/image --help"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENT = {"operator": [_PATH], "trainer": [_PATH, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"]}
_TAG = re.compile(r"[a-z0-9][a-z0-9._/:-]*:[A-Za-z0-9_][A-Za-z0-9._-]*")
_USERS = {
    "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


class Stop(Exception):
    """The sentence that ends the command, and its exit code."""

    def __init__(self, sentence, next_step, code=1):
        super().__init__(f"{sentence}. Next: {next_step}")
        self.code = code


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Stop(message, _AGAIN, code=2)


def base_layer(found):
    layer = archive.Layer().folder("tmp", 0o1777)
    for name, text in _USERS.items():
        layer.file(name, text.encode())
    for name, path in found.items():
        layer.file(name, os.path.realpath(path), 0o755)
    if os.path.exists(_CERTIFICATES):
        layer.file(_CERTIFICATES, os.path.realpath(_CERTIFICATES))
        layer.link("usr/lib/ssl/cert.pem", _CERTIFICATES)  # where Debian's OpenSSL looks by itself
    return layer


def program_layer(programs):
    layer = archive.Layer()
    for program in programs:
        layer.file(f"usr/local/bin/{program.name}", program, 0o755)
    return layer


def build(chosen):
    for program in chosen.program:
        if not os.access(program, os.X_OK) or program.is_dir():
            raise Stop(f"there is no program {program}", "build it, see docs/contribute/hacking.md")
    first = chosen.program[0].name
    for folder in chosen.libraries_from:
        if not folder.is_dir():
            raise Stop(f"there is no folder {folder}", "name where the libraries are with --libraries-from")
    tag = chosen.tag or f"{first}:dev"
    if not _TAG.fullmatch(tag):
        raise Stop(f"'{tag}' is no NAME:TAG", _AGAIN, code=2)
    began = time.monotonic()
    try:
        found = {}
        for program in chosen.program:
            found |= libraries.find(program, chosen.libraries_from)
    except libraries.Missing as missing:
        raise Stop(str(missing), "name their folder with --libraries-from") from missing
    print(f"image: {' and '.join(program.name for program in chosen.program)}: {len(found)} libraries", flush=True)
    if chosen.as_folder:
        base_layer(found).write_folder(chosen.out / "libraries")
        program_layer(chosen.program).write_folder(chosen.out / "program")
        return
    try:
        digests = archive.write(chosen.out, [base_layer(found), program_layer(chosen.program)], tag, user=chosen.user,
                                environment=_ENVIRONMENT[chosen.kind],
                                entrypoint=[chosen.entrypoint or f"/usr/local/bin/{first}"])
    except OSError as error:
        raise Stop(f"{chosen.out} cannot be written: {error.strerror or error}", "free some space or name another file") \
            from error
    size = os.path.getsize(chosen.out) / 1e6
    print(f"image: {chosen.out} holds {tag}, {size:.1f} MB, libraries {digests[0][:12]}, program {digests[1][:12]}, "
          f"after {time.monotonic() - began:.1f} s")


def _parser():
    parser = _Parser(prog="scripts/image", add_help=False)
    parser.add_argument("kind", choices=("operator", "trainer"))
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--libraries-from", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--as-folder", action="store_true")
    parser.add_argument("--tag")
    parser.add_argument("--entrypoint")
    parser.add_argument("--user", default="65532:65532")
    return parser


def main(words, help_text):
    if any(word in ("--help", "-h") for word in words):
        print(help_text, end="")
        return 0
    try:
        build(_parser().parse_args(words))
        return 0
    except Stop as stop:
        print(f"image: {stop}", file=sys.stderr)
        return stop.code
