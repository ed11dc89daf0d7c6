"""A second clone at another path is compiled from ccache alone, precompiled header included."""
import os
import shutil
import subprocess
import tempfile
import unittest

from fake_machine import REPOSITORY

FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(clone LANGUAGES CXX)
set(CMAKE_CXX_COMPILER_LAUNCHER ccache)
add_library(with_header STATIC src/a.cpp src/b.cpp)
target_precompile_headers(with_header PRIVATE src/header.h)
add_library(plain STATIC src/c.cpp)
target_include_directories(plain PRIVATE ${PROJECT_SOURCE_DIR})
""",
    "src/header.h": "#pragma once\n#include <cstddef>\n",
    "src/a.cpp": "std::size_t a() { return sizeof(std::size_t); }\n",
    "src/b.cpp": "const char* b() { return __FILE__; }\n",
    "src/c.cpp": '#include "src/header.h"\nstd::size_t c() { return 1; }\n',
}
BUILD = """
source scripts/lib/env.sh
export CCACHE_DIR={cache}
ccache --zero-stats >/dev/null
cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER_WORKS=1 >/dev/null && cmake --build build >/dev/null &&
  ccache --print-stats
"""


class Ccache(unittest.TestCase):
    def setUp(self):
        for tool in ("ccache", "cmake", "ninja", "c++"):
            if shutil.which(tool) is None:
                self.skipTest(f"there is no {tool} on this machine")
        self.root = tempfile.mkdtemp(prefix="ratoon-ccache-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def build_clone(self, place):
        clone = os.path.join(self.root, place, "ratoon")
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(clone, name)), exist_ok=True)
            with open(os.path.join(clone, name), "w") as file:
                file.write(text)
        for folder in ("lib", "packages"):
            shutil.copytree(os.path.join(REPOSITORY, "scripts", folder), os.path.join(clone, "scripts", folder))
        script = BUILD.format(cache=os.path.join(self.root, "ccache"))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CCACHE_")}
        done = subprocess.run(["bash", "-c", script], cwd=clone, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        figures = dict(line.split("\t") for line in done.stdout.splitlines())
        hits = int(figures["direct_cache_hit"]) + int(figures["preprocessed_cache_hit"])
        return hits, int(figures["cache_miss"])

    def test_the_second_clone_hits(self):
        self.assertEqual(self.build_clone("one"), (0, 4))
        self.assertEqual(self.build_clone("another/place"), (4, 0))


if __name__ == "__main__":
    unittest.main()
