"""scripts/image: the same bytes for the same files, a small layer for the program, and a program that runs there."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = '#include <iostream>\nint main() { std::cout << "version %d\\n"; }\n'


def image(*words):
    return subprocess.run([ROOT / "scripts/image", *map(str, words)], capture_output=True, text=True, timeout=180)


class Image(unittest.TestCase):
    def setUp(self):
        if shutil.which("c++") is None:
            self.skipTest("there is no compiler on this machine")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-image-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = self.folder / "speaker"

    def compile(self, version, *options, source=SOURCE):
        text = source % version if "%d" in source else source
        subprocess.run(["c++", "-x", "c++", "-o", self.program, "-", *options], input=text, text=True, check=True)

    def build(self, file, *options):
        done = image("operator", self.folder / file, "--program", self.program, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(self.folder / file) as archive:
            manifest = json.load(archive.extractfile("manifest.json"))[0]
            config = json.load(archive.extractfile(manifest["Config"]))
        return manifest, config

    def test_same_in_same_out(self):
        self.compile(1)
        self.build("one.tar")
        os.utime(self.program, (1, 1))
        self.build("two.tar")
        self.assertEqual((self.folder / "one.tar").read_bytes(), (self.folder / "two.tar").read_bytes())

    def test_a_new_program_changes_the_small_layer_only(self):
        self.compile(1)
        before, _ = self.build("one.tar")
        self.compile(2)
        after, config = self.build("two.tar", "--tag", "speaker:two")
        self.assertEqual(before["Layers"][0], after["Layers"][0])
        self.assertNotEqual(before["Layers"][1], after["Layers"][1])
        self.assertEqual((before["RepoTags"], after["RepoTags"]), (["speaker:dev"], ["speaker:two"]))
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/local/bin/speaker"])
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{name[:-4]}" for name in after["Layers"]])

    def test_the_program_runs_with_what_is_in_the_image_alone(self):
        self.compile(3)
        manifest, config = self.build("image.tar")
        root = self.folder / "root"
        with tarfile.open(self.folder / "image.tar") as archive:
            for layer in manifest["Layers"]:
                with tarfile.open(fileobj=archive.extractfile(layer)) as file:
                    file.extractall(root)
        self.assertEqual((root / "tmp").stat().st_mode & 0o7777, 0o1777)
        self.assertIn("nonroot:x:65532", (root / "etc/passwd").read_text())
        loader = next(path for path in root.glob("lib*/ld-linux-*") if path.is_file())
        done = subprocess.run([loader, "--inhibit-cache", "--library-path", root / "usr/lib",
                               str(root) + config["config"]["Entrypoint"][0]], capture_output=True, text=True, env={})
        self.assertEqual(done.stdout, "version 3\n", done.stderr)

    def test_a_library_from_elsewhere(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        subprocess.run(["c++", "-x", "c++", "-shared", "-fPIC", "-o", elsewhere / "libspoken.so", "-"], text=True,
                       input="int spoken() { return 7; }", check=True)
        self.compile(0, f"-L{elsewhere}", "-lspoken", source="int spoken(); int main() { return spoken(); }")
        done = image("trainer", self.folder / "image.tar", "--program", self.program)
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs libspoken.so, found nowhere. Next: ", done.stderr)
        self.assertFalse((self.folder / "image.tar").exists())
        self.build("image.tar", "--libraries-from", elsewhere)

    def test_the_files_of_both_layers_for_a_dockerfile(self):
        self.compile(1)
        done = image("operator", self.folder / "out", "--as-folder", "--program", self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.access(self.folder / "out/program/usr/local/bin/speaker", os.X_OK))
        self.assertTrue(list((self.folder / "out/libraries/usr/lib").glob("libstdc++*")))

    def test_a_second_program_lies_beside_the_first(self):
        self.compile(1)
        second = self.folder / "helper"
        second.write_bytes(self.program.read_bytes())
        second.chmod(0o755)
        manifest, config = self.build("image.tar", "--program", second)
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/local/bin/speaker"])
        with tarfile.open(self.folder / "image.tar") as archive, \
                tarfile.open(fileobj=archive.extractfile(manifest["Layers"][1])) as layer:
            self.assertLessEqual({"usr/local/bin/speaker", "usr/local/bin/helper"}, set(layer.getnames()))
        self.assertEqual(manifest["RepoTags"], ["speaker:dev"])

    def test_a_static_program_needs_none(self):
        self.compile(1, "-static")
        self.build("image.tar")

    def test_refusals(self):
        self.compile(1)
        for code, words in ((2, []), (2, ["server", "x.tar", "--program", self.program]),
                            (1, ["operator", self.folder / "x.tar", "--program", self.folder / "none"]),
                            (2, ["operator", self.folder / "x.tar", "--program", self.program, "--tag", "No Tag"])):
            done = image(*words)
            self.assertEqual(done.returncode, code, words)
            self.assertRegex(done.stderr, r"\Aimage: [^\n]*\. Next: [^\n]*\n\Z")
        self.assertEqual(list(self.folder.glob("*.tar")), [])

    def test_help(self):
        for command in ("image", "cluster"):
            done = subprocess.run([ROOT / "scripts" / command, "--help"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.splitlines()[0].split()[0]), (0, f"scripts/{command}"))


if __name__ == "__main__":
    unittest.main()
