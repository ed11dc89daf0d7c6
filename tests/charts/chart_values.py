"""Values for the chart: those that it refuses, and another one for each that it has."""

# (what is wrong, the values, the name that the refusal says)
BAD_VALUES = [
    ("a name that is not there", {"replica": 2}, "replica"),
    ("no operator at all", {"replicas": 0}, "replicas"),
    ("a name that is not there, below", {"image": {"name": "a"}}, "name"),
    ("no image", {"image": {"repository": ""}}, "repository"),
    ("a tag with a blank", {"image": {"tag": "a b"}}, "tag"),
    ("a pull policy that is none", {"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ("a namespace that is a list", {"watchNamespace": ["a", "b"]}, "watchNamespace"),
    ("a namespace in capitals", {"watchNamespace": "Trees"}, "watchNamespace"),
    ("an address without scheme", {"coordinator": {"advertiseUrl": "host:9443"}}, "advertiseUrl"),
    ("no for false", {"coordinator": {"tls": {"enabled": "no"}}}, "enabled"),
    ("a Secret that is a list", {"coordinator": {"tls": {"existingSecret": ["a"]}}}, "existingSecret"),
    ("a name with a blank", {"coordinator": {"tls": {"serverName": "a b"}}}, "serverName"),
    ("a certificate among the values", {"coordinator": {"tls": {"key": "a"}}}, "key"),
    ("a digest that is none", {"image": {"digest": "sha256:1"}}, "digest"),
    ("a variable without a name", {"extraEnv": [{"value": "a"}]}, "name"),
    ("a security context that is a word", {"podSecurityContext": "restricted"}, "podSecurityContext"),
    ("a spread without a topology", {"topologySpreadConstraints": [{"maxSkew": 1}]}, "topologyKey"),
    ("no operator that may be evicted", {"podDisruptionBudget": {"maxUnavailable": 0}}, "maxUnavailable"),
    ("a peer that is none", {"networkPolicy": {"apiServer": [{"address": "10.0.0.1"}]}}, "address"),
    ("a port that is none", {"networkPolicy": {"apiServerPorts": [0]}}, "apiServerPorts"),
    ("a namespace in capitals, of members", {"networkPolicy": {"memberNamespaces": ["Trees"]}}, "memberNamespaces"),
    ("an interval without a unit", {"monitors": {"interval": "5"}}, "interval"),
    ("a page with a place in it", {"prometheusRule": {"runbook": "https://example.org/#a"}}, "runbook"),
    ("a limit of processes below none", {"processesPerNamespace": -1}, "processesPerNamespace"),
    ("a notice without a name", {"notices": [{"sign": "Cordon"}]}, "name"),
    ("a sign that is none", {"notices": [{"name": "a", "sign": "Event"}]}, "sign"),
    ("seconds with a unit", {"notices": [{"name": "a", "sign": "Cordon", "seconds": "2m"}]}, "seconds"),
    ("a field that a rule does not have", {"notices": [{"name": "a", "second": 2}]}, "second"),
    ("an argument that is no flag", {"extraArgs": ["verbose"]}, "extraArgs"),
    ("memory that is no amount", {"resources": {"limits": {"memory": "much"}}}, "memory"),
    ("a resource that is none", {"resources": {"limits": {"memroy": "1Gi"}}}, "memroy"),
    ("a toleration's effect that is none", {"tolerations": [{"effect": "Never"}]}, "effect"),
    ("yes for true", {"crds": {"install": "yes"}}, "install"),
    ("a label that is a number", {"dashboards": {"labels": {"grafana_dashboard": 1}}}, "grafana_dashboard"),
]

# Of each value, one that is not the chart's own.
DIGEST = f"sha256:{'0123456789abcdef' * 4}"
OTHER_VALUES = {
    "image.repository": "mirror/ratoon-operator", "image.tag": "other", "image.pullPolicy": "Always",
    "image.pullSecrets": [{"name": "mirror"}], "replicas": 3, "watchNamespace": "forest",
    "coordinator.advertiseUrl": "https://ratoon.example:9443", "coordinator.tls.enabled": False,
    "coordinator.tls.existingSecret": "certificate", "coordinator.tls.serverName": "ratoon.example",
    "image.digest": DIGEST, "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "podSecurityContext.runAsNonRoot": False, "podSecurityContext.seccompProfile.type": "Unconfined",
    "securityContext.allowPrivilegeEscalation": True, "securityContext.readOnlyRootFilesystem": False,
    "securityContext.capabilities.drop": [], "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "podDisruptionBudget.install": False, "podDisruptionBudget.maxUnavailable": "50%",
    "networkPolicy.install": True, "networkPolicy.memberNamespaces": ["forest"],
    "networkPolicy.metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
    "networkPolicy.apiServer": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "networkPolicy.apiServerPorts": [8443],
    "monitors.install": True, "monitors.labels": {"release": "a"}, "monitors.interval": "30s",
    "prometheusRule.install": True, "prometheusRule.labels": {"release": "a"}, "prometheusRule.runbook": "https://example.org/a",
    "notices": [{"name": "node-cordon", "enabled": False}], "processesPerNamespace": 4096,
    "extraArgs": ["--workers=4"], "resources.requests.cpu": "70m", "resources.requests.memory": "65Mi",
    "resources.limits.memory": "300Mi", "nodeSelector": {"pool": "system"},
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}]}},
    "priorityClassName": "system-cluster-critical", "tolerations": [{"key": "spot", "operator": "Exists"}],
    "podAnnotations": {"note": "a"}, "podLabels": {"team": "a"}, "serviceAccount.annotations": {"role": "a"},
    "crds.install": False, "flowSchema.install": False, "dashboards.install": False,
    "dashboards.labels.grafana_dashboard": "2", "dashboards.annotations": {"folder": "a"},
}


# What shows nothing before another value is set.
ALONG = {"networkPolicy": "networkPolicy.install", "monitors": "monitors.install", "prometheusRule": "prometheusRule.install"}


def leaves(values, path=""):
    """The paths of all values that have no others below."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name
