"""Mutants of the way in which a pod is kept off nodes: the unit tests of operator/kube and of the core have to catch them."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

PODS = ("operator_kube_test", "Placement.*")
NODES = ("operator_core_test", "NodesToAvoid.*")
LINKS = ("operator_core_test", "UnreachableTest.*")
PLACEMENT = "operator/kube/pods/placement.cpp"
SUSPECTS = "operator/core/members/suspect_nodes.cpp"

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a term that selects a pod of another job": (
        PODS, PLACEMENT, r"\{\{label::kJobUid, job_uid\},\n *\{label::kRole", "{{label::kRole"),
    "a term that selects every incarnation": (
        PODS, PLACEMENT, r",\n *\{label::kIncarnation, std::to_string\(pod\.incarnation\)\}", ""),
    "a taint that the template tolerates is trusted": (
        PODS, PLACEMENT, r"!is_tolerated\(tolerations, taint\)", "!taint.key.empty()"),
    "a toleration of another effect counts": (
        PODS, PLACEMENT, r" && \(effect\.empty\(\) \|\| effect == taint\.effect\)", ""),
    "a term for a node with a taint": (PODS, PLACEMENT, r"if \(is_closed_to\(pod_spec, node\)\) continue;", ""),
    "a node without pods of the job is not avoided": (PODS, PLACEMENT, r"disliked\.insert\(node\.name\);", "{}"),
    "a spread that favours the node that is disliked": (
        PODS, PLACEMENT, r"if \(disliked\.empty\(\)\)", "prefer_apart(pod_spec, job_uid);\n  if (disliked.empty())"),
    "a taint that the scheduler may ignore is trusted": (
        NODES, SUSPECTS, r'taint\.effect == "NoSchedule" \|\| taint\.effect == "NoExecute"', "!taint.effect.empty()"),
    "a cordon is not trusted": (NODES, SUSPECTS, r"if \(node\.is_unschedulable && ", "if (node.name.empty() && "),
    "a neighbour of the trainer that runs on is forgotten": (
        NODES, SUSPECTS, r"!pod\.has_ended\(\) \|\| pod\.others_run", "!pod.has_ended()"),
    "a member stays on a node without connections": (
        LINKS, "operator/core/members/notice.cpp", r"if \(is_without_connections\(seen, member\.node\)\)", "if (false)"),
    "a node is without connections for ever": (LINKS, SUSPECTS, r" && suspect\.until > seen\.wall_now;", ";"),
}


def mutants():
    return of_rows(MUTANTS)


class PlacementMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
