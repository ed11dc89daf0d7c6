"""Images: docker-archives that are loaded into nodes, and kept for nodes that come later; the pause image is our own."""
import json
import os
import pathlib
import shutil
import tarfile

from image import archive

from .node_files import PAUSE_IMAGE
from .programs import run
from .speech import Stop

# It holds a pod's namespaces until it is told to end, and waits for whoever was left to it.
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
    """Made once and kept in the cache."""
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


def tags_of(path):
    """Of a docker-archive; anything else is refused here, before any node is asked."""
    again = "make one with scripts/image, or 'docker save'"
    try:
        with tarfile.open(path) as file:
            manifest = json.load(file.extractfile("manifest.json"))
        tags = [tag for image in manifest for tag in image["RepoTags"] or []]
    except (OSError, tarfile.TarError) as error:
        raise Stop(f"{path} cannot be read as a tar file: {error}", again) from error
    except (KeyError, ValueError, TypeError) as error:
        raise Stop(f"{path} is no docker-archive: its manifest.json is missing or not as expected", again) from error
    if not tags:
        raise Stop(f"{path} holds no image with a name", again)
    return sorted(tags)


def keep(cluster, path, tags):
    """A copy: the file may be gone or another one when a node is added. A newer image of the same names replaces it."""
    folder = cluster.folder / "images"
    folder.mkdir(exist_ok=True)
    kept = folder / ("+".join(tags).replace("/", "_")[:200] + ".tar")
    partial = kept.with_suffix(".partial")
    shutil.copyfile(path, partial)
    os.utime(partial)
    partial.rename(kept)


def kept(cluster):
    """In the order in which they were loaded."""
    return sorted((cluster.folder / "images").glob("*.tar"), key=lambda path: path.stat().st_mtime)


def load_into(socket, path, snapshotter):
    """Layers are unpacked at once; as they came they are of no use any more, and they are in memory, see node.py."""
    ctr = ("ctr", "--address", socket, "--namespace", "k8s.io")
    run(*ctr, "image", "import", "--snapshotter", snapshotter, path)
    lines = run(*ctr, "content", "list").stdout.splitlines()
    layers = [line.split()[0] for line in lines if "containerd.io/uncompressed=" in line]
    if layers:
        run(*ctr, "content", "remove", *layers, check=False)  # another load may have removed them
