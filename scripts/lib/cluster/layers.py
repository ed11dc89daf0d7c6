"""A cluster's image layers, unpacked once. A node's snapshot of a layer is made of hard links to these files: nodes on
one disk need neither their own copy nor the seconds to write it. Overlayfs never writes to a lower layer's files."""
import hashlib
import os
import re
import shutil
import tempfile

from . import image_file
from .programs import run

_WHITEOUT = ".wh."


def _folder(cluster, digest):
    return cluster.folder / "layers" / digest.removeprefix("sha256:")


def _snapshots(cluster, node):
    return cluster.node_folder(node) / "containerd/io.containerd.snapshotter.v1.overlayfs/snapshots"


def unpack(cluster, image):
    """False where a layer takes away files of those below it: that is left to containerd, and nothing is unpacked."""
    (cluster.folder / "layers").mkdir(exist_ok=True)
    for digest, member, _ in image.layers:
        folder = _folder(cluster, digest)
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as partial:
            content = os.path.join(partial, "content")
            os.mkdir(content, 0o755)
            with image_file.open_layer(image, member) as layer:
                layer.copybufsize = 1 << 20
                for entry in layer:
                    if os.path.basename(entry.name).startswith(_WHITEOUT):
                        return False
                layer.extractall(content, numeric_owner=True)
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
