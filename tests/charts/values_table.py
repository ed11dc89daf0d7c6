"""The chart's values as a table: docs/reference/values.md is written by it, and chart_test holds the two together.

    python3 tests/charts/values_table.py
"""

import json
import sys

import programs
from chart_values import leaves

DOC = programs.ROOT / "docs" / "reference" / "values.md"
HEAD = """# Values of the chart

`tests/charts/values_table.py` makes this page from [values.yaml](../../charts/ratoon/values.yaml) and
[values.schema.json](../../charts/ratoon/values.schema.json), and a test compares them. If you set a value that the
chart does not know, or a value with a wrong type, Helm refuses the installation and names the value.

| value | default | meaning |
|---|---|---|
"""


def read_values():
    text = (programs.CHART / "values.yaml").read_text()
    (values,) = programs.read_yaml(f"{text}\napiVersion: v1\nkind: Values\nmetadata: {{name: values}}\n")
    return {name: value for name, value in values.items() if name not in ("apiVersion", "kind", "metadata")}


def meaning(schema, path):
    """Of the value, or of the nearest one above that says it."""
    said, node = "", schema
    for word in path.split("."):
        node = node.get("properties", {}).get(word, {})
        said = node.get("description", said)
    if not said:
        raise AssertionError(f"values.schema.json has no description of {path}")
    return said


def cell(value):
    return "" if value in ("", [], {}) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def page():
    values, schema = read_values(), json.loads((programs.CHART / "values.schema.json").read_text())
    rows = []
    for path in leaves(values):
        value = values
        for word in path.split("."):
            value = value[word]
        rows.append(f"| `{path}` | {cell(value)} | {meaning(schema, path)} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    DOC.write_text(page())
