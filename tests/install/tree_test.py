"""What lies in the installed tree: public headers that need nothing of ours or of third parties, and no path of here."""
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from installed_tree import BUILD, SOURCE, WITH_MDS, WITH_TORCH, install, is_on, run

LIBTORCH_HEADERS = ("ATen/", "c10/", "torch/")
SYSTEM_HEADER = re.compile(r"[a-z_0-9]+(\.h)?|(sys|linux|netinet)/[a-z_0-9]+\.h")


def includes(header):
    return re.findall(r'^\s*#\s*include\s*([<"][^>"]+)[>"]', header.read_text(), re.M)


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-tree-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.tree = install(cls.scratch)
        cls.headers = sorted((cls.tree / "include").rglob("*"))

    def test_headers_lie_under_ratoon_and_are_all_there(self):
        installed = {str(h.relative_to(self.tree / "include")) for h in self.headers if h.is_file()}
        public = {str(h.relative_to(root)) for root in (SOURCE / "base" / "include", SOURCE / "agent" / "include")
                  for h in root.rglob("*.h") if WITH_TORCH or "torch" not in (h.parent.name, h.stem)
                  if WITH_MDS or not h.name.startswith("mds_")}
        self.assertEqual(installed, public)
        self.assertTrue(all(name.startswith("ratoon/") for name in installed), installed)

    def test_headers_include_no_third_party(self):
        installed = {str(h.relative_to(self.tree / "include")) for h in self.headers}
        for header in filter(pathlib.Path.is_file, self.headers):
            may_see_libtorch = header.parent.name == "torch" or header.name == "torch.h"  # which gathers that folder
            for spelled in includes(header):
                with self.subTest(header=str(header.relative_to(self.tree)), include=spelled):
                    name = spelled[1:]
                    self.assertEqual(spelled[0], "<", "public headers are included by their installed name")
                    if name.startswith("ratoon/"):
                        self.assertIn(name, installed, "an installed header includes one that is not")
                        self.assertTrue(may_see_libtorch or not name.startswith("ratoon/torch/"),
                                        "only ratoon/torch.h and headers under ratoon/torch may need LibTorch")
                    elif not (may_see_libtorch and name.startswith(LIBTORCH_HEADERS)):
                        self.assertRegex(name, f"^({SYSTEM_HEADER.pattern})$", "not a header of C++ or of the system")

    def test_no_text_holds_a_path_of_the_build(self):
        """Libraries hold their sources' paths as debug information, which no build of theirs reads; texts hold none."""
        ours = [str(path) for path in (BUILD, SOURCE, pathlib.Path.home() / ".cache")]
        texts = [path for path in self.tree.rglob("*") if path.suffix in (".cmake", ".pc", ".h")]
        self.assertGreater(len(texts), 8)
        for path in texts:
            for place in ours:
                self.assertNotIn(place, path.read_text(), f"{path.relative_to(self.tree)} holds a path of this machine")

    def test_no_program_looks_for_libraries_in_the_build(self):
        for program in (self.tree / "bin").glob("*"):
            said = run("readelf", "-d", program).stdout
            self.assertNotRegex(said, r"\((RPATH|RUNPATH)\)", program.name)

    def test_programs_are_there_and_start(self):
        if not is_on("RATOON_WITH_HTTP"):
            self.skipTest("programs need RATOON_WITH_HTTP")
        self.assertIn("ratoon", [program.name for program in (self.tree / "bin").iterdir()])
        self.assertIn("run", run(self.tree / "bin" / "ratoon", "--help").stdout)

    def test_kubectl_finds_its_plugin(self):
        if not is_on("RATOON_WITH_HTTP"):
            self.skipTest("programs need RATOON_WITH_HTTP")
        plugin = self.tree / "bin" / "kubectl-ratoon"
        self.assertEqual(os.readlink(plugin), "ratoon", "it holds wherever the tree is moved to")
        self.assertIn("kubectl ratoon status -A", run(plugin, "status", "--help").stdout)
        self.assertEqual(run(self.tree / "bin" / "kubectl_complete-ratoon", "check").stdout, "checkpoints\n:4\n")

    def test_the_agent_comes_without_the_programs(self):
        """As docs/train/your_program.md has it: ratoon_dev builds all that the component dev installs, and no program."""
        words = run("cmake", "--install", BUILD, "--component", "dev", "--prefix", self.scratch / "dev").stdout
        alone = {path.relative_to(self.scratch / "dev") for path in (self.scratch / "dev").rglob("*")}
        whole = {path.relative_to(self.tree) for path in self.tree.rglob("*")}
        self.assertEqual({path for path in whole - alone if path.parts[0] != "bin"}, set(), words)
        self.assertFalse([path for path in alone if path.parts[0] == "bin"])
        commands = run("ninja", "-C", BUILD, "-t", "commands", "ratoon_dev").stdout
        for library in (path.name for path in alone if path.suffix == ".a"):
            self.assertIn(f"/{library} ", commands)
        self.assertNotRegex(commands, r"-c \S*/(operator|cli)/", "objects of the programs")

    def test_only_what_users_link_is_installed(self):
        names = {path.name for path in self.tree.rglob("*.a")}
        self.assertIn("libratoon_agent.a", names)
        self.assertFalse([name for name in names if "operator" in name], names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
