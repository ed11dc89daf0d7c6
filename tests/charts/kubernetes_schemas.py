"""JSON schemas for kubeconform from an API server's own OpenAPI document, so that no network is needed."""

import json

ANY_NUMBER_OR_TEXT = {"type": ["string", "number"]}


def write(openapi, folder):
    """One file a kind, and the --schema-location that finds them. Unknown fields are refused."""
    definitions = {name: closed(node) for name, node in openapi["definitions"].items()}
    definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = ANY_NUMBER_OR_TEXT
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = ANY_NUMBER_OR_TEXT
    (folder / "definitions.json").write_text(json.dumps({"definitions": definitions}))
    for name, node in openapi["definitions"].items():
        for kind in node.get("x-kubernetes-group-version-kind", []):
            group = kind["group"].split(".")[0]
            words = [kind["kind"], group, kind["version"]] if group else [kind["kind"], kind["version"]]
            (folder / f"{'-'.join(words)}.json".lower()).write_text(
                json.dumps({"$ref": f"definitions.json#/definitions/{name}"}))
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


def closed(node):
    """The schema, with objects that name their fields taking no others."""
    node = dict(node)
    if "properties" in node:
        node["properties"] = {name: closed(child) for name, child in node["properties"].items()}
        if not node.get("x-kubernetes-preserve-unknown-fields"):
            node.setdefault("additionalProperties", False)
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict):
            node[name] = closed(node[name])
    node.pop("format", None)  # int32, byte and others that JSON Schema does not know
    return node
