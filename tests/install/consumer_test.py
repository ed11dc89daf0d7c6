"""Ratoon as its users get it: built and run through find_package, add_subdirectory, FetchContent and pkg-config."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from installed_tree import (BUILD, CACHE, COMPONENTS, CONSUMER, SOURCE, WITH_CUDA, WITH_MDS, WITH_TORCH, configure,
                            copy_of, install, one_line, run, sanitizer_flags)

SHARDS = SOURCE / "tests" / "unit" / "agent" / "mds" / "golden" / "worked"


def libtorch_prefix():
    """Where the build under test found LibTorch: the folder around libtorch_cpu.so in its link lines."""
    name = "/lib/libtorch_cpu.so"
    words = (BUILD / "build.ninja").read_text().split()
    return next(word for word in words if word.endswith(name))[:-len(name)]


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.tree = install(cls.scratch)

    def build_and_run(self, way, *words):
        # Beside the build under test: from there our sources have the same relative paths, and ccache knows them.
        build = pathlib.Path(tempfile.mkdtemp(dir=BUILD.parent, prefix=f"{BUILD.name}-{way}-"))
        self.addCleanup(shutil.rmtree, build)
        configure(CONSUMER, build, f"-DCONSUMER_WAY={way}", f"-DCONSUMER_COMPONENTS={';'.join(COMPONENTS)}", *words)
        run("cmake", "--build", build, "--target", "consumer", *(["mds_consumer"] if WITH_MDS else []),
            *(["torch_consumer"] if WITH_TORCH else []))
        self.check_programs(build)
        return build

    def check_programs(self, folder):
        self.assertIn("ratoon 0.1.0\n", run(folder / "consumer").stdout)
        loaded = run("ldd", folder / "consumer").stdout
        for library in ("libtorch", "libc10", "libnccl", "libcudart"):  # whole names: addresses hold a "c10" at times
            self.assertNotIn(library, loaded, "a program with ratoon::agent alone has no LibTorch in sight")
        self.assertNotIn("libzstd", loaded, "a program with ratoon::agent alone unpacks no shards")
        if WITH_MDS:
            self.assertIn("3 samples\n", run(folder / "mds_consumer", SHARDS).stdout)
        if WITH_TORCH:
            said = run(folder / "torch_consumer").stdout
            self.assertRegex(said, "digest [0-9a-f]{32}\n")
            if WITH_CUDA and folder.name != "pkg-config":
                self.assertRegex(said, r"nccl 2\.\d+")

    def assert_nothing_leaks(self, build):
        """Our warnings, definitions and folders are ours: a user's files see include folders and C++20 alone."""
        for entry in json.loads((build / "compile_commands.json").read_text()):
            if entry["file"].endswith("/consumer/main.cpp"):
                words = entry["command"].split()
                its_own = ["-DNDEBUG", *CACHE.get("CMAKE_CXX_FLAGS", "").split()]  # of a release build, of whoever builds
                strange = [w for w in words if w.startswith(("-W", "-D", "-f")) and w not in its_own]
                self.assertEqual(strange, [], entry["command"])
                return
        self.fail("main.cpp is not in compile_commands.json")

    def test_find_package(self):
        build = self.build_and_run("installed", f"-DCMAKE_PREFIX_PATH={self.tree}")
        self.assert_nothing_leaks(build)

    def test_add_subdirectory(self):
        build = self.build_and_run("subfolder", f"-DRATOON_SOURCE={SOURCE}")
        self.assert_nothing_leaks(build)

    def test_fetch_content(self):
        self.build_and_run("fetched", f"-DRATOON_SOURCE={SOURCE}")

    def test_pkg_config(self):
        folder = self.scratch / "pkg-config"
        folder.mkdir()
        packages = {"consumer": ("ratoon-agent", "main.cpp")}
        environment = dict(os.environ, PKG_CONFIG_PATH=str(next(self.tree.rglob("pkgconfig"))))
        if WITH_MDS:
            packages["mds_consumer"] = ("ratoon-agent-mds", "mds_main.cpp")
        if WITH_TORCH:
            packages["torch_consumer"] = ("ratoon-agent-torch", "torch_main.cpp")
        for program, (package, source) in packages.items():
            where = [f"--define-variable=libtorch={libtorch_prefix()}"] if program == "torch_consumer" else []
            flags = run("pkg-config", *where, "--cflags", "--libs", package, env=environment).stdout.split()
            run(CACHE["CMAKE_CXX_COMPILER"], "-std=c++20", CONSUMER / source, "-o", folder / program, *flags,
                *sanitizer_flags())
        self.check_programs(folder)

    @unittest.skipUnless(WITH_MDS, "this build has no agent_mds")
    def test_the_example_of_shards_builds_alone(self):
        build = pathlib.Path(tempfile.mkdtemp(dir=BUILD.parent, prefix=f"{BUILD.name}-shards-"))
        self.addCleanup(shutil.rmtree, build)
        configure(SOURCE / "examples" / "shards", build, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        said = run(build / "shards", "--samples", 100, "--epochs", 2, "--pause-ms", 0, cwd=self.scratch).stdout
        self.assertRegex(said, "(?s)made shards-data, .*\ndone: 4 steps, 256 samples, digest [0-9a-f]{16}, model")
        for library in ("libtorch", "libc10"):
            self.assertNotIn(library, run("ldd", build / "shards").stdout)

    def test_the_example_without_libraries_builds_alone(self):
        build = pathlib.Path(tempfile.mkdtemp(dir=BUILD.parent, prefix=f"{BUILD.name}-raw_buffers-"))
        self.addCleanup(shutil.rmtree, build)
        configure(SOURCE / "examples" / "raw_buffers", build, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        alone = ["--save-folder", self.scratch / "raw_buffers", "--run-name", "alone"]
        # In a folder of the test: the plain one writes its table where it runs.
        for said in (run(build / "plain_raw_buffers", "--steps", 3, cwd=self.scratch),
                     run(build / "raw_buffers", "--steps", 3, *alone, cwd=self.scratch)):
            self.assertRegex(said.stdout, "(?s)step 2 loss .*\nweights [0-9a-f]{16}\n")

    @unittest.skipUnless(WITH_TORCH, "this build has no agent_torch")
    def test_the_examples_with_libtorch_build_alone(self):
        for name in ("digits", "charlm"):
            build = pathlib.Path(tempfile.mkdtemp(dir=BUILD.parent, prefix=f"{BUILD.name}-{name}-"))
            self.addCleanup(shutil.rmtree, build)
            configure(SOURCE / "examples" / name, build, f"-DCMAKE_PREFIX_PATH={self.tree}")
            run("cmake", "--build", build)
            words = ["--steps", 3, "--batch", 4]
            alone = ["--save-folder", self.scratch / name, "--run-name", "alone"]
            for said in (run(build / f"plain_{name}", *words), run(build / name, *words, *alone)):
                self.assertRegex(said.stdout, "(?s)step 2 loss .*\nweights [0-9a-f]{16}\n")
            self.assertNotIn("libssl", run("ldd", build / f"plain_{name}").stdout, "the twin has nothing of Ratoon's")

    @unittest.skipUnless(WITH_TORCH, "this build has no agent_torch")
    def test_the_example_that_evaluates_builds_alone(self):
        build = pathlib.Path(tempfile.mkdtemp(dir=BUILD.parent, prefix=f"{BUILD.name}-evaluate-"))
        self.addCleanup(shutil.rmtree, build)
        configure(SOURCE / "examples" / "evaluate", build, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "evaluate", self.scratch / "no-run", check=False).returncode, 82)

    def refusal(self, *words, **more):
        done = configure(CONSUMER, self.scratch / "build-refused", "--fresh", "-DCONSUMER_WAY=installed", *words,
                         check=False, **more)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return one_line(done.stdout)

    def test_a_tree_without_torch_says_so(self):
        tree = copy_of(self.tree, self.scratch / "without-torch")
        for file in tree.rglob("ratoon_agent_torch*_targets*.cmake"):
            file.unlink()
        said = self.refusal(f"-DCMAKE_PREFIX_PATH={tree}", "-DCONSUMER_COMPONENTS=agent_torch")
        self.assertIn(f"The Ratoon in {tree} has no component agent_torch: it was built without it. "
                      "Build Ratoon with -DRATOON_WITH_TORCH=ON", said)

    def test_a_tree_without_mds_says_so(self):
        tree = copy_of(self.tree, self.scratch / "without-mds")
        for file in tree.rglob("ratoon_agent_mds_targets*.cmake"):
            file.unlink()
        said = self.refusal(f"-DCMAKE_PREFIX_PATH={tree}", "-DCONSUMER_COMPONENTS=agent_mds")
        self.assertIn(f"The Ratoon in {tree} has no component agent_mds: it was built without it. "
                      "Build Ratoon with -DRATOON_WITH_MDS=ON", said)

    def test_an_unknown_component_is_named(self):
        said = self.refusal(f"-DCMAKE_PREFIX_PATH={self.tree}", "-DCONSUMER_COMPONENTS=agent_tensorflow")
        self.assertIn("Ratoon has no component agent_tensorflow; it has agent, agent_mds, agent_torch and agent_torch_cuda.",
                      said)

    def test_the_agent_alone_does_not_look_for_libtorch(self):
        for where in ("/nonexistent", CACHE.get("RATOON_LIBTORCH_ROOT", "")):
            configure(CONSUMER, self.scratch / "build-alone", "--fresh", "-DCONSUMER_WAY=installed",
                      "-DCONSUMER_COMPONENTS=", f"-DCMAKE_PREFIX_PATH={self.tree}", f"-DRATOON_LIBTORCH_ROOT={where}")
            self.assertNotIn("torch_consumer", (self.scratch / "build-alone" / "build.ninja").read_text())

    @unittest.skipUnless(WITH_TORCH, "this build has no agent_torch")
    def test_a_user_without_libtorch_is_told_what_to_do(self):
        said = self.refusal(f"-DCMAKE_PREFIX_PATH={self.tree}", "-DCONSUMER_COMPONENTS=agent_torch",
                            "-DRATOON_LIBTORCH_ROOT=/nonexistent")
        self.assertIn("LibTorch was not found: RATOON_LIBTORCH_ROOT names /nonexistent", said)
        self.assertIn("Configure with -DRATOON_LIBTORCH_ROOT=FOLDER", said)
        self.assertNotIn("scripts/setup --only", said, "a user of the installed tree has no scripts/setup")

    def test_another_minor_version_is_another_interface_before_1_0(self):
        listing = self.scratch / "version"
        listing.mkdir()
        (listing / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(version LANGUAGES CXX)\nfind_package(ratoon 0.0 REQUIRED)\n")
        done = configure(listing, listing / "build", f"-DCMAKE_PREFIX_PATH={self.tree}", check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("compatible with requested version", one_line(done.stdout))


if __name__ == "__main__":
    unittest.main(verbosity=2)
