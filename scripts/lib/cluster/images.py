"""Images: docker-archives that are loaded into nodes, and kept for later nodes; the pause image is our own."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import tempfile

from image import archive

from . import image_file, layers
from .node_files import PAUSE_IMAGE
from .programs import run
from .speech import Stop

# It holds a pod's namespaces until it gets a signal, and reaps orphaned processes.
_PAUSE = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void leave(int number) { (void)number; _exit(0); }
static void wake(int number) { (void)number; }
int main(void) {
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  signal(SIGCHLD, wake);
  for (;;) {
    pause();
    while (waitpid(-1, 0, WNOHANG) > 0) {
    }
  }
}
"""


def pause_image(cache):
    """The pause program, which is made once and kept in the cache."""
    folder = pathlib.Path(cache, "pause-1")
    image = folder / "pause.tar"
    if not image.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"pause-{os.getpid()}"
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise Stop("there is no C compiler for the pause program", "scripts/setup")
        run(compiler, "-x", "c", "-Os", "-static", "-s", "-o", partial, "-", text_in=_PAUSE)
        layer = archive.Layer().file("pause", partial.read_bytes(), 0o755)
        archive.write(partial.with_suffix(".tar"), [layer], PAUSE_IMAGE, entrypoint=["/pause"])
        partial.with_suffix(".tar").rename(image)
        partial.unlink()
    return image


def load(cluster, path, sockets, keep=True):
    """Loads it into the nodes of {name: socket} at once; `keep`: also for later nodes."""
    image = image_file.read(path)
    is_linked = cluster.values["snapshotter"] == "overlayfs" and layers.unpack(cluster, image)
    with tempfile.TemporaryDirectory(prefix=".loading-", dir=cluster.folder) as folder:
        if is_linked:
            path = pathlib.Path(folder, "image.tar")
            image_file.write_without_layers(image, path)
        diff_ids = image.diff_ids if is_linked else None
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(_load_into, cluster, *each, path, diff_ids) for each in sockets.items()]
            if keep:
                jobs.append(pool.submit(_keep, cluster, path, image.tags, diff_ids))
            for job in jobs:
                job.result()
    layers.forget_unused(cluster, {digest for _, diff_ids in _kept(cluster) for digest in diff_ids or ()})
    return image.tags


def load_kept(cluster, node, socket):
    for path, diff_ids in _kept(cluster):
        _load_into(cluster, node, socket, path, diff_ids)


def _load_into(cluster, node, socket, path, diff_ids):
    ctr = ("ctr", "--address", socket, "--namespace", "k8s.io")
    if diff_ids is not None:
        layers.link_into(cluster, node, ctr, diff_ids)
    run(*ctr, "image", "import", "--snapshotter", cluster.values["snapshotter"], path)


def _keep(cluster, path, tags, diff_ids):
    """A copy: the file may be gone or another one when a node is added. A newer image of the same names replaces it."""
    folder = cluster.folder / "images"
    folder.mkdir(exist_ok=True)
    kept = folder / ("+".join(tags).replace("/", "_")[:200] + ".tar")
    partial = kept.with_suffix(".partial")
    shutil.copyfile(path, partial)
    kept.with_suffix(".json").write_text(json.dumps(diff_ids))
    partial.rename(kept)


def _kept(cluster):
    """(file, its layers, or None if they are in the file), in the order in which they were loaded."""
    files = sorted((cluster.folder / "images").glob("*.tar"), key=lambda path: path.stat().st_mtime)
    return [(path, json.loads(path.with_suffix(".json").read_text())) for path in files]
