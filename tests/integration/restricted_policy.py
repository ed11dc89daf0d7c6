"""A ValidatingAdmissionPolicy that refuses what OpenShift's SCC restricted-v2 refuses. The SCC also fills in what a pod
leaves out (a user of the namespace's range, fsGroup, no capabilities); a policy cannot, so left out is fine here.
Privileged containers the tests' API server refuses by itself."""

GROUP = "admissionregistration.k8s.io/v1"
PATH = f"/apis/{GROUP}"
LABEL = {"ratoon-test/scc": "restricted-v2"}
FIRST, LAST = 1000680000, 1000689999  # as a namespace's annotation openshift.io/sa.scc.uid-range says them
VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")


def unset_or(path, condition):
    """CEL: nothing is at the path below a securityContext, or the condition holds for it, which is called x there."""
    return f"[{path}].all(o, !o.hasValue() || [o.value()].all(x, {condition}))"


IN_RANGE = f"x >= {FIRST} && x <= {LAST}"
USUAL = "x == 'RuntimeDefault'"
POD = "object.spec.?securityContext"
EACH = "variables.containers.all(c, {})".format
VALIDATIONS = [
    ("a user outside of the namespace's range",
     f"{unset_or(f'{POD}.?runAsUser', IN_RANGE)} && " + EACH(unset_or("c.?securityContext.?runAsUser", IN_RANGE))),
    ("an fsGroup outside of the namespace's range", unset_or(f"{POD}.?fsGroup", IN_RANGE)),
    ("a seccomp profile other than RuntimeDefault",
     f"{unset_or(f'{POD}.?seccompProfile.?type', USUAL)} && "
     + EACH(unset_or("c.?securityContext.?seccompProfile.?type", USUAL))),
    ("SELinux options", f"!{POD}.?seLinuxOptions.hasValue() && " + EACH("!c.?securityContext.?seLinuxOptions.hasValue()")),
    ("root", f"{unset_or(f'{POD}.?runAsNonRoot', 'x')} && " + EACH(unset_or("c.?securityContext.?runAsNonRoot", "x"))),
    ("privilege escalation", EACH("!c.?securityContext.?allowPrivilegeEscalation.orValue(false)")),
    ("a capability other than NET_BIND_SERVICE",
     EACH("c.?securityContext.?capabilities.?add.orValue([]).all(x, x == 'NET_BIND_SERVICE')")),
    ("what is the node's", "!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && "
                           "!object.spec.?hostIPC.orValue(false)"),
    ("a port of the node", EACH("c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)")),
    ("a volume of another kind",
     "object.spec.?volumes.orValue([]).all(v, " + " || ".join(f"has(v.{kind})" for kind in VOLUMES) + ")"),
]
POLICY = {
    "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "restricted-v2"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
        "variables": [{"name": "containers",
                       "expression": "object.spec.containers + object.spec.?initContainers.orValue([])"}],
        "validations": [{"expression": expression, "message": f"restricted-v2 refuses {what}"}
                        for what, expression in VALIDATIONS],
    },
}
BINDING = {
    "apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "restricted-v2"},
    "spec": {"policyName": "restricted-v2", "validationActions": ["Deny"],
             "matchResources": {"namespaceSelector": {"matchLabels": LABEL}}},
}
