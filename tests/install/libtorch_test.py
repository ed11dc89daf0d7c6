"""A wrong LibTorch ends configuring with one sentence and the next command. The wrong ones are made here, of little.

The whole of Ratoon is not configured for each: a project of five lines includes cmake/LibTorch.cmake as ours does."""
import os
import pathlib
import shutil
import tempfile
import unittest

from installed_tree import CACHE, SOURCE, configure, one_line, run

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(wrong_libtorch LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH {source}/cmake)
set(RATOON_WITH_CUDA ${{WITH_CUDA}})
include(LibTorch)
"""
C10 = """#include <string>
namespace c10 {
struct SourceLocation { const char* function; const char* file; unsigned line; };
struct Error { Error(SourceLocation, std::string); };
Error::Error(SourceLocation, std::string) {}
}
"""
NEXT = "Run scripts/setup --only build and configure again, or configure with -DRATOON_LIBTORCH_ROOT=FOLDER"


class WrongLibTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-libtorch-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.project = cls.scratch / "project"
        cls.project.mkdir()
        (cls.project / "CMakeLists.txt").write_text(PROJECT.format(source=SOURCE))
        (cls.scratch / "c10.cpp").write_text(C10)
        cls.libraries = {abi: cls.scratch / f"libc10-abi{abi}.so" for abi in (0, 1)}
        for abi, library in cls.libraries.items():
            run(CACHE["CMAKE_CXX_COMPILER"], "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
                cls.scratch / "c10.cpp", "-o", library)

    def setUp(self):
        self.root = self.scratch / self._testMethodName

    def fake(self, version="2.11.0", abi=1, wheel=True):
        """A folder that looks like LibTorch to all the checks but the one under test."""
        prefix = self.root / "torch" if wheel else self.root
        (prefix / "lib").mkdir(parents=True)
        for name in ("libc10.so", "libtorch_cpu.so"):
            shutil.copy(self.libraries[abi], prefix / "lib" / name)
        headers = prefix / "include" / "torch" / "headeronly"
        headers.mkdir(parents=True)
        numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        (headers / "version.h").write_text("".join(f"#define TORCH_VERSION_{k} {v}\n" for k, v in numbers))
        return prefix

    def configure(self, *words, environment=(), cuda=False):
        clean = {k: v for k, v in os.environ.items() if k not in ("RATOON_LIBTORCH_ROOT", "CMAKE_PREFIX_PATH")}
        clean["XDG_CACHE_HOME"] = "/nonexistent"  # else the real one would save the day
        given = [] if any("RATOON_LIBTORCH_ROOT" in word for word in words) else ["-DRATOON_LIBTORCH_ROOT="]
        done = configure(self.project, self.scratch / "build", "--fresh", f"-DWITH_CUDA={'ON' if cuda else 'OFF'}",
                         *given, *words, env=dict(clean, **dict(environment)), check=False)
        return done.returncode, one_line(done.stdout)

    def refusal(self, *words, **more):
        code, said = self.configure(*(words or [f"-DRATOON_LIBTORCH_ROOT={self.root}"]), **more)
        self.assertNotEqual(code, 0, said)
        self.assertEqual(said.count("CMake Error"), 1, said)
        self.assertIn(NEXT, said)
        return said

    def accept(self, *words, **more):
        code, said = self.configure(*words, **more)
        self.assertEqual(code, 0, said)

    def test_one_that_fits_is_taken_in_both_layouts(self):
        self.fake()
        self.accept(f"-DRATOON_LIBTORCH_ROOT={self.root}")
        self.accept(f"-DRATOON_LIBTORCH_ROOT={self.root}/torch")

    def test_one_is_found_by_each_of_the_ways_to_name_it(self):
        prefix = self.fake()
        config = prefix / "share" / "cmake" / "Torch"
        config.mkdir(parents=True)
        (config / "TorchConfig.cmake").write_text("message(FATAL_ERROR no toolkit)\n")
        self.accept(f"-DTorch_DIR={config}")
        self.accept(f"-DCMAKE_PREFIX_PATH=/nonexistent;{prefix}")
        self.accept(f"-DCMAKE_PREFIX_PATH={self.root}")
        self.accept(environment={"RATOON_LIBTORCH_ROOT": str(self.root)})
        (self.scratch / "cache" / "ratoon").mkdir(parents=True)
        self.root.rename(self.scratch / "cache" / "ratoon" / "libtorch-2.11.0")
        self.accept(environment={"XDG_CACHE_HOME": str(self.scratch / "cache")})

    def test_missing_where_it_was_said_to_be(self):
        self.assertIn(f"LibTorch was not found: RATOON_LIBTORCH_ROOT names {self.root}, where no lib/libtorch_cpu.so is",
                      self.refusal())

    def test_missing_everywhere(self):
        said = self.refusal("-DCMAKE_PREFIX_PATH=/nonexistent", environment={"XDG_CACHE_HOME": str(self.root)})
        self.assertIn(f"scripts/setup would have put it in {self.root}/ratoon/libtorch-2.11.0", said)

    def test_a_wrong_one_that_is_named_is_not_passed_over(self):
        good = self.fake()
        self.assertIn("the environment's RATOON_LIBTORCH_ROOT names /nonexistent",
                      self.refusal(f"-DCMAKE_PREFIX_PATH={good}", environment={"RATOON_LIBTORCH_ROOT": "/nonexistent"}))

    def test_wrong_version(self):
        for version in ("2.10.1", "2.12.0", "1.11.0", "3.0.0"):
            with self.subTest(version=version):
                shutil.rmtree(self.root, ignore_errors=True)
                prefix = self.fake(version)
                self.assertIn(f"The LibTorch in {prefix} is version {version}, and Ratoon needs 2.11", self.refusal())
        self.accept(f"-DRATOON_LIBTORCH_ROOT={self.root}", "-DRATOON_LIBTORCH_ANY_VERSION=ON")

    def test_any_patch_of_the_right_minor_version(self):
        self.fake("2.11.3")
        self.accept(f"-DRATOON_LIBTORCH_ROOT={self.root}")

    def test_without_headers(self):
        prefix = self.fake()
        shutil.rmtree(prefix / "include")
        self.assertIn("is not complete: include/torch has no version.h", self.refusal())

    def test_half_downloaded(self):
        (self.fake() / "lib" / "libc10.so").unlink()
        self.assertIn("is not complete: lib has no libc10.so", self.refusal())

    def test_old_string_abi(self):
        self.fake(abi=0)
        self.assertIn("has the old std::string (_GLIBCXX_USE_CXX11_ABI=0) and this compiler the new one", self.refusal())

    def test_old_string_asked_of_the_compiler(self):
        self.fake()
        said = self.refusal(f"-DRATOON_LIBTORCH_ROOT={self.root}", "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0")
        self.assertIn("take that definition out of CMAKE_CXX_FLAGS", said)

    def test_old_string_on_both_sides_fits(self):
        self.fake(abi=0)
        self.accept(f"-DRATOON_LIBTORCH_ROOT={self.root}", "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0")

    def test_another_processor(self):
        library = self.fake() / "lib" / "libc10.so"
        content = bytearray(library.read_bytes())
        content[18] ^= 0x55  # e_machine
        library.write_bytes(content)
        self.assertIn("is for another processor", self.refusal())

    def test_libtorch_cuda_is_linked_only_where_all_that_it_loads_is_there(self):
        """The wheels of LibTorch alone lack cuBLAS and others: a program linked to libtorch_cuda would not start."""
        lib = self.fake() / "lib"
        compiler = CACHE["CMAKE_CXX_COMPILER"]
        nccl = self.root / "nvidia" / "nccl"
        for folder in ("lib", "include"):
            (nccl / folder).mkdir(parents=True)
        (nccl / "include" / "nccl.h").touch()
        shutil.copy(lib / "libc10.so", nccl / "lib" / "libnccl.so.2")
        run(compiler, "-shared", "-fPIC", self.scratch / "c10.cpp", "-Wl,-soname,libcublas.so.13", "-o", lib / "cublas")
        run(compiler, "-shared", "-fPIC", self.scratch / "c10.cpp", "-Wl,--no-as-needed", lib / "cublas",
            "-Wl,-rpath,$ORIGIN", "-o", lib / "libtorch_cuda.so")
        code, said = self.configure(f"-DRATOON_LIBTORCH_ROOT={self.root}", cuda=True)
        self.assertEqual(code, 0, said)
        self.assertIn("libtorch_cuda is not linked, since 1 of the libraries that it loads are not here "
                      "(libcublas.so.13 is one); NCCL is.", said)
        (lib / "cublas").rename(lib / "libcublas.so.13")
        code, said = self.configure(f"-DRATOON_LIBTORCH_ROOT={self.root}", cuda=True)
        self.assertEqual(code, 0, said)
        self.assertNotIn("is not linked", said)

    def test_cuda_without_nccl(self):
        self.fake()
        said = self.refusal(f"-DRATOON_LIBTORCH_ROOT={self.root}", cuda=True)
        self.assertIn("NCCL (nccl.h and libnccl.so.2) was found neither in nvidia/nccl beside", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
