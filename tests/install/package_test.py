"""The Debian packages: named, with their dependencies, and a program that starts from the unpacked one."""
import pathlib
import shutil
import tempfile
import unittest

from installed_tree import BUILD, is_on, run

ARCHITECTURE = run("dpkg", "--print-architecture").stdout.strip() if shutil.which("dpkg") else ""


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "dpkg-dev is not installed")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.scratch, cwd=cls.scratch)

    def field(self, package, name):
        file = self.scratch / f"{package}_0.1.0_{ARCHITECTURE}.deb"
        return run("dpkg-deb", "--field", file, name).stdout.strip()

    def unpack(self, package):
        run("dpkg-deb", "--extract", self.scratch / f"{package}_0.1.0_{ARCHITECTURE}.deb", self.scratch / package)
        return self.scratch / package / "usr"

    def test_the_library_package_brings_what_trainers_link(self):
        self.assertIn("libc6-dev", self.field("libratoon-dev", "Depends"))
        if is_on("RATOON_WITH_HTTP"):
            self.assertIn("libcpprest-dev", self.field("libratoon-dev", "Depends"))
        if is_on("RATOON_WITH_MDS"):
            for library in ("libbrotli-dev", "libbz2-dev", "libsnappy-dev", "libssl-dev", "libzstd-dev", "zlib1g-dev"):
                self.assertIn(library, self.field("libratoon-dev", "Depends"))
        tree = self.unpack("libratoon-dev")
        for file in ("include/ratoon/version.h", "lib/libratoon_agent.a", "lib/cmake/ratoon/ratoonConfig.cmake"):
            self.assertTrue((tree / file).exists(), file)
        self.assertFalse((tree / "bin").exists(), "programs are in the other package")

    def test_the_program_package_depends_on_what_the_loader_needs(self):
        if not is_on("RATOON_WITH_HTTP"):
            self.skipTest("programs need RATOON_WITH_HTTP")
        self.assertRegex(self.field("ratoon", "Depends"), r"libc6 .*libyaml-cpp0\.7")
        program = self.unpack("ratoon") / "bin" / "ratoon"
        self.assertIn("run", run(program, "--help").stdout)
        self.assertIn("status", run(program.with_name("kubectl-ratoon"), "--help").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
