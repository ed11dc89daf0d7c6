"""Writes a docker-archive: a tar of one tar a layer and two JSON files. The same bytes in give the same bytes out."""
import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Layer:
    """Names are relative to the image's root; folders above a name are added by themselves."""

    def __init__(self):
        self.members = {}  # name: (TarInfo, bytes or path or None)

    def folder(self, name, mode=0o755, owner=0):
        return self._add(name, tarfile.DIRTYPE, mode, None, owner=owner)

    def file(self, name, content, mode=0o644):
        """`content`: bytes, or the path of a file."""
        return self._add(name, tarfile.REGTYPE, mode, content)

    def link(self, name, target):
        return self._add(name, tarfile.SYMTYPE, 0o777, None, target=target)

    def _add(self, name, kind, mode, content, target="", owner=0):
        name = name.strip("/")
        above = os.path.dirname(name)
        if above and above not in self.members:
            self.folder(above)
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname, info.mtime, info.uid, info.gid = kind, mode, target, 0, owner, owner
        if content is not None:
            info.size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
        self.members[name] = (info, content)
        return self

    def write(self, stream):
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as file:
            for _, (info, content) in sorted(self.members.items()):
                if isinstance(content, (bytes, type(None))):
                    file.addfile(info, io.BytesIO(content or b""))
                else:
                    with open(content, "rb") as source:
                        file.addfile(info, source)

    def write_folder(self, path):
        with tempfile.TemporaryFile() as stream:
            self.write(stream)
            stream.seek(0)
            with tarfile.open(fileobj=stream) as file:
                file.extractall(path, numeric_owner=True)


def write(path, layers, tag, **config):
    """`config`: entrypoint, user, environment. The file has its name only when it is whole."""
    settings = {"Entrypoint": config.get("entrypoint"), "User": config.get("user", ""), "WorkingDir": "/",
                "Env": config.get("environment", [])}
    with tempfile.TemporaryDirectory(prefix=".image-", dir=os.path.dirname(os.path.abspath(path))) as folder:
        files, digests = [], []
        for number, layer in enumerate(layers):
            file = os.path.join(folder, str(number))
            with open(file, "wb+") as stream:
                layer.write(stream)
                stream.seek(0)
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
            files.append(file)
        image = json.dumps({"architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()), "os": "linux",
                            "created": "1970-01-01T00:00:00Z", "config": settings,
                            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]}},
                           sort_keys=True).encode()
        name = hashlib.sha256(image).hexdigest() + ".json"
        manifest = [{"Config": name, "RepoTags": [tag], "Layers": [f"{digest}.tar" for digest in digests]}]
        whole = Layer().file("manifest.json", json.dumps(manifest, sort_keys=True).encode()).file(name, image)
        for digest, file in zip(digests, files):
            whole.file(f"{digest}.tar", file)
        finished = os.path.join(folder, "finished")
        with open(finished, "wb") as stream:
            whole.write(stream)
        os.rename(finished, path)
    return digests
