"""Reads a docker-archive: its content, and a small OCI archive with the same metadata and without the layers."""
import contextlib
import dataclasses
import gzip
import hashlib
import json
import re
import tarfile

from image import archive

from .speech import Stop

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_AGAIN = "make one with scripts/image, or 'docker save'"


@dataclasses.dataclass(frozen=True)
class ImageFile:
    path: str
    tags: tuple
    config: bytes
    layers: tuple  # (digest of the uncompressed layer, its member of the archive, its size)

    diff_ids = property(lambda self: [digest for digest, _, _ in self.layers])


def read(path):
    """Refuses a file that is no docker-archive, before it reaches any node."""
    try:
        with tarfile.open(path) as file:
            manifests = json.load(file.extractfile("manifest.json"))
            if len(manifests) != 1:
                raise Stop(f"{path} holds {len(manifests)} images, not one", _AGAIN)
            config = file.extractfile(manifests[0]["Config"]).read()
            digests = json.loads(config)["rootfs"]["diff_ids"]
            layers = [(digest, name, file.getmember(name).size)
                      for digest, name in zip(digests, manifests[0]["Layers"], strict=True)]
            if not all(_DIGEST.fullmatch(digest) for digest in digests):
                raise ValueError("a diff_id is no sha256")
            tags = tuple(sorted(manifests[0]["RepoTags"] or []))
    except (OSError, tarfile.TarError) as error:
        raise Stop(f"{path} cannot be read as a tar file: {error}", _AGAIN) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Stop(f"{path} is no docker-archive: its manifest.json is missing or not as expected", _AGAIN) from error
    if not tags:
        raise Stop(f"{path} holds no image with a name", _AGAIN)
    return ImageFile(str(path), tags, config, tuple(layers))


@contextlib.contextmanager
def open_layer(image, member):
    with tarfile.open(image.path) as whole, tarfile.open(fileobj=whole.extractfile(member)) as layer:
        yield layer


def digest_of(image, member):
    """The digest of the uncompressed layer; the archive may hold it compressed."""
    with tarfile.open(image.path) as whole, whole.extractfile(member) as stored:
        is_compressed = stored.read(2) == b"\x1f\x8b"
        stored.seek(0)
        content = gzip.GzipFile(fileobj=stored) if is_compressed else stored
        digest = hashlib.sha256()
        try:
            while piece := content.read(1 << 20):
                digest.update(piece)
        except (OSError, EOFError) as error:
            raise Stop(f"a layer of {image.path} cannot be read: {error}", _AGAIN) from error
    return f"sha256:{digest.hexdigest()}"


def full_name(tag):
    """Completes a short name like container runtimes."""
    first, slash, _ = tag.partition("/")
    if not slash:
        return f"docker.io/library/{tag}"
    return tag if "." in first or ":" in first or first == "localhost" else f"docker.io/{tag}"


def write_without_layers(image, path):
    kinds = "application/vnd.oci.image."
    whole = archive.Layer()

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        whole.file(f"blobs/sha256/{digest}", content)
        return {"mediaType": kinds + kind, "digest": f"sha256:{digest}", "size": len(content)}

    layers = [{"mediaType": kinds + "layer.v1.tar", "digest": digest, "size": size} for digest, _, size in image.layers]
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": kinds + "manifest.v1+json", "layers": layers,
                                "config": blob(image.config, "config.v1+json")}).encode(), "manifest.v1+json")
    index = [{**manifest, "annotations": {"io.containerd.image.name": full_name(tag)}} for tag in image.tags]
    whole.file("index.json", json.dumps({"schemaVersion": 2, "manifests": index}).encode())
    whole.file("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    with open(path, "wb") as stream:
        whole.write(stream)
