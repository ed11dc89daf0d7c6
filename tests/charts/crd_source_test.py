"""The CRD against operator/api/training_job.cpp: the API server drops fields that the schema lacks without a word, and a
bound that is wider than the decoder's admits jobs that the operator then refuses."""

import re
import unittest

import programs

API = programs.ROOT / "operator" / "api"
SOURCES = [API / "world.h", API / "status_fields.h",  # bounds are in the first two
           *sorted(API.glob("training_job*.*")), API / "status_account.cpp"]

# Where the argument of each function stands in the schema.
FUNCTIONS = {
    "read_spec": "spec", "read_checkpoint_policy": "spec.checkpointPolicy",
    "read_load_parts": "spec.checkpointPolicy", "read_keep_last": "spec.checkpointPolicy",
    "read_s3": "spec.checkpointPolicy.s3", "read_data_policy": "spec.dataPolicy", "read_topology": "spec.topology",
    "read_disruption_policy": "spec.disruptionPolicy", "read_restart_policy": "spec.restartPolicy",
    "read_rule": "spec.restartPolicy.rules[]", "read_member": "status.members[]",
    "read_local_ranks": "status.members[]", "encode_local_ranks": "status.members[]",
    "read_trained_members": "status", "encode_trained_members": "status",
    "read_success_policy": "spec.successPolicy", "read_failure_policy": "spec.failurePolicy",
    "read_clean_pod_policy": "spec", "read_api_failure": "status.lastFailure", "read_condition": "status.conditions[]",
    "encode_failure": "status.lastFailure", "encode_condition": "status.conditions[]",
    "read_elastic": "spec.elasticPolicy", "read_role": "spec.roles[]", "read_agent": "spec.roles[]",
    "read_container": "spec.roles[].template.spec.containers[]",
    "read_limits": "spec.roles[].template.spec.containers[]",
    "read_status": "status", "read_checkpoint": "status.lastCheckpoint", "read_disruption": "status.lastDisruption",
    "read_phases": "status.lastDisruption.phases", "read_time_ledger": "status.ledger",
    "read_restarts": "status.restarts",
    "read_open_recovery": "status.openRecovery", "encode_open_recovery": "status.openRecovery",
    "read_capacity_wait": "status.capacityWait", "encode_capacity_wait": "status.capacityWait",
    "encode_status": "status", "encode_member": "status.members[]", "encode_disruption": "status.lastDisruption",
    "read_outlook": "status.progress", "encode_progress": "status.progress",
    "encode_phases": "status.lastDisruption.phases", "encode_time_ledger": "status.ledger",
}
# They take the name or the place from their caller.
HELPERS = {"read_name", "read_count", "read_string_list", "read_numbers", "read_time"}

_FUNCTION = re.compile(r"^[\w:<>]+ (\w+)\(([^)]*)\) \{$(.*?)^\}$", re.M | re.S)
_CHAIN = r'(\w+)((?:\.object\("\w+"\))*)'
_EVENT = re.compile(
    rf'Fields (?P<var>\w+) = {_CHAIN}(?=;)'
    r'|Fields (?P<child>\w+) = \w+\.child\((?P<item>\w+),'
    rf'|for \(const auto& (?P<each>\w+) : {_CHAIN}\.list\("(?P<list>\w+)", (?P<items>[^)]+)\)'
    rf'|{_CHAIN}\.(?P<call>(?:optional_)?text|whole|optional_whole_number|seconds|flag|object|list|find)'
    r'\(\s*"(?P<name>\w+)"'
    r'(?:, (?P<max>[^()]+))?\)'
    r'|read_(?P<helper>count|string_list|numbers|time)\((?P<of>\w+), "(?P<field>\w+)"(?:, (?P<bounds>[^)]+))?\)')


def constants(text):
    values = {}
    for name, expression in re.findall(r"constexpr std::\w+ (k\w+) =\s+([^;\"{]+);", text):
        values[name] = number(expression, values)
    return values


def number(expression, known):
    plain = re.sub(r"(?<=\d)'(?=\d)", "", expression.strip())
    return eval(re.sub(r"(?<=[0-9a-f])U?LL\b|(?<=[0-9a-f])U\b", "", plain), {"__builtins__": {}}, known)


def at(schema, path):
    """The schema's node at a path, or None."""
    for word in path.split("."):
        schema = schema.get("properties", {}).get(word.removesuffix("[]"))
        if schema is not None and word.endswith("[]"):
            schema = schema.get("items")
        if schema is None:
            return None
    return schema


def names_below(schema):
    for name, child in schema.get("properties", {}).items():
        yield name
        yield from names_below(child)
    if "items" in schema:
        yield from names_below(schema["items"])


class Reader:
    """Follows one read_ function line by line and compares each field that it asks for with the schema."""

    def __init__(self, schema, known, function, parameters, body):
        self.schema, self.known, self.function = schema, known, function
        self.paths = {parameters.split(",")[0].split()[-1].lstrip("&"): FUNCTIONS[function]}
        self.body, self.seen = body, set()

    def complaints(self):
        for found in _EVENT.finditer(self.body):
            yield from self._handle({key: value for key, value in found.groupdict().items() if value}, found)

    def _handle(self, event, found):
        variable, chain = next(((found[n], found[n + 1]) for n in (2, 7, 11) if found[n]), ("", ""))
        path = ".".join([self.paths.get(variable, "?")] + re.findall(r'"(\w+)"', chain or ""))
        self.seen.update(re.findall(r'"(\w+)"', found[0]))
        if "var" in event:
            self.paths[event["var"]] = path
        elif "child" in event:
            self.paths[event["child"]] = self.paths.get(event["item"], FUNCTIONS[self.function] + ".containers[]")
        elif "each" in event:
            self.paths[event["each"]] = f"{path}.{event['list']}[]"
            yield from self._compare(f"{path}.{event['list']}", "maxItems", event["items"])
        elif "call" in event:
            bound = {"text": "maxLength", "optional_text": "maxLength", "whole": "maximum",
                     "optional_whole_number": "maximum", "list": "maxItems"}
            yield from self._compare(f"{path}.{event['name']}", bound.get(event["call"]), event.get("max"))
        else:
            yield from self._helper(f"{self.paths.get(event['of'], '?')}.{event['field']}", event)

    def _helper(self, path, event):
        bounds = [number(text, self.known) for text in re.sub(r", &?\w+\.?[\w.]*$", "", event["bounds"]).split(",")] \
            if event["helper"] in ("string_list", "numbers") else \
            [number(text, self.known) for text in event.get("bounds", "").split(",") if text]
        node = at(self.schema, path)
        if node is None:
            yield f"{path}: {self.function} reads it and the schema does not have it"
        elif event["helper"] == "time" and node.get("format") != "date-time":
            yield f"{path}: {self.function} reads a time and the schema has none"
        elif event["helper"] == "string_list" and [node["maxItems"], node["items"]["maxLength"]] != bounds:
            yield f"{path}: the schema's bounds are not those of {self.function}, {bounds}"
        elif event["helper"] == "numbers" and [node["maxItems"], node["items"]["maximum"]] != bounds:
            yield f"{path}: the schema's bounds are not those of {self.function}, {bounds}"
        elif event["helper"] == "count":
            if [node.get("minimum"), node.get("maximum")] != bounds[:2]:
                yield f"{path}: the schema's bounds are not those of {self.function}, {bounds[:2]}"
            if node.get("default", bounds[2]) != bounds[2]:
                yield f"{path}: the schema's default is not {self.function}'s, {bounds[2]}"

    def _compare(self, path, bound, text):
        node = at(self.schema, path)
        if node is None:
            yield f"{path}: {self.function} reads it and the schema does not have it"
        elif bound and text and not node.get(bound, node.get("format") == "date-time") and "enum" not in node:
            yield f"{path}: the schema has no {bound}"
        elif bound and text and node.get(bound, 0) > number(text, self.known):
            yield f"{path}: the schema admits {bound} {node[bound]}, {self.function} only {text}"


def complaints(schema, text):
    known, used, functions = constants(text), set(), set()
    for function, parameters, body in _FUNCTION.findall(text):
        if function.startswith(("read_", "encode_")) and function not in FUNCTIONS.keys() | HELPERS | {"encode_training_job"}:
            yield f"{function}: not in the table of this test: say there which part of the schema it is about"
        if function not in FUNCTIONS:
            continue
        functions.add(function)
        if function.startswith("read_"):
            reader = Reader(schema, known, function, parameters, body)
            yield from reader.complaints()
            used |= reader.seen
        else:
            written = set(re.findall(r'\{"(\w+)",|out\["(\w+)"\]', body))
            written = {name for pair in written for name in pair if name}
            for name in sorted(written - set(names_below(at(schema, FUNCTIONS[function])))):
                yield f"{FUNCTIONS[function]}: {function} writes {name} and the schema does not have it"
            used |= written
    for function in sorted(FUNCTIONS.keys() - functions):
        yield f"{function}: in the table of this test and not in the source"
    used |= {"name"}
    own = {"properties": {part: schema["properties"][part] for part in ("spec", "status")}}
    template = set(names_below(at(schema, "spec.roles[].template")))
    for name in sorted(set(names_below(own)) - template - used - {"spec", "status"}):
        yield f"{name}: in the schema, and no program reads or writes it"


class CrdAgainstSource(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = "\n".join(path.read_text() for path in SOURCES)
        (cls.crd,) = programs.read_yaml(programs.CRD.read_text())

    def schema(self):
        (crd,) = programs.read_yaml(programs.CRD.read_text())
        return programs.job_schema(crd)

    def test_they_agree(self):
        self.assertEqual(list(complaints(self.schema(), self.text)), [])

    def test_a_difference_is_found(self):
        status = self.schema()
        del status["properties"]["status"]["properties"]["members"]["items"]["properties"]["incarnation"]
        found = list(complaints(status, self.text))
        self.assertIn("status.members[].incarnation: read_member reads it and the schema does not have it", found)
        self.assertIn("status.members[]: encode_member writes incarnation and the schema does not have it", found)

        spec = self.schema()
        policies = spec["properties"]["spec"]["properties"]
        policies["checkpointPolicy"]["properties"]["intervalSteps"]["minimum"] = 2
        policies["restartPolicy"]["properties"]["maxRestarts"]["default"] = 11
        policies["roles"]["maxItems"] = 9
        policies["nonsense"] = {"type": "string"}
        found = "\n".join(complaints(spec, self.text))
        for part in ("intervalSteps: the schema's bounds", "maxRestarts: the schema's default", "roles: the schema admits",
                     "nonsense: in the schema"):
            self.assertIn(part, found)

    def test_every_list_text_and_number_is_bounded_and_every_field_described(self):
        def walk(node, path):
            kind = node.get("type")
            if not path.endswith("[]") and "additionalProperties" not in path:
                self.assertTrue(node.get("description"), f"{path} has no description")
            if kind == "array":
                self.assertIn("maxItems", node, path)
                walk(node["items"], path + "[]")
            elif kind == "string":
                self.assertTrue("maxLength" in node or "enum" in node, f"{path} is not bounded")
            elif kind == "integer" and path.startswith(".spec"):
                self.assertTrue("maximum" in node and "minimum" in node, f"{path} is not bounded")
            for name, child in node.get("properties", {}).items():
                walk(child, f"{path}.{name}")

        schema = self.schema()
        for part in ("spec", "status"):
            walk(schema["properties"][part], f".{part}")

    def test_a_duration_is_what_the_agent_takes(self):
        source = (programs.ROOT / "tests" / "unit" / "operator" / "api" / "training_amount_test.cpp").read_text()
        patterns = re.findall(r"matches\('([^']*)'\)", self.schema()["properties"]["spec"]["properties"]["maxDuration"][
            "x-kubernetes-validations"][0]["rule"])
        for name, expected in (("kTrainingAmountFormat", True), ("kNone", False)):
            texts = re.findall(r'"([^"]*)"', re.search(rf"{name}\[\] = \{{(.*?)\}};", source, re.S)[1])
            self.assertGreater(len(texts), 15)
            for text in texts:
                self.assertEqual(all(re.search(pattern, text) for pattern in patterns), expected, text)

    def test_a_variable_that_would_be_dropped_is_refused(self):
        source = (programs.ROOT / "operator" / "kube" / "pods" / "member_container.cpp").read_text()
        names = dict(re.findall(r'constexpr const char\* (k\w+) = "(\w+)";',
                                (programs.ROOT / "base" / "contract" / "names.h").read_text()))
        set_by_the_operator = set()
        for function in ("identity_variables", "agent_variables", "group_variables"):
            body = re.search(rf"^json {function}\(.*?^}}$", source, re.M | re.S)[0]
            set_by_the_operator |= {names[name] for name in re.findall(r"env::(k\w+)", body)}
        self.assertGreater(len(set_by_the_operator), 15)
        (refused,) = re.findall(r"!\(self in \[([^]]*RATOON_JOB_UID[^]]*)\]", re.sub(r"\s+", " ", programs.CRD.read_text()))
        self.assertEqual(set(re.findall(r"'(\w+)'", refused)), set_by_the_operator)

    def test_the_chart_brings_the_same_definition(self):
        copy = programs.CHART / "files" / "trainingjob.yaml"
        self.assertEqual(copy.read_text(), programs.CRD.read_text(),
                         f"they differ; cp {programs.CRD.relative_to(programs.ROOT)} {copy.relative_to(programs.ROOT)}")


if __name__ == "__main__":
    programs.main("kubectl")
