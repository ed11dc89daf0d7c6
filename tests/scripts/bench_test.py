"""scripts/bench holds figures to the least ratios of its table: what falls short, and what is no longer measured, is said."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TABLE = """# row | field | limit or peer | least
step/* | cpu_time | 10e-6 | 1
read/* | items_per_second | peer/read items_per_second | 2
seek | real_time | 1 |
"""


def row(name, **fields):
    return {"name": name, "real_time": 1, "cpu_time": 1, "time_unit": "us", **fields}


class Ratios(unittest.TestCase):
    def enforce(self, rows, option="--enforce=all"):
        """The exit code, what was said, and the rows with their ratios."""
        with tempfile.TemporaryDirectory() as folder:
            table, result = pathlib.Path(folder) / "ratios.txt", pathlib.Path(folder) / "result.json"
            table.write_text(TABLE)
            result.write_text(json.dumps({"benchmarks": rows}))
            run = subprocess.run([sys.executable, REPOSITORY / "scripts/lib/bench_ratios.py", *([option] if option else []),
                                  table, result], text=True, capture_output=True, check=False)
            return run.returncode, run.stderr, json.loads(result.read_text())["benchmarks"]

    def test_figures_that_reach_their_least_ratio_are_green(self):
        code, said, rows = self.enforce([row("step/2", cpu_time=9), row("read/1", items_per_second=20),
                                         row("peer/read", items_per_second=10)])
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(rows[1]["ratios"], [{"field": "items_per_second", "of": "peer/read", "ratio": 2.0, "least": 2.0}])

    def test_a_time_above_its_limit_is_red(self):
        code, said, _ = self.enforce([row("step/2", cpu_time=11), row("read/1", items_per_second=20),
                                      row("peer/read", items_per_second=10)])
        self.assertEqual(code, 1)
        self.assertIn("step/2: cpu_time is 0.909 times as good as limit 10e-6, and 1 is the least", said)

    def test_a_peer_that_came_closer_than_the_least_ratio_is_red(self):
        code, said, _ = self.enforce([row("step/2"), row("read/1", items_per_second=19), row("peer/read", items_per_second=10)])
        self.assertEqual(code, 1)
        self.assertIn("read/1: items_per_second is 1.9 times", said)

    def test_a_line_that_compared_nothing_is_red_only_where_everything_was_to_be_measured(self):
        rows = [row("step/2"), row("read/1", items_per_second=19)]
        code, said, _ = self.enforce(rows)
        self.assertEqual(code, 1)
        self.assertIn("read/*: items_per_second was not compared with peer/read items_per_second", said)
        self.assertEqual(self.enforce(rows, "--enforce=measured")[0], 0)

    def test_a_line_without_a_least_ratio_is_reported_and_holds_nothing(self):
        code, _, rows = self.enforce([row("step/2"), row("read/1", items_per_second=20), row("peer/read", items_per_second=10),
                                      row("seek", real_time=5e6)])
        self.assertEqual(code, 0)
        self.assertEqual(rows[-1]["ratios"], [{"field": "real_time", "of": "limit 1", "ratio": 0.2}])

    def test_without_the_option_nothing_is_red(self):
        self.assertEqual(self.enforce([row("step/2", cpu_time=11)], None)[:2], (0, ""))

    def test_the_table_of_the_repository_can_be_read(self):
        sys.path.insert(0, str(REPOSITORY / "scripts/lib"))
        import bench_ratios
        lines = bench_ratios.table_of(REPOSITORY / "tests/bench/ratios.txt")
        self.assertGreater(sum(least is not None for *_, least in lines), 40)


if __name__ == "__main__":
    unittest.main()
