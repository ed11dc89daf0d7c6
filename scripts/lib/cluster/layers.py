"""A cluster's image layers, unpacked once. A node's snapshot of a layer is made of hard links to these files: nodes on
one disk need neither their own copy nor the seconds to write it. Overlayfs never writes to a lower layer's files."""
import hashlib
import os
import re
import shutil
import tarfile
import tempfile

from . import image_file
from .programs import run
from .speech import Stop

_WHITEOUT = ".wh."
_AGAIN = "make the image anew, or get it from where you trust it"


def _folder(cluster, digest):
    return cluster.folder / "layers" / digest.removeprefix("sha256:")


def _snapshots(cluster, node):
    return cluster.node_folder(node) / "containerd/io.containerd.snapshotter.v1.overlayfs/snapshots"


def _parts(image, entry, name):
    """The parts of a name within the layer; a name that leads out of it is refused."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise Stop(f"a layer of {image.path} names {name!r} for {entry.name!r}, which is not within the layer", _AGAIN)
    return parts


def _check(image, entries):
    """Files are made as root: none of them may be behind a link, where it would be a file of this machine. A link itself
    may lead anywhere, since a container has another root."""
    links = set()
    for entry in entries:
        if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
            raise Stop(f"a layer of {image.path} holds {entry.name!r}, which is no file, folder or link", _AGAIN)
        for name in (entry.name, entry.linkname) if entry.islnk() else (entry.name,):
            parts = _parts(image, entry, name)
            is_made = name == entry.name
            for end in range(1, len(parts) + is_made):
                if tuple(parts[:end]) in links:
                    raise Stop(f"a layer of {image.path} puts {entry.name!r} behind the link {'/'.join(parts[:end])!r}", _AGAIN)
        is_hard_link_to_link = entry.islnk() and tuple(_parts(image, entry, entry.linkname)) in links
        if entry.issym() or is_hard_link_to_link:
            links.add(tuple(_parts(image, entry, entry.name)))


def _extract(image, layer, entries, content):
    trusting = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}  # _check() was stricter
    try:
        layer.extractall(content, entries, numeric_owner=True, **trusting)
    except (OSError, KeyError, tarfile.TarError) as error:
        raise Stop(f"a layer of {image.path} cannot be unpacked: {error}", _AGAIN) from error


def unpack(cluster, image):
    """False if a layer removes files of those below it: that is left to containerd, and nothing is unpacked."""
    (cluster.folder / "layers").mkdir(exist_ok=True)
    for digest, member, _ in image.layers:
        folder = _folder(cluster, digest)
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as partial:
            content = os.path.join(partial, "content")
            os.mkdir(content, 0o755)
            found = image_file.digest_of(image, member)
            if found != digest:
                raise Stop(f"a layer of {image.path} has the digest {found}, and its configuration says {digest}", _AGAIN)
            with image_file.open_layer(image, member) as layer:
                layer.copybufsize = 1 << 20
                entries = list(layer)
                if any(os.path.basename(entry.name).startswith(_WHITEOUT) for entry in entries):
                    return False
                _check(image, entries)
                _extract(image, layer, entries, content)
            os.rename(content, folder)
    return True


def forget_unused(cluster, used):
    keep = {_folder(cluster, digest).name for digest in used}
    for folder in (cluster.folder / "layers").glob("*"):
        if folder.name not in keep:
            shutil.rmtree(folder, ignore_errors=True)


def chain_ids(diff_ids):
    """The names of the snapshots that containerd would make, each on top of the one before."""
    chain = []
    for digest in diff_ids:
        chain.append(digest if not chain else
                     "sha256:" + hashlib.sha256(f"{chain[-1]} {digest}".encode()).hexdigest())
    return chain


def link_into(cluster, node, ctr, diff_ids):
    """Makes the snapshots that the node lacks."""
    snapshots = (*ctr, "snapshots", "--snapshotter", "overlayfs")
    there = {line.split()[0] for line in run(*snapshots, "list").stdout.splitlines()[1:]}
    parent = []
    for digest, name in zip(diff_ids, chain_ids(diff_ids)):
        if name not in there:
            working = f"link-{os.getpid()}-{name[-16:]}"
            run(*snapshots, "prepare", working, *parent)
            mount = run(*snapshots, "mounts", "/", working).stdout
            number = re.search(r"(?:upperdir=|bind )\S*?/snapshots/(\d+)/fs", mount)[1]
            target = _snapshots(cluster, node) / number / "fs"
            run("cp", "--archive", "--link", f"{_folder(cluster, digest)}/.", target)
            run(*snapshots, "commit", name, working)
        parent = [name]
