"""scripts/setup and the servers that Go builds: pinned, built once, and left out where there is no Go."""
import os
import re
import shutil
import unittest

from fake_machine import REPOSITORY, FakeMachine, assert_sentence

SETUP = ("scripts/setup", "--only", "test", "--without-packages")
PINS = os.path.join(REPOSITORY, "scripts/packages/servers")
# Go as setup calls it: it makes the programs that the folder's row of the table names.
GO = """
if [[ $* == "env GOVERSION" ]]; then echo {version}; exit; fi
if [[ $1 == env ]]; then echo {root}/go; exit; fi
while [[ $1 != -o ]]; do shift; done
if [[ $2 != */ ]]; then echo program >"$2"; chmod +x "$2"; exit; fi
for name in $(awk -F'[|]' '$1 ~ /^kubernetes/ {{ print $3 }}' {pins}/servers.txt); do
  echo program >"$2$name"; chmod +x "$2$name"
done
"""


def rows():
    with open(os.path.join(PINS, "servers.txt")) as file:
        return [[field.strip() for field in line.split("|")] for line in file if not line.startswith("#")]


class Pins(unittest.TestCase):
    def test_each_server_has_a_module_that_pins_it_with_hashes(self):
        for name, module, *_ in rows():
            with open(os.path.join(PINS, name, "go.mod")) as file:
                required = re.search(rf"^(?:require )?\s*{re.escape(module)} (v\S+)(?: // indirect)?$", file.read(), re.M)
            self.assertIsNotNone(required, f"{name}/go.mod does not require {module}")
            with open(os.path.join(PINS, name, "go.sum")) as file:
                self.assertIn(f"{module} {required.group(1)} h1:", file.read())


class SetupServers(unittest.TestCase):
    def setUp(self):
        self.machine = FakeMachine(self)
        self.machine.with_packages()

    def with_go(self, version="go1.26.0"):
        self.machine.fake("go", GO.format(version=version, root=self.machine.root, pins=PINS))

    def builds(self):
        return [call for call in self.machine.calls("go") if call.startswith("build")]

    def test_without_go_it_says_so_and_succeeds(self):
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("tests that need real servers will be skipped", result.stdout)

    def test_an_old_go_is_no_go(self):
        self.with_go("go1.24.9")
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("tests that need real servers will be skipped", result.stdout)
        self.assertEqual(self.builds(), [])

    def test_builds_each_once_that_ci_uses(self):
        self.with_go()
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        built = [row for row in rows() if row[4:] != ["nightly"]]
        self.assertLess(len(built), len(rows()))
        self.assertEqual(len(self.builds()), len(built))
        for name, _, programs, *_ in built:
            folder = next(f for f in os.listdir(self.machine.cache) if f.startswith(f"servers-{name}-v"))
            made = sorted(os.listdir(os.path.join(self.machine.cache, folder, "bin")))
            self.assertEqual(made, sorted(programs.split()))
        self.assertEqual(self.machine.leftovers(), [])
        again = self.machine.run(*SETUP)
        self.assertEqual(again.stdout.count("... present"), len(built) + 2, "servers and packages")
        self.assertEqual(len(self.builds()), len(built))

    def test_those_of_nightly_tests_need_a_newer_go(self):
        self.with_go("go1.25.9")
        self.machine.run(*SETUP, "--with-nightly")
        of_ci = len(self.builds())
        self.with_go()
        result = self.machine.run(*SETUP, "--with-nightly")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"karpenter v\S+ \.\.\. built")
        self.assertEqual((of_ci, len(self.builds())), (len([row for row in rows() if len(row) == 4]), len(rows())))

    def test_versions_reach_the_linker(self):
        self.with_go()
        self.machine.run(*SETUP)
        kubernetes = self.builds()[0]
        self.assertRegex(kubernetes, r"-X k8s.io/component-base/version.gitVersion=v1\.\d+\.\d+ ")
        self.assertRegex(kubernetes, r"version.gitMajor=1 .*version.gitMinor=\d+ ")
        self.assertFalse(re.search(r"[{}]", "".join(self.builds())))

    def test_a_build_that_fails_leaves_nothing(self):
        self.machine.fake("go", 'if [[ $* == "env GOVERSION" ]]; then echo go1.26.0; exit; fi\n'
                          f'if [[ $1 == env ]]; then echo {self.machine.root}/go; exit; fi\n'
                          'echo "tools.go:1: undefined: x"; exit 1')
        result = self.machine.run(*SETUP)
        assert_sentence(self, result, "kubernetes v1.", "kubernetes.log")
        self.assertIn("undefined: x", result.stderr)
        self.assertFalse([name for name in os.listdir(self.machine.cache) if name.startswith("servers-")])
        self.with_go()
        self.assertEqual(self.machine.run(*SETUP).returncode, 0)
        self.assertEqual(self.machine.leftovers(), [])

    def test_no_network(self):
        """The machine's real Go, an empty module cache, and a proxy at a port of this machine where nobody listens."""
        if shutil.which("go") is None:
            self.skipTest("there is no Go on this machine")
        self.machine.use_real("go")
        modules = os.path.join(self.machine.root, "modules")
        environment = {"GOPROXY": "http://127.0.0.1:9", "GOMODCACHE": modules, "GOCACHE": modules + "-built"}
        assert_sentence(self, self.machine.run(*SETUP, **environment), "kubernetes", "no network")

    def test_full_disk_is_seen_before_go_starts(self):
        self.with_go()
        self.machine.fake("df", "echo header; echo /dev/x 100 90 10 90% /")
        assert_sentence(self, self.machine.run(*SETUP), "kubernetes: needs 7000 MB free")
        self.assertEqual(self.builds(), [])


if __name__ == "__main__":
    unittest.main()
