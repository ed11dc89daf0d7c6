"""Every command explains itself, refuses what it does not know, and passes the shell's linter; nightly and bench."""
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

from fake_machine import REPOSITORY, FakeMachine
from tiny_repository import TinyRepository

COMMANDS = ("setup", "quickstart", "test", "nightly", "repeat", "bench")
REFUSED = {
    "setup": (["--only", "all"], ["--only"], ["--fast"]),
    "quickstart": (["now"], ["--programs"], ["--folder", ""]),
    "test": (["--lane", "slow"], ["--lane"], ["-j", "0"], ["-j"], ["all"]),
    "nightly": ([], ["0"], ["ten"], ["5", "5"]),
    "repeat": ([], ["--times", "0", "a"], ["--times", "a"], ["--load"], ["--often", "a"]),
    "bench": (["--all"],),
}


# Says 3 us, then 6, then 9.
PEER = """
import json, os, sys
calls = __file__ + ".calls"
open(calls, "a").write("x")
with open(sys.argv[1], "w") as out:
    json.dump({"benchmarks": [{"name": "peer hash", "real_time": 3 * os.path.getsize(calls), "cpu_time": 1, "time_unit": "us"}]},
              out)
assert sys.argv[2] == "1"
"""


class Commands(unittest.TestCase):
    def setUp(self):
        self.machine = FakeMachine(self)

    def test_help(self):
        for command in COMMANDS:
            result = self.machine.run(f"scripts/{command}", "--help")
            self.assertEqual(result.returncode, 0, command)
            self.assertTrue(result.stdout.startswith(f"scripts/{command}"), result.stdout)
            self.assertGreater(len(result.stdout.splitlines()), 3)
        self.assertFalse(os.path.exists(self.machine.cache))

    def test_what_they_refuse(self):
        for command, lists in REFUSED.items():
            for arguments in lists:
                result = self.machine.run(f"scripts/{command}", *arguments)
                self.assertEqual(result.returncode, 2, f"{command} {arguments}: {result.stdout}{result.stderr}")
                self.assertIn("--help", result.stderr)
                self.assertEqual(result.stdout, "")

    def test_no_home_for_the_cache(self):
        del self.machine.environment["HOME"], self.machine.environment["XDG_CACHE_HOME"]
        result = self.machine.run("scripts/setup")
        self.assertEqual(result.returncode, 1)
        self.assertIn("neither XDG_CACHE_HOME nor HOME", result.stderr)

    def test_shellcheck(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("there is no shellcheck on this machine")
        scripts = [f"scripts/{command}" for command in COMMANDS] + [".ci/run"]
        checked = subprocess.run(["shellcheck", "--check-sourced", "--external-sources", *scripts],
                                 cwd=REPOSITORY, capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


class Bench(unittest.TestCase):
    def setUp(self):
        self.repository = TinyRepository(self)
        self.repository.add_benchmark("hash")
        self.repository.add_benchmark("codec")

    def results(self):
        return sorted(glob.glob(os.path.join(self.repository.path, "build/bench/*.json")))

    def test_table_and_raw_figures(self):
        result = self.repository.run("scripts/bench")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([result.stdout.count(f"{name}/4096") for name in ("hash", "codec")], [1, 1])
        self.assertIn("1.5 us", result.stdout)
        self.assertIn("2.5 GB/s", result.stdout)
        self.assertIn("250 k/s", result.stdout)
        self.assertEqual(len(self.results()), 2)
        with open(self.results()[0]) as file:
            self.assertIn("benchmarks", json.load(file))

    def test_one_by_name(self):
        result = self.repository.run("scripts/bench", "hash")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(self.results()[0].endswith("-hash.json"))
        self.assertEqual(len(self.results()), 1)

    def test_ratios_are_in_the_json_and_below_the_table(self):
        self.repository.write("tests/bench/ratios.txt", "# row | field | limit\n"
                              "hash/4* | real_time | 3e-6\nhash/4* | bytes_per_second | 5e9\n"
                              "hash/kept | kept_bytes | kept_bytes_limit\nhash/kept | real_time | peer codec real_time\n"
                              "hash/kept | writes | 0\nhash/kept | kept_bytes | 0\n")
        result = self.repository.run("scripts/bench", "hash")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.results()[0]) as file:
            rows = {row["name"]: row for row in json.load(file)["benchmarks"]}
        self.assertEqual(rows["hash/4096"]["ratios"], [{"field": "real_time", "of": "limit 3e-6", "ratio": 2.0},
                                                        {"field": "bytes_per_second", "of": "limit 5e9", "ratio": 0.5}])
        self.assertEqual(rows["hash/kept"]["ratios"], [{"field": "kept_bytes", "of": "kept_bytes_limit", "ratio": 4.0},
                                                      {"field": "writes", "of": "limit 0", "ratio": 1.0},
                                                      {"field": "kept_bytes", "of": "limit 0", "ratio": 0.0}])
        self.assertRegex(result.stdout, r"hash/4096 +real_time +2 x +limit 3e-6")
        self.assertIn("kept_bytes 256, kept_bytes_limit 1024", result.stdout, "counters are shown")

    def add_peer(self, text):
        requirements = self.repository.write("tests/bench/peers/requirements.txt", "")
        self.repository.write("tests/bench/peers/peer_hash.py", text)
        script = f'. scripts/lib/cache.sh; pin=$(checksum_of {requirements}); echo "$pin"'
        pin = subprocess.run(["bash", "-c", script], cwd=self.repository.path, capture_output=True, text=True).stdout.strip()
        peers = os.path.join(self.repository.root, "cache/ratoon", f"peers-{pin}")
        os.makedirs(os.path.join(peers, "bin"))
        os.symlink(shutil.which("python3"), os.path.join(peers, "bin/python3"))
        with open(os.path.join(peers, ".ratoon-complete"), "w") as file:
            file.write(pin + "\n")

    def test_peers_by_turns_with_medians(self):
        self.add_peer(PEER)
        self.repository.write("tests/bench/ratios.txt", "hash/4* | real_time | peer hash real_time\n")
        result = self.repository.run("scripts/bench", "--peers")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual([os.path.basename(path).split("-", 3)[3] for path in self.results()],
                         ["codec.json", "hash.json", "peer_hash.json"])
        with open(self.results()[2]) as file:
            [row] = json.load(file)["benchmarks"]
        self.assertEqual((row["real_time"], row["rounds"]), (6, 3), "3, 6 and 9 in three processes")
        self.assertRegex(result.stdout, r"hash/4096 +real_time +4 x +peer hash")

    def test_a_peer_that_is_named_as_the_benchmark_is(self):
        self.add_peer(PEER.replace("peer hash", "hash/4096"))
        result = self.repository.run("scripts/bench", "--peers", "hash")
        self.assertEqual(result.returncode, 1)
        self.assertIn("both have a row 'hash/4096'", result.stderr)

    def test_an_unknown_name(self):
        result = self.repository.run("scripts/bench", "nothing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no benchmark matches 'bench_nothing'", result.stderr)

    def test_peers_without_requirements(self):
        result = self.repository.run("scripts/bench", "--peers", "hash")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there are no peers to run", result.stderr)


class Quickstart(unittest.TestCase):
    """tests/torch/quickstart_test.py has the demonstration itself."""

    def setUp(self):
        self.repository = TinyRepository(self)
        self.repository.write("scripts/lib/demo.py", "import sys\nprint('demo', *sys.argv[1:])\n")

    def test_it_sets_up_and_builds_what_it_shows(self):
        text = self.repository.read("CMakeLists.txt")
        for name in ("ratoon", "digits"):  # a program that does nothing
            text += f"add_custom_target({name} COMMAND install -D /bin/true ${{PROJECT_BINARY_DIR}}/bin/{name})\n"
        self.repository.write("CMakeLists.txt", text)
        result = self.repository.run("scripts/quickstart", "--folder", "runs")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(self.repository.setup_calls(), ["--only build"])
        self.assertTrue(result.stdout.endswith(f"demo {self.repository.path}/build/release/bin runs\n"), result.stdout)

    def test_with_programs_it_neither_sets_up_nor_builds(self):
        result = self.repository.run("scripts/quickstart", "--programs", "nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no program 'ratoon' in nowhere. Next: scripts/quickstart", result.stderr)
        for name in ("ratoon", "digits"):
            self.repository.write(f"there/{name}", "", executable=True)
        there = os.path.join(self.repository.path, "there")
        result = self.repository.run("scripts/quickstart", "--programs", there)
        self.assertEqual(result.stdout, f"demo {there} {self.repository.path}/ratoon-runs/quickstart\n", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.repository.path, "build")))


class Nightly(unittest.TestCase):
    """A quarter of a minute for each part is too long for a test, so seconds are minutes here."""

    def setUp(self):
        self.repository = TinyRepository(self)
        text = self.repository.read("scripts/nightly").replace("$(($1 * 60))", "$(($1 * 1))")
        self.repository.write("scripts/nightly", text, executable=True)
        # Each test gets the seconds of its part, and a busy machine may need more for a test that does nothing.
        text = self.repository.read("scripts/lib/long_runs.sh")
        self.assertEqual(text.count('--timeout "$seconds"'), 1)
        self.repository.write("scripts/lib/long_runs.sh", text.replace('--timeout "$seconds"', "--timeout 600"))
        presets = self.repository.read("CMakePresets.json").replace("clang++-19", "c++")
        self.repository.write("CMakePresets.json", presets)
        self.target = self.repository.add_fuzz_target("codec")

    def test_green(self):
        result = self.repository.run("scripts/nightly", "4")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("nightly.zeta", result.stdout)
        self.assertEqual(self.repository.setup_calls(), ["--with-nightly"])
        self.assertRegex(result.stdout, r"round 1: RC_PARAMS='seed=\d+ max_success=1000'")
        self.assertRegex(result.stdout, r"fuzz_codec: \d+ s, seed \d+")
        with open(self.target + ".calls") as file:
            self.assertRegex(file.read(), r"-max_total_time=3 -seed=\d+ -timeout=60 -rss_limit_mb=2048 -artifact_prefix")

    def test_a_fuzz_target_is_given_its_dictionary(self):
        self.repository.write("tests/fuzz/dictionaries/codec.dict", '"word"')
        result = self.repository.run("scripts/nightly", "4")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        with open(self.target + ".calls") as file:
            self.assertIn(" -dict=tests/fuzz/dictionaries/codec.dict ", file.read())

    def test_a_figure_below_its_least_ratio_is_red(self):
        self.repository.add_benchmark("hash")
        for least, code in ((2, 0), (3, 1)):
            self.repository.write("tests/bench/ratios.txt", f"hash/4* | real_time | 3e-6 | {least}\n")
            result = self.repository.run("scripts/nightly", "4")
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn("hash/4096: real_time is 2 times as good as limit 3e-6, and 3 is the least", result.stderr)
        self.assertIn("scripts/bench --enforce", result.stderr)

    def test_unit_tests_run_as_optimized_code(self):
        text = self.repository.read("CMakeLists.txt")
        added = 'tiny_test(unit.mu "unit" false)\n  tiny_test(unit.nu "unit;nightly" true)'
        self.repository.write("CMakeLists.txt", f'{text}if(CMAKE_BUILD_TYPE STREQUAL "Release")\n  {added}\nendif()\n')
        result = self.repository.run("scripts/nightly", "4")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr,
                         r"1 red; to replay:\n .*ctest --test-dir build/release .*-R '\^\(unit\\.mu\)\$'")
        self.assertEqual(result.stdout.count(": unit.nu "), 1, "with those labelled nightly alone")

    def test_a_skipped_test_is_red(self):
        text = self.repository.read("CMakeLists.txt")
        self.repository.write("CMakeLists.txt", text.replace("tiny_test(nightly.zeta",
                              'tiny_test(nightly.iota "nightly" sh -c "echo SKIPPED: no peers here && exit 77")\n'
                              'tiny_test(nightly.zeta'))
        result = self.repository.run("scripts/nightly", "4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nightly.iota was skipped: no peers here", result.stderr)

    def test_less_than_the_table_asks_for_is_red(self):
        text = self.repository.read("CMakeLists.txt")
        self.repository.write("CMakeLists.txt", text.replace("tiny_test(nightly.zeta",
                              'tiny_test(nightly.kappa "nightly" sh -c '
                              '"echo ..1000 kills && echo \'test_a (b.A) ... 999 kills\'")\n'
                              'tiny_test(nightly.zeta'))
        for least, code in (("999", 0), ("1000 999", 0), ("999 1000", 1), ("999 999 0", 1), ("1000", 1)):
            self.repository.write("tests/nightly_counts.txt", f"# table\nnightly.kappa | {least} | kills\n")
            result = self.repository.run("scripts/nightly", "4")
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            self.assertIn("nightly.kappa: 1000 kills, 999 kills\n", result.stdout)
        self.assertIn("nightly.kappa has to do 1000 kills or more", result.stderr)
        self.repository.write("tests/nightly_counts.txt", "nightly.lambda | 1 | trials\n")
        self.assertIn("nightly.lambda did not run", self.repository.run("scripts/nightly", "4").stderr)

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.repository.path, check=True,
                              capture_output=True, text=True).stdout.strip()

    def test_how_each_part_ended_is_noted_with_its_commit(self):
        parts = ("nightly.zeta", "nightly.eta", "unit tests, optimized", "property tests", "fuzz targets")
        row = "| `{}` | not run | `0123456` | 2026-01-01 |\n"
        self.repository.write("docs/nightly.md", "# Night\n\n| part |\n|---|\n" + "".join(map(row.format, parts)))
        self.repository.write(".gitignore", "build/\nnightly-is-red\nproperty-is-red\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "all")
        self.repository.write("nightly-is-red", "")
        self.assertEqual(self.repository.run("scripts/nightly", "4").returncode, 1)
        commit, page = self.git("rev-parse", "--short=12", "HEAD"), self.repository.read("docs/nightly.md")
        for part, result in (("nightly.zeta", "red"), ("unit tests, optimized", "green"), ("property tests", "green"),
                             ("fuzz targets", "green")):
            self.assertRegex(page, rf"\| `{part}` \| {result} \| `{commit}` \| \d{{4}}-\d\d-\d\d \|\n")
        self.assertIn(row.format("nightly.eta"), page, "which was not run")
        os.unlink(os.path.join(self.repository.path, "nightly-is-red"))
        self.assertEqual(self.repository.run("scripts/nightly", "--only", "eta", "1").returncode, 0)
        again = self.repository.read("docs/nightly.md")
        # Midnight may have passed.
        self.assertEqual(re.sub(r"\d{4}-\d\d-\d\d", "DAY", again),
                         re.sub(r"\d{4}-\d\d-\d\d", "DAY", page.replace("`nightly.zeta` | red", "`nightly.zeta` | green")))
        self.repository.write("scripts/nightly-is-changed", "")
        self.repository.write("property-is-red", "")
        self.assertIn("docs/nightly.md is left as it is", self.repository.run("scripts/nightly", "4").stdout)
        self.assertEqual(self.repository.read("docs/nightly.md"), again)

    def test_some_of_the_tests_alone(self):
        result = self.repository.run("scripts/nightly", "--only", "zeta", "4")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("nightly.zeta", result.stdout)
        self.assertNotIn("RC_PARAMS", result.stdout)
        self.assertFalse(os.path.exists(self.target + ".calls"))

    def test_one_other_part_alone(self):
        result = self.repository.run("scripts/nightly", "--part", "property", "1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("RC_PARAMS", result.stdout)
        self.assertNotIn("nightly.zeta", result.stdout)
        self.assertFalse(os.path.exists(self.target + ".calls"))
        result = self.repository.run("scripts/nightly", "--part", "fuzz", "1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(os.path.exists(self.target + ".calls"))
        self.assertNotIn("RC_PARAMS", result.stdout)
        self.assertIn("--part takes each-file, optimized, property, fuzz, bench, or one benchmark as bench-hash",
                      self.repository.run("scripts/nightly", "--part", "tests", "1").stderr)

    def test_red_prints_what_replays_it_and_goes_on(self):
        self.repository.write("property-is-red", "")
        self.repository.write("nightly-is-red", "")
        self.repository.write("build/fuzz/bin/fuzz_codec.red", "")
        result = self.repository.run("scripts/nightly", "4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("3 red; to replay:", result.stderr)
        ctest = "ctest --test-dir build/release --output-on-failure -R"
        self.assertRegex(result.stderr, rf"env RATOON_NIGHTLY_MINUTES=1 RATOON_FIRST_SEED=\d+ {ctest} '\^\(nightly\\.zeta\)\$'")
        self.assertRegex(result.stderr, r"RC_PARAMS=seed=\d+\\ max_success=1000 .*" + ctest + r" '\^\(property")
        replay = next(line for line in result.stderr.splitlines() if "RC_PARAMS" in line)
        replayed = subprocess.run(["bash", "-c", replay], cwd=self.repository.path, capture_output=True, text=True)
        self.assertIn("0% tests passed, 1 tests failed out of 1", replayed.stdout)
        self.assertIn("build/fuzz/bin/fuzz_codec build/fuzz/findings/fuzz_codec-crash-1", result.stderr)


if __name__ == "__main__":
    unittest.main()
