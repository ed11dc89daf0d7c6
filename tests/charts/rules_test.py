"""The recording rules and alerts, by promtool: each alert fires at its series and stays silent at ones that come close, says
what it should, has a section in the docs; each record gives a series. One ordinary loss has nothing fire."""

import json
import pathlib
import re
import tempfile
import unittest

import programs
from alert_cases import BETWEEN_SAMPLES, CASES, HEALTHY, ONE_LOSS

RULES = programs.CHART / "files" / "rules.yaml"
DOC = programs.ROOT / "docs" / "operate" / "alerts.md"
NAMES = programs.ROOT / "base" / "contract" / "names.h"
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'


def read_groups():
    text = "".join(f"  {line}" for line in RULES.read_text().splitlines(keepends=True))
    (document,) = programs.read_yaml(f"apiVersion: v1\nkind: Rules\nmetadata: {{name: rules}}\nspec:\n{text}")
    return document["spec"]["groups"]


def series(changes):
    """As promtool takes them; what is None is not there."""
    values = {**HEALTHY, **changes}
    return [{"series": name, "values": text} for name, text in values.items() if text is not None]


def expect_firing(at, *names):
    return {"expr": FIRING, "eval_time": at,
            "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]}


def promtool(tests):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "test.json"
        file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
        return programs.run("promtool", "test", "rules", file)


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.groups = read_groups()
        rules = [rule for group in cls.groups for rule in group["rules"]]
        cls.alerts = {rule["alert"]: rule for rule in rules if "alert" in rule}
        cls.records = [rule["record"] for rule in rules if "record" in rule]

    def expect(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def told(self, case):
        """The alert as Prometheus would send it."""
        rule = self.alerts[case.alert]

        def filled(text):
            return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: case.labels[found[1]], text)

        return {"exp_labels": {**rule["labels"], **case.labels},
                "exp_annotations": {name: filled(text) for name, text in rule["annotations"].items()}}

    def test_they_are_rules(self):
        self.expect(programs.run("promtool", "check", "rules", RULES))

    def test_each_alert_fires_and_nothing_else_does(self):
        self.assertEqual({case.alert for case in CASES}, self.alerts.keys())
        self.expect(promtool([{
            "name": case.alert, "interval": "1m", "input_series": series(case.fires),
            "alert_rule_test": [{"eval_time": case.before, "alertname": case.alert, "exp_alerts": []},
                                {"eval_time": case.at, "alertname": case.alert, "exp_alerts": [self.told(case)]}],
            "promql_expr_test": [expect_firing(case.before), expect_firing(case.at, case.alert)]} for case in CASES]))

    def test_close_by_nothing_fires(self):
        self.expect(promtool([{
            "name": case.alert, "interval": "1m", "input_series": series(case.silent),
            "promql_expr_test": [expect_firing(at) for at in case.silent_at]} for case in CASES]))

    def test_close_by_nothing_fires_between_the_times_of_samples(self):
        self.expect(promtool([{
            "name": alert, "interval": "7s",
            "input_series": [{"series": name, "values": values} for name, values in changes.items()],
            "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": []} for at in silent_at]}
            for alert, (changes, silent_at) in BETWEEN_SAMPLES.items()]))

    def test_a_job_that_loses_one_member_and_comes_back_has_nothing_fire(self):
        minutes = [expect_firing(f"{minute}m") for minute in (10, *range(58, 95), 120, 200)]
        for changes in ({}, ONE_LOSS):
            self.expect(promtool([{"interval": "1m", "input_series": series(changes), "promql_expr_test": minutes}]))

    def test_an_alert_of_a_failed_job_ends_by_itself(self):
        (case,) = [case for case in CASES if case.alert == "RatoonJobFailed"]
        self.expect(promtool([{"interval": "1m", "input_series": series(case.fires), "promql_expr_test": [
            expect_firing("118m", case.alert), expect_firing("125m")]}]))

    def test_each_record_gives_a_series(self):
        self.expect(promtool([{"interval": "1m", "input_series": series({}), "promql_expr_test": [
            {"expr": f"absent({name})", "eval_time": "90m", "exp_samples": []} for name in self.records]}]))

    def test_labels_that_name_a_job_are_in_the_records_alone(self):
        for group in self.groups:
            for rule in group["rules"]:
                if group["name"] not in ("ratoon.jobs.records", "ratoon.members.records"):
                    self.assertNotRegex(rule["expr"], r"\bjob\b(?!:)", rule)

    def test_metrics_and_what_is_recorded_are_known(self):
        known = set(re.findall(r'"((?:ratoon|process)_\w+)"', NAMES.read_text()))
        for group in self.groups:
            for rule in group["rules"]:
                for name in re.findall(r"[a-z]+:ratoon_\w+:\w+|\bratoon_\w+", rule["expr"]):
                    self.assertTrue(name in known or name in self.records, name)

    def test_each_alert_has_a_section_that_says_what_to_do(self):
        sections = dict(re.findall(r"^### (\w+)\n\n(.+?)(?=^##|\Z)", DOC.read_text(), re.MULTILINE | re.DOTALL))
        self.assertEqual(list(sections), list(self.alerts), "in the order of the rules")
        for name, rule in self.alerts.items():
            with self.subTest(name):
                self.assertEqual(rule["annotations"].keys(), {"summary", "description", "runbook_url"})
                self.assertEqual(rule["annotations"]["runbook_url"], f"alerts.md#{name.lower()}")
                self.assertRegex(sections[name], rf"\A\({rule['labels']['severity']}\) ")
                for part in ("**Look:**", "**Do:**"):
                    self.assertIn(part, sections[name])

    def test_each_failure_that_the_docs_name_has_an_alert(self):
        rows = re.findall(r"^\| [^|]+ \| \[[^]]+\]\([^)]+\) \| ([^|]+) \|$", DOC.read_text(), re.MULTILINE)
        named = [name for row in rows for name in re.findall(r"Ratoon\w+", row)]
        self.assertGreaterEqual(len(rows), 8)
        self.assertEqual(set(named), self.alerts.keys())

    def test_the_chart_brings_them_as_they_are(self):
        done = programs.run("helm", "template", "ratoon", programs.CHART, "--kube-version=1.35.0", "--set",
                            "prometheusRule.install=true,prometheusRule.runbook=https://example.org/alerts",
                            "--show-only=templates/prometheus_rule.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        (made,) = programs.read_yaml(done.stdout)
        text = json.dumps(self.groups).replace("alerts.md#", "https://example.org/alerts#")
        self.assertEqual(made["spec"]["groups"], json.loads(text))


if __name__ == "__main__":
    programs.main("promtool", "kubectl", "helm")
