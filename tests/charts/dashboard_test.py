"""The dashboards: every expression parses, gives a value for the metrics that operator and agents export, and every panel
says what it shows and in which unit."""

import json
import pathlib
import re
import tempfile
import unittest

import programs
from programs import run

DASHBOARDS = programs.CHART / "dashboards"
RULES = programs.CHART / "files" / "rules.yaml"
NAMES = programs.ROOT / "base" / "contract" / "names.h"
VARIABLES = {"$namespace": "trees", "$job": "digits", "$operators": "ratoon-system", "$__rate_interval": "1m",
             "$__range": "1h", "$__range_s": "3600", "$__interval": "15s"}
METRIC = re.compile(r"[a-z]+:ratoon_\w+:\w+|\b(?:ratoon|process)_\w+")
PHASES = ("detect", "decide", "place", "start", "rendezvous", "load", "first_step")
JOB = 'training_namespace="trees",training_job="digits"'
LOST_AT = "5m15s"  # the 21st sample is the first after a recovery

# A run of two members of which one was lost; a sample each 15 s.
OF_OPERATOR = {
    f'ratoon_job_phase{{{JOB},phase="Running"}}': "1+0x20 1+0x20",
    f'ratoon_job_phase{{{JOB},phase="Recovering"}}': "0+0x20 0+0x20",
    f"ratoon_job_attempt{{{JOB}}}": "1+0x20 2+0x20",
    f"ratoon_job_step{{{JOB}}}": "0+10x40",
    f"ratoon_job_world_size{{{JOB}}}": "2+0x40",
    f"ratoon_job_durable_step{{{JOB}}}": "0+9x40",
    f'ratoon_restarts_total{{{JOB},cause="disruption"}}': "0+0x20 1+0x20",
    f'ratoon_job_ledger_seconds_total{{{JOB},part="useful"}}': "0+12x40",
    f'ratoon_job_ledger_seconds_total{{{JOB},part="restarting"}}': "0+3x40",
    **{f'ratoon_recovery_seconds_{kind}{{{JOB},phase="{phase}"}}': f"0+0x20 {value}+0x20"
       for phase, seconds in [*((phase, "0.5") for phase in PHASES), ("total", "3.5")]
       for kind, value in (("sum", seconds), ("count", "1"))},
    **{f'{metric}{{instance="10.0.0.5:9402"{more}}}': values for metric, more, values in [
        ("ratoon_api_calls_total", ',verb="patch",resource="pods",code="200"', "0+3x40"),
        ("ratoon_api_calls_total", ',verb="create",resource="pods",code="409"', "0+1x40"),
        ("ratoon_api_seconds_bucket", ',verb="patch",le="0.01"', "0+3x40"),
        ("ratoon_api_seconds_bucket", ',verb="patch",le="+Inf"', "0+3x40"),
        ("ratoon_cache_staleness_seconds", ',resource="pods"', "0+0x40"),
        ("ratoon_cache_staleness_seconds", ',resource="nodes"', "4+0x40"),
        ("ratoon_reconcile_queue_jobs", "", "2+0x40"), ("ratoon_reconcile_queue_wait_seconds", "", "0.25+0x40"),
        ("ratoon_messages_total", "", "0+30x40"), ("ratoon_long_polls", "", "2+0x40"),
        ("ratoon_leading", "", "1+0x40"),
        ("process_resident_memory_bytes", "", "1000+0x40"), ("process_cpu_seconds_total", "", "0+3x40")]},
    **{f'ratoon_recovery_seconds_bucket{{{JOB},phase="total",le="{le}"}}': f"0+0x20 {count}+0x20"
       for le, count in (("3", 0), ("4", 1), ("+Inf", 1))},
    **{f'ratoon_reconcile_seconds_bucket{{le="{le}"}}': "0+3x40" for le in ("0.01", "+Inf")},
    **{f'ratoon_notice_to_action_seconds_bucket{{le="{le}"}}': f"0+{count}x40"
       for le, count in (("0.05", 0), ("0.1", 2), ("+Inf", 2))},
    "ratoon_reconcile_retries_total": "0+6x40",
    f'ratoon_job_problem{{{JOB},reason="Unschedulable"}}': "1+0x40",
}
OF_MEMBERS = {
    **{f'{metric}{{{JOB},training_role="worker",index="{index}",local_rank="0"{more}}}': values
       for index in (0, 1)
       for metric, more, values in [
           ("ratoon_attempt", "", "1+0x20 2+0x20"),
           ("ratoon_step_seconds_count", "", "0+10x40"), ("ratoon_replayed_steps_total", "", "0+1x40"),
           ("ratoon_save_stall_seconds_total", "", "0+0.3x40"),
           ("ratoon_step_seconds_bucket", ',le="1"', "0+5x40"), ("ratoon_step_seconds_bucket", ',le="2"', "0+10x40"),
           ("ratoon_step_seconds_bucket", ',le="+Inf"', "0+10x40")]},
}


def seen_in(namespace, series):
    """With the label that Prometheus gives to all series of an operator: its namespace."""
    name, _, labels = series.partition("{")
    return f'{name}{{namespace="{namespace}",{labels or "}"}'.replace(",}", "}")


# Another installation has a job of its own, and another program memory.
SERIES = {**OF_MEMBERS, **{seen_in("ratoon-system", series): values for series, values in OF_OPERATOR.items()},
          **{seen_in("elsewhere", series.replace("trees", "meadow").replace("10.0.0.5", "10.0.0.6")): values
             for series, values in OF_OPERATOR.items()},
          'process_resident_memory_bytes{instance="of-another"}': "9000+0x40"}
# What some of them must give then: (panel, legend) to (labels, value).
JOB_VALUES = {
    ("Phase", "{{phase}}"): ('{phase="Running"}', 1),
    ("Attempt", "attempt"): ("{}", 2),
    ("At risk", "steps"): ("{}", 21),
    ("Last recovery", "last recovery"): ("{}", 3.5),
    ("Steps per second", "steps"): ("{}", 10 / 15),
    ("Save stall", "worst process"): ("{}", 0.02),
    ("Step time", "50 %"): ("{}", 1),
    ("Members and world", "members alive"): ("{}", 2),
    ("Members and world", "world size"): ("{}", 2),
    ("Each recovery by phase", "Load"): ("{}", 0.5),
    ("Recovery by phase, mean", "First step"): ("{}", 0.5),
}
FLEET_VALUES = {
    ("Jobs", "jobs"): ("{}", 1),
    ("Processes", "processes"): ("{}", 2),
    ("Goodput", "goodput"): ("{}", 0.8),
    ("Goodput by job", "{{training_namespace}}/{{training_job}}"): (f"{{{JOB}}}", 0.8),
    ("GPU-seconds by what they were spent on", "{{part}}"): ('{part="useful"}', 1.6, '{part="restarting"}', 0.4),
    ("Recovery time", "95 %"): ("{}", 3.95),
    ("Steps at risk by job", "{{training_namespace}}/{{training_job}}"): (f"{{{JOB}}}", 21),
    ("Alerts", "firing"): ("{}", 0),
    ("Jobs held up, by reason", "{{reason}}"): ('{reason="Unschedulable"}', 1, '{reason="none"}', 0),
}
OPERATOR_VALUES = {
    ("Jobs", "jobs"): ("{}", 1),
    ("Recovering", "recovering"): ("{}", 0),
    ("Copies behind", "copies behind"): ("{}", 4),
    ("Jobs that wait", "jobs that wait"): ("{}", 2),
    ("Recovery, 95 %", "recovery, 95 %"): ("{}", 3.95),
    ("Longest wait for a look", "longest wait"): ("{}", 0.25),
    ("Members' messages", "messages a second"): ("{}", 2),
    ("Notice to action", "50 %"): ("{}", 0.075),
    ("Looks that are made again", "looks a second"): ("{}", 0.4),
    ("Members' messages", "polls that wait"): ("{}", 2),
    ("Leader", "{{instance}}"): ('{instance="10.0.0.5:9402"}', 1),
    ("Memory", "{{instance}}"): ('{instance="10.0.0.5:9402"}', 1000),
    ("Processor", "{{instance}}"): ('{instance="10.0.0.5:9402"}', 0.2),
}


def expressions(dashboard):
    """(panel, legend, expression with its variables filled in)"""
    found = [(panel["title"], target["legendFormat"], target["expr"]) for panel in dashboard["panels"]
             for target in panel["targets"]]
    found += [(note["name"], "", note["expr"]) for note in dashboard["annotations"]["list"]]
    for panel, legend, expression in found:
        for variable in sorted(VARIABLES, key=len, reverse=True):
            expression = expression.replace(variable, VARIABLES[variable])
        yield panel, legend, expression


def promtool(what, document):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "test.yml"
        file.write_text(json.dumps(document))  # JSON is YAML
        return run("promtool", *what, file)


class Dashboard:
    """What holds for each."""

    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads((DASHBOARDS / cls.FILE).read_text())
        cls.expressions = list(expressions(cls.dashboard))

    def test_every_expression_parses(self):
        def check(texts):
            return promtool(("check", "rules"), {"groups": [{"name": "panels", "rules": [
                {"record": f"panel:{number}", "expr": text} for number, text in enumerate(texts)]}]})

        texts = [text for _, _, text in self.expressions]
        self.assertEqual([text for text in texts if "$" in text], [], "a variable that this test does not fill in")
        done = check(texts)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotEqual(check(texts + ["rate(ratoon_step)"]).returncode, 0)

    def evaluate(self, tests):
        return promtool(("test", "rules"), {"rule_files": [str(RULES)], "evaluation_interval": "15s", "tests": [{
            "interval": "15s", "promql_expr_test": tests,
            "input_series": [{"series": series, "values": values} for series, values in SERIES.items()]}]})

    def test_every_expression_gives_a_value(self):
        done = self.evaluate([{"expr": f"absent({text})", "eval_time": LOST_AT, "exp_samples": []}
                              for panel, _, text in self.expressions])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotEqual(self.evaluate([{"expr": "absent(ratoon_no_such_metric)", "eval_time": LOST_AT,
                                            "exp_samples": []}]).returncode, 0)

    def test_values(self):
        left, tests = dict(self.VALUES), []
        for panel, legend, text in self.expressions:
            if (panel, legend) in left:
                expected = left.pop((panel, legend))
                # A thousandth is near enough: rates are extrapolated.
                tests.append({"expr": f"round(({text}) * 1000)", "eval_time": LOST_AT, "exp_samples": [
                    {"labels": labels, "value": round(value * 1000)} for labels, value in zip(expected[::2], expected[1::2])]})
        self.assertEqual(left, {})
        done = self.evaluate(tests)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_metric_is_one_of_ours(self):
        known = set(re.findall(r'"((?:ratoon|process)_\w+)"', NAMES.read_text()))
        known |= set(re.findall(r"record: (\S+)", RULES.read_text()))
        for _, _, text in self.expressions:
            for name in METRIC.findall(text):
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name), known, text)

    def test_a_provisioned_board_is_not_edited_in_place_and_leads_to_the_others(self):
        self.assertIs(self.dashboard["editable"], False)
        (link,) = self.dashboard["links"]
        self.assertEqual((link["type"], link["tags"], link["includeVars"]), ("dashboards", self.dashboard["tags"], True))

    def test_panels_are_told_apart_and_explained(self):
        panels, places = self.dashboard["panels"], {}
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        self.assertEqual(len({panel["title"] for panel in panels}), len(panels))
        for panel in panels:
            with self.subTest(panel["title"]):
                self.assertTrue(panel["description"].endswith("."))
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                references = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(set(references)), len(references))
                for target in panel["targets"]:
                    for metric in METRIC.finditer(target["expr"]):
                        self.assertTrue(target["expr"][metric.end():].startswith(f"{{{self.SELECTOR}"), target["expr"])
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
                    self.assertNotIn(cell, places, f"it lies on {places.get(cell)}")
                    places[cell] = panel["title"]

    def test_variables(self):
        self.assertEqual(tuple(each["name"] for each in self.dashboard["templating"]["list"]), self.VARIABLES)


class JobDashboard(Dashboard, unittest.TestCase):
    FILE, VALUES, VARIABLES = "job.json", JOB_VALUES, ("datasource", "namespace", "job")
    SELECTOR = 'training_namespace="$namespace",training_job="$job"'

    def test_phases_of_a_recovery_come_in_their_order(self):
        for panel in self.dashboard["panels"]:
            if "by phase" in panel["title"]:
                phases = [re.search(r'phase="(\w+)"', target["expr"])[1] for target in panel["targets"]]
                self.assertEqual(phases, list(PHASES), panel["title"])


class OperatorDashboard(Dashboard, unittest.TestCase):
    FILE, VALUES, VARIABLES = "operator.json", OPERATOR_VALUES, ("datasource", "operators")
    SELECTOR = 'namespace=~"$operators"'

    def test_without_a_label_for_the_namespace_all_operators_are_shown(self):
        (variable,) = self.dashboard["templating"]["list"][1:]
        self.assertEqual((variable["includeAll"], variable["multi"], variable["allValue"]), (True, True, ".*"))


class FleetDashboard(Dashboard, unittest.TestCase):
    FILE, VALUES, VARIABLES = "fleet.json", FLEET_VALUES, ("datasource", "namespace", "job")
    SELECTOR = 'training_namespace=~"$namespace",training_job=~"$job"'

    def test_variables_take_all(self):
        for variable in self.dashboard["templating"]["list"][1:]:
            self.assertEqual((variable["includeAll"], variable["multi"], variable["allValue"]), (True, True, ".+"))


class Dashboards(unittest.TestCase):
    def test_each_is_in_the_chart_and_in_this_test(self):
        files = {file.name for file in DASHBOARDS.iterdir()}
        self.assertEqual(files, {board.FILE for board in (JobDashboard, OperatorDashboard, FleetDashboard)})
        done = run("helm", "template", "ratoon", programs.CHART, "--kube-version=1.35.0",
                   "--show-only=templates/dashboards.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        (made,) = programs.read_yaml(done.stdout)
        self.assertEqual({name: json.loads(text) for name, text in made["data"].items()},
                         {f"ratoon-{file}": json.loads((DASHBOARDS / file).read_text()) for file in files})

    def test_one_name_one_board(self):
        boards = [json.loads(file.read_text()) for file in DASHBOARDS.iterdir()]
        for field in ("uid", "title"):
            self.assertEqual(len({board[field] for board in boards}), len(boards))


if __name__ == "__main__":
    programs.main("promtool", "helm", "kubectl")
