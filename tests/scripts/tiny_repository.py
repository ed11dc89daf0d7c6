"""A repository with the real scripts and presets, and a CMake project of a few tests that take no time."""
import os
import shutil
import subprocess
import tempfile

from fake_machine import REPOSITORY

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
enable_testing()
function(tiny_test name labels)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77)
endfunction()
tiny_test(unit.alpha "unit" true)
tiny_test(unit.beta "unit;threads" true)
tiny_test(property.gamma "property" sh -c "test ! -e ${PROJECT_SOURCE_DIR}/property-is-red")
tiny_test(tidy.delta "tidy" true)
tiny_test(scripts.epsilon "scripts" true)
tiny_test(nightly.zeta "nightly" sh -c "test ! -e ${PROJECT_SOURCE_DIR}/nightly-is-red")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  tiny_test(cluster.eta "cluster" sh -c "echo SKIPPED: no kubelet can run here && exit 77")
endif()
if(RATOON_SANITIZE AND EXISTS ${PROJECT_SOURCE_DIR}/sanitizer-is-red)
  tiny_test(unit.theta "unit" false)
endif()
foreach(label unit property conformance nightly sanitizers threads)
  add_custom_target(tests-${label})
endforeach()
add_custom_target(fuzz-targets)
message(STATUS "werror ${RATOON_WERROR}")
"""
BENCHMARK = """#!/bin/sh
for argument; do case $argument in --benchmark_out=*) out=${argument#*=} ;; esac; done
cat >"$out" <<'END'
{"benchmarks": [{"name": "NAME/4096", "real_time": 1.5, "cpu_time": 1.25, "time_unit": "us",
                 "bytes_per_second": 2.5e9},
                {"name": "NAME/kept", "real_time": 15, "cpu_time": 15, "time_unit": "ms", "items_per_second": 250000,
                 "kept_bytes": 256, "kept_bytes_limit": 1024, "writes": 0}]}
END
"""
FUZZ_TARGET = """#!/bin/sh
echo "$*" >>"$0.calls"
if test -e "$0.red"; then
  for argument; do case $argument in -artifact_prefix=*) echo x >"${argument#*=}crash-1" ;; esac; done
  exit 77
fi
"""


class TinyRepository:
    def __init__(self, test):
        self.root = tempfile.mkdtemp(prefix="ratoon-tiny-")
        test.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.path = os.path.join(self.root, "ratoon")
        for folder in ("scripts", ".ci"):
            shutil.copytree(os.path.join(REPOSITORY, folder), os.path.join(self.path, folder))
        shutil.copy(os.path.join(REPOSITORY, "CMakePresets.json"), self.path)
        self.write("CMakeLists.txt", CMAKE)
        self.write("tests/expected_skips.txt", "lane release | cluster.eta | - | no kubelet can run here\n")
        self.write("scripts/setup", f'#!/bin/sh\necho "$*" >>{self.root}/setup-calls\n', executable=True)

    def write(self, name, text, executable=False):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        if executable:
            os.chmod(path, 0o755)
        return path

    def read(self, name):
        with open(os.path.join(self.path, name)) as file:
            return file.read()

    def setup_calls(self):
        with open(os.path.join(self.root, "setup-calls")) as file:
            return file.read().splitlines()

    def add_benchmark(self, name):
        self.write(f"tests/bench/bench_{name}.cpp", "")
        self.write(f"build/release/bin/bench_{name}", BENCHMARK.replace("NAME", name), executable=True)

    def add_fuzz_target(self, name):
        return self.write(f"build/fuzz/bin/fuzz_{name}", FUZZ_TARGET, executable=True)

    def run(self, script, *arguments, **environment):
        cleared = {key: value for key, value in os.environ.items() if not key.startswith(("RATOON_", "CTEST_"))}
        return subprocess.run(
            [os.path.join(self.path, script), *arguments],
            env={**cleared, "XDG_CACHE_HOME": os.path.join(self.root, "cache"), **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
