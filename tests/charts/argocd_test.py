"""docs/operate/argocd.yaml: the health that Argo CD shows of a job, as Lua says it from statuses that the operator writes."""

import json
import pathlib
import tempfile
import unittest

import programs
from chart import render
from programs import run

PAGE = programs.ROOT / "docs/operate/argocd.yaml"
KEY = "resource.customizations.health.ratoon.dev_TrainingJob"
INVALID = {"type": "InvalidSpec", "status": "True", "message": "no claim"}
SEEN = {"observedGeneration": 3, "message": "why"}
# (what it is, its status, Argo CD's word, the message)
CASES = [
    ("no operator has seen it", None, "Progressing", "The operator has not seen this version of the job yet"),
    ("an older version", {"phase": "Failed", "observedGeneration": 2}, "Progressing",
     "The operator has not seen this version of the job yet"),
    ("it cannot be read", {"conditions": [INVALID]}, "Degraded", "no claim"),
    ("it cannot work", {"phase": "Pending", **SEEN, "conditions": [INVALID]}, "Degraded", "no claim"),
    ("it was mended", {"phase": "Running", **SEEN, "conditions": [{**INVALID, "status": "False"}]}, "Healthy", "why"),
    ("another condition", {"phase": "Pending", **SEEN, "conditions": [{**INVALID, "type": "Scheduled"}]}, "Progressing", "why"),
    ("a phase of tomorrow", {"phase": "Migrating", **SEEN}, "Unknown", "why"),
    *((phase, {"phase": phase, **SEEN}, word, "why") for phase, word in (
        ("Pending", "Progressing"), ("Running", "Healthy"), ("Recovering", "Progressing"), ("Suspended", "Suspended"),
        ("Succeeded", "Healthy"), ("Failed", "Degraded"))),
]


def to_lua(value):
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"[{json.dumps(name)}] = {to_lua(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "{%s}" % ", ".join(map(to_lua, value))
    return json.dumps(value)


class ArgoCd(unittest.TestCase):
    def setUp(self):
        self.config, self.application = programs.read_yaml(PAGE.read_text())

    def health(self, script, job):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "health.lua")
            program.write_text(f"obj = {to_lua(job)}\nlocal function look()\n{script}\nend\nlocal found = look()\n"
                               'io.write(found.status, "\\n", found.message)')
            done = run("lua5.1", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return tuple(done.stdout.split("\n"))

    def test_the_health_of_jobs(self):
        for title, status, word, message in CASES:
            with self.subTest(title):
                job = {"metadata": {"generation": 3}, **({} if status is None else {"status": status})}
                self.assertEqual(self.health(self.config["data"][KEY], job), (word, message))

    def test_each_phase_has_a_health(self):
        (definition,) = programs.read_yaml(programs.CRD.read_text())
        phases = programs.job_schema(definition)["properties"]["status"]["properties"]["phase"]["enum"]
        self.assertLessEqual(set(phases), {title for title, *_ in CASES})

    def test_the_application_renders(self):
        source = self.application["spec"]["source"]
        self.assertEqual(programs.ROOT / source["path"], programs.CHART)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
            json.dump(source["helm"]["valuesObject"], values)
            values.flush()
            done = render(f"--values={values.name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"YOUR-REGISTRY/ratoon-operator:dev"', done.stdout)


if __name__ == "__main__":
    programs.main("helm", "kubectl", "lua5.1")
