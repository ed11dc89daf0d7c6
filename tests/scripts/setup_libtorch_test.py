"""scripts/setup and LibTorch's wheels: whole or not at all, only pinned bytes, and one sentence where there are none."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import zipfile

from fake_machine import REPOSITORY, FakeMachine, assert_sentence

SETUP = ("scripts/setup", "--only", "build", "--without-packages")
WHEELS = {
    "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl": ["torch/lib/libtorch_cpu.so", "torch/include/torch/torch.h"],
    "nvidia_nccl_cu13-2.28.9-py3-none-manylinux_2_18_x86_64.whl": ["nvidia/nccl/include/nccl.h"],
    "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl": ["nvidia/cu13/lib/a.so"],
    "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl": ["nvidia/cu13/lib/b.so"],
}
# The machine's Python, but for pip, which copies wheels made here, and for a kill in the middle of an unpacking.
PYTHON = """
if [[ $* == "-m pip --version" ]]; then exit 0; fi
if [[ $* == *"pip download"* ]]; then
  while [[ $1 != --dest ]]; do shift; done
  cp {wheels}/*.whl "$2"
  exit
fi
if [[ $* == "-m zipfile -e "* && -e {root}/kill-me ]]; then
  rm {root}/kill-me
  mkdir -p "$5/torch/lib" && echo half >"$5/torch/lib/libtorch_cpu.so"
  kill -9 $PPID
  exit
fi
exec {python} "$@"
"""


class SetupLibTorch(unittest.TestCase):
    def setUp(self):
        self.machine = FakeMachine(self)
        self.wheels = os.path.join(self.machine.root, "wheels")
        os.mkdir(self.wheels)
        for wheel, files in WHEELS.items():
            with zipfile.ZipFile(os.path.join(self.wheels, wheel), "w") as archive:
                for name in files:
                    archive.writestr(name, "whole")
        self.folder = os.path.join(self.machine.cache, "libtorch-2.11.0")
        self.machine.use_real("cp") if shutil.which("cp") else None

    def with_fake_pip(self):
        self.machine.fake("python3", PYTHON.format(
            wheels=self.wheels, root=self.machine.root, python=os.path.realpath(os.sys.executable)))

    def read_library(self):
        with open(os.path.join(self.folder, "torch/lib/libtorch_cpu.so")) as file:
            return file.read()

    def test_unpacks_once(self):
        self.with_fake_pip()
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("setup: [1/1] LibTorch 2.11.0 ... installed in", result.stdout)
        self.assertEqual(self.read_library(), "whole")
        self.assertTrue(os.path.isdir(os.path.join(self.folder, "nvidia/nccl")))
        self.assertEqual(self.machine.leftovers(), [])
        downloads = len([call for call in self.machine.calls("python3") if "download" in call])
        again = self.machine.run(*SETUP)
        self.assertIn("LibTorch 2.11.0 ... present", again.stdout)
        self.assertEqual(len([c for c in self.machine.calls("python3") if "download" in c]), downloads)

    def test_pip_is_asked_for_pinned_hashes_only(self):
        self.with_fake_pip()
        self.machine.run(*SETUP)
        download = next(call for call in self.machine.calls("python3") if "download" in call)
        for word in ("--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version 3.11"):
            self.assertIn(word, download)

    def test_killed_in_mid_unpacking_then_run_again(self):
        self.with_fake_pip()
        self.machine.write("kill-me", "")
        killed = self.machine.run(*SETUP)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertFalse(os.path.exists(self.folder))
        self.assertNotEqual(self.machine.leftovers(), [])
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read_library(), "whole")
        self.assertEqual(self.machine.leftovers(), [])

    def test_a_folder_of_another_pin_is_replaced(self):
        self.with_fake_pip()
        self.machine.write("cache/ratoon/libtorch-2.11.0/.ratoon-complete", "another pin")
        self.machine.write("cache/ratoon/libtorch-2.11.0/torch/lib/libtorch_cpu.so", "old")
        self.assertEqual(self.machine.run(*SETUP).returncode, 0)
        self.assertEqual(self.read_library(), "whole")
        self.assertEqual(self.machine.leftovers(), [])

    def test_wheels_that_do_not_match_the_hashes(self):
        """The machine's real pip, which finds our wheels under the pinned names."""
        result = self.machine.run(*SETUP, PIP_NO_INDEX="1", PIP_FIND_LINKS=self.wheels, PIP_CONFIG_FILE="/dev/null")
        assert_sentence(self, result, "LibTorch 2.11.0", "not what scripts/packages pins")
        self.assertFalse(os.path.exists(self.folder))

    def test_no_network(self):
        """The machine's real pip, and an index at a port of this machine where nobody listens."""
        result = self.machine.run(
            *SETUP, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1", PIP_CONFIG_FILE="/dev/null")
        assert_sentence(self, result, "LibTorch 2.11.0", "no network")
        self.assertFalse(os.path.exists(self.folder))

    def test_own_libtorch_is_used(self):
        root = self.machine.root
        for own in ("own", "wheels/torch"):
            config = os.path.dirname(self.machine.write(f"{own}/share/cmake/Torch/TorchConfig.cmake", ""))
            self.machine.write(f"{own}/lib/libtorch_cpu.so", "")
            named = os.path.join(root, own.removesuffix("/torch"))  # the folder around torch/ and nvidia/
            for environment in ({"CMAKE_PREFIX_PATH": f"/nowhere:{root}/{own}"}, {"CMAKE_PREFIX_PATH": named},
                                {"Torch_DIR": config}):
                result = self.machine.run(*SETUP, **environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"using yours at {named};", result.stdout)
                self.assertEqual(self.root_of_builds(**environment), named)
                self.assertEqual(self.root_of_builds(**environment, RATOON_LIBTORCH_ROOT="/other"), "/other")
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(self.root_of_builds(CMAKE_PREFIX_PATH="/nowhere"), self.folder)

    def root_of_builds(self, **environment):
        """The LibTorch of the scripts that build."""
        shown = self.machine.write("show", f"source {REPOSITORY}/scripts/lib/env.sh && echo $RATOON_LIBTORCH_ROOT")
        return subprocess.run(["bash", shown], env={**self.machine.environment, **environment}, check=True,
                              capture_output=True, text=True).stdout.strip()

    def test_a_root_that_names_no_libtorch(self):
        assert_sentence(self, self.machine.run(*SETUP, RATOON_LIBTORCH_ROOT="/nowhere"), "RATOON_LIBTORCH_ROOT names /nowhere",
                        "libtorch_cpu.so")
        self.machine.write("own/share/cmake/Torch/TorchConfig.cmake", "")
        own = os.path.join(self.machine.root, "own")
        assert_sentence(self, self.machine.run(*SETUP, CMAKE_PREFIX_PATH=own), f"CMAKE_PREFIX_PATH names {own}",
                        "libtorch_cpu.so")

    def test_another_architecture(self):
        self.machine.fake("uname", "echo aarch64")
        assert_sentence(self, self.machine.run(*SETUP), "this machine is aarch64", "--without-libtorch")

    def test_disk_too_small(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a tmpfs needs root")
        disk = tempfile.mkdtemp(prefix="ratoon-small-disk-")
        self.addCleanup(os.rmdir, disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("this machine mounts no tmpfs")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        result = self.machine.run(*SETUP, XDG_CACHE_HOME=disk)
        assert_sentence(self, result, "LibTorch: needs 3000 MB free", "has 1 MB")

    def test_disk_that_fills_up_meanwhile(self):
        self.with_fake_pip()
        self.machine.fake("cp", "echo \"OSError: [Errno 28] No space left on device\" >&2; exit 1")
        assert_sentence(self, self.machine.run(*SETUP), "the disk is full")
        self.assertFalse(os.path.exists(self.folder))

    def test_a_second_setup_waits_for_the_first(self):
        self.with_fake_pip()
        os.makedirs(self.machine.cache)
        waits = os.path.join(self.machine.root, "waits")
        self.machine.fake("flock", f'[[ $1 == --nonblock ]] || touch {waits}\nexec {shutil.which("flock")} "$@"')
        holder = subprocess.Popen(["flock", f"{self.machine.cache}/.setup.lock", "sh", "-c",
                                   f"echo held; until [ -e {waits} ]; do sleep 0.01; done"], stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdout.close)
        holder.stdout.readline()
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("another setup works in", result.stdout)


if __name__ == "__main__":
    unittest.main()
