"""Parts of scripts/cluster that need neither root nor a cluster: what it takes from an image archive, which names nodes
may have, and which servers it runs."""
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

from cluster import commands, image_file, layers, pki, programs  # noqa: E402
from cluster.speech import Stop  # noqa: E402


def entry(name, content=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar_of(entries):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for info, content in entries:
            file.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Parts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="ratoon-cluster-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.cluster = types.SimpleNamespace(folder=self.folder / "cluster", pki=self.folder / "pki")
        self.cluster.folder.mkdir()
        self.cluster.pki.mkdir()

    def image(self, entries, digest=None):
        layer = tar_of(entries)
        digest = digest or "sha256:" + hashlib.sha256(layer).hexdigest()
        config = json.dumps({"rootfs": {"diff_ids": [digest]}}).encode()
        manifest = json.dumps([{"Config": "config.json", "RepoTags": ["a:1"], "Layers": ["layer.tar"]}]).encode()
        path = self.folder / "image.tar"
        path.write_bytes(tar_of([entry("manifest.json", manifest), entry("config.json", config), entry("layer.tar", layer)]))
        return image_file.read(path), layers._folder(self.cluster, digest)

    def refused(self, entries, digest=None):
        """What is said; nothing is left in the folder of layers, and nothing beside it."""
        image, _ = self.image(entries, digest)
        before = sorted(self.folder.rglob("*"))
        with self.assertRaises(Stop) as raised:
            layers.unpack(self.cluster, image)
        made = set(self.folder.rglob("*")) - set(before) - {self.cluster.folder / "layers"}
        self.assertEqual(made, set())
        return str(raised.exception)

    def test_a_layer_is_unpacked_as_it_is(self):
        image, folder = self.image([
            entry("tmp", type=tarfile.DIRTYPE, mode=0o1777), entry("usr", type=tarfile.DIRTYPE, mode=0o755),
            entry("usr/tool", b"tool", mode=0o4755), entry("usr/again", type=tarfile.LNKTYPE, linkname="usr/tool", mode=0o4755),
            entry("etc", type=tarfile.SYMTYPE, linkname="/usr/etc"), entry("up", type=tarfile.SYMTYPE, linkname="../../x")])
        self.assertTrue(layers.unpack(self.cluster, image))
        self.assertEqual((folder / "usr/tool").read_bytes(), b"tool")
        self.assertEqual((folder / "tmp").stat().st_mode & 0o7777, 0o1777)
        self.assertEqual((folder / "usr/tool").stat().st_mode & 0o7777, 0o4755)
        self.assertEqual((folder / "usr/again").stat().st_ino, (folder / "usr/tool").stat().st_ino)
        self.assertEqual(os.readlink(folder / "etc"), "/usr/etc", "a container's root is another one")
        self.assertEqual(os.readlink(folder / "up"), "../../x")

    def test_what_would_leave_the_layers_folder_is_refused(self):
        outside = str(self.folder / "outside")
        for name, entries in {
                "a name that goes up": [entry("../../outside", b"x")],
                "an absolute name": [entry(outside, b"x")],
                "a file behind a link": [entry("way", type=tarfile.SYMTYPE, linkname=str(self.folder)),
                                         entry("way/outside", b"x")],
                "a file through a link": [entry("way", type=tarfile.SYMTYPE, linkname=outside), entry("way", b"x")],
                "a hard link to a file that is not of it": [entry("mine", type=tarfile.LNKTYPE, linkname="../../image.tar")],
                "a hard link behind a link": [entry("way", type=tarfile.SYMTYPE, linkname=str(self.folder)),
                                              entry("mine", type=tarfile.LNKTYPE, linkname="way/image.tar")],
                "a file behind a hard link to a link": [entry("way", type=tarfile.SYMTYPE, linkname=str(self.folder)),
                                                        entry("again", type=tarfile.LNKTYPE, linkname="way"),
                                                        entry("again/outside", b"x")],
                "a device": [entry("disk", type=tarfile.BLKTYPE, devmajor=8)]}.items():
            with self.subTest(name):
                self.assertIn("image.tar", self.refused(entries))

    def test_a_layer_that_is_not_what_its_digest_says_is_refused(self):
        said = self.refused([entry("a", b"x")], "sha256:" + "0" * 64)
        self.assertIn("sha256:" + "0" * 64, said)

    def test_a_digest_that_is_none_names_no_folder(self):
        for digest in ("sha256:../../outside", "sha256:" + "G" * 64, "md5:" + "0" * 32):
            with self.subTest(digest), self.assertRaises(Stop):
                self.image([entry("a", b"x")], digest)

    def test_no_node_has_the_name_of_a_part_of_the_cluster(self):
        for name in ("ca", "admin", "apiserver", "scheduler", "proxy", "controller-manager", "service-accounts", "A", "-a"):
            self.assertFalse(commands.is_node_name(name), name)
        for name in ("node-1", "a", "cab", "scheduler-1"):
            self.assertTrue(commands.is_node_name(name), name)

    def test_a_node_that_is_erased_takes_its_own_files_alone(self):
        kept = ["ca.key", "ca.pem", "a-b-client.pem", "a-b.kubeconfig", "a.other"]
        gone = [f"a-{kind}.{ending}" for kind in ("client", "server") for ending in ("ext", "key", "csr", "pem")]
        for name in (*kept, *gone, "a.kubeconfig"):
            (self.cluster.pki / name).touch()
        for file in pki.node_files(self.cluster, "a"):
            file.unlink(missing_ok=True)
        self.assertEqual(sorted(file.name for file in self.cluster.pki.iterdir()), sorted(kept))

    def test_the_servers_are_those_that_this_checkout_pins(self):
        pinned = programs.server_folders(self.folder)
        self.assertTrue(pinned)
        for folder in pinned:
            (folder / "bin").mkdir(parents=True)
            name, version = folder.name.removeprefix("servers-").rsplit("-v", 1)
            self.assertRegex(version, r"^\d+\.\d+")
            (self.folder / f"servers-{name}-v0.0.1/bin").mkdir(parents=True)
        self.assertEqual(programs.built_folders(self.folder), [str(folder / "bin") for folder in pinned])


if __name__ == "__main__":
    unittest.main()
