"""Mutants of the way in which a pod is kept off nodes: the unit tests of operator/kube and of the core have to catch them."""

import unittest

from mutants import MutantTest, TableOfSources, of_rows

PODS = ("operator_kube_test", "Placement.*")
NODES = ("operator_core_test", "NodesToAvoid.*")
RULES = ("operator_core_test", "NoticeRules.*")
NOTICE_RULES = "operator/core/members/notice_rules.cpp"
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
    "a term for a node with a taint": (PODS, PLACEMENT, r"if \(has_untolerated_taint\(pod_spec, node\)\) continue;", ""),
    "a node without pods of the job is not avoided": (PODS, PLACEMENT, r"disliked\.insert\(node\.name\);", "{}"),
    "a spread that favours the node that is disliked": (
        PODS, PLACEMENT, r"if \(disliked\.empty\(\)\)", "prefer_spread(pod_spec, job_uid);\n  if (disliked.empty())"),
    "a taint that the scheduler may ignore is trusted": (
        NODES, SUSPECTS, r'taint\.effect == "NoSchedule" \|\| taint\.effect == "NoExecute"', "!taint.effect.empty()"),
    "a cordon is not trusted": (NODES, SUSPECTS, r"if \(node\.is_unschedulable && ", "if (node.name.empty() && "),
    "a neighbour of the trainer that runs on is forgotten": (
        NODES, SUSPECTS, r"!pod\.has_ended\(\) \|\| pod\.has_running_sidecars", "!pod.has_ended()"),
    "a member stays on a node without connections": (
        LINKS, "operator/core/members/notice.cpp", r"if \(is_without_connections\(seen, node\)\)", "if (false)"),
    "a taint that the scheduler may ignore is a notice": (
        RULES, NOTICE_RULES, r'rule\.effect\.empty\(\) \? taint\.effect != kPreferNoSchedule', "rule.effect.empty() ? true"),
    "a condition that is over is a notice": (RULES, NOTICE_RULES, r" && condition\.status == status\)", ")"),
    "an end that counts from the look and not from the sign": (
        RULES, NOTICE_RULES, r"sign->since\.value_or\(wall_now\)", "wall_now"),
    "a rule for some nodes that applies to all": (
        RULES, NOTICE_RULES, r"if \(!has_labels\(node, rule\)\)", "if (false && !has_labels(node, rule))"),
    "a later end of two": (
        RULES, NOTICE_RULES, r"notice->ends_at = earlier\(notice->ends_at, times->ends_at\);",
        "if (times->ends_at) notice->ends_at = times->ends_at;"),
    "a notice days ahead": (
        RULES, NOTICE_RULES, r" \|\| times->begins_at\.value_or\(wall_now\) > wall_now\) continue;", ") continue;"),
    "an announced end that passed and still counts": (
        RULES, NOTICE_RULES, r"if \(times\.ends_at && \*times\.ends_at <= wall_now\) return std::nullopt;", ""),
    "a forgotten requeue: the beginning of a notice": (
        ("operator_core_test", "Notice.ThatIsAnnouncedForLaterBeginsThen"), "operator/core/reconcile.cpp",
        r"next_notice_time_of_nodes\(seen\),\s+", ""),
    "a platform that has less time than its documents say": (
        ("operator_core_test", "ProvidersWords.*"), "operator/core/members/built_in_notice_rules.cpp",
        r"(kAwsSpotLeaves = std::chrono::seconds)\(120\)", r"\1(30)"),
    "a node is without connections for ever": (LINKS, SUSPECTS, r" && suspect\.until > seen\.wall_now;", ";"),
}


def mutants():
    return of_rows(MUTANTS)


class PlacementMutants(TableOfSources, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
