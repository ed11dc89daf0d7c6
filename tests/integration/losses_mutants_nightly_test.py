"""Mutants of what the operator makes of a loss: whose fault it is, what it costs, how long is waited. The unit tests of these
files have to catch what no law of operator_mutants_nightly_test.py is about."""

import unittest

from mutants import MutantTest, of_rows

CORE = "operator/core/"


def core(tests):
    return "operator_core_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a pause that does not double": (
        core("PauseAfter.*"), CORE + "policy/backoff.cpp", r"<< std::min\(consecutive_crashes - 1, kDoublingsMax\)", "<< 0U"),
    "a pause beyond the longest": (
        core("PauseAfter.*"), CORE + "policy/backoff.cpp", r"std::min<std::uint64_t>\(pause, policy\.backoff_max_seconds\)",
        "pause"),
    "a disruption that waits": (
        core("Backoff.*"), CORE + "policy/backoff.cpp", r"if \(!needs_pause\(loss\)\) continue;",
        "static_cast<void>(loss.cause);"),
    "a pod that a kubelet did not start is made again at once": (
        core("Backoff.*"), CORE + "policy/backoff.cpp", r"loss\.is_kubelet_rejection \|\| loss\.is_storage_fault",
        "loss.is_storage_fault"),
    "an outage of the storage that each member pays for": (
        core("Classify.*:Backoff.*"), CORE + "loss/classify.cpp",
        r'\.cause = EndCause::kDisruption,\s+\.explanation = text \+ " \(storage failed\)"',
        '.cause = EndCause::kApplication, .explanation = text + " (storage failed)"'),
    "an outage of the storage that is not waited for": (
        core("Backoff.*"), CORE + "policy/backoff.cpp", r" \|\| loss\.is_storage_fault \|\|", " ||"),
    "a node that cannot start a container and a program that pays": (
        core("Classify.*"), CORE + "loss/classify.cpp", r"if \(is_command_fault\(pod\.last_lines\)\) return ending;",
        "return ending;"),
    "a command that is not there and no failure": (
        core("Classify.*"), CORE + "loss/classify.cpp", r"if \(is_command_fault\(pod\.last_lines\)\) return ending;", ""),
    "a node that does not start pods is no sick one": (
        core("SickNodes*"), CORE + "members/faulty_nodes.cpp", r"if \(loss\.is_kubelet_rejection\) note\(loss\.member\.node\);",
        ""),
    "a node whose accelerator is unusable is used again": (
        core("SickNodes*"), CORE + "members/faulty_nodes.cpp",
        r"if \(loss\.is_device_fault\) note\(loss\.member\.node, kFailuresOfFaultyNode\);", ""),
    "what the platform does is held against the job": (
        core("Backoff.*"), CORE + "loss/losses.cpp", r"loss\.is_platform_caused \|\| ", ""),
    "crashes that are counted on after a step": (
        core("Backoff.*"), CORE + "policy/backoff.cpp", r"has_stepped \? 0 : before\.consecutive_crashes",
        "before.consecutive_crashes"),
    "a first complaint about a peer that does not wait for others": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp", r"kReportCollectionTime = std::chrono::seconds\(5\)",
        "kReportCollectionTime{0}"),
    "a member that alone accuses others and stays": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp",
        r"if \(a->is_accused != b->is_accused\) return b->is_accused;", ""),
    "broken links that are counted by members": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp", r"member\.node\.empty\(\) \? member\.uid : member\.node",
        "member.uid"),
    "steps that refute no complaint": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp", r"\*links\.since\(\), newest_progress_time\(reporting\)",
        "*links.since(), Timestamp() + 0 * newest_progress_time(reporting).since_boot"),
    "a member that is named late is blamed though it is lost": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp", r"std::max\(since, named\)",
        "(static_cast<void>(named), since)"),
    "the same end of a cut that is replaced again and again": (
        core("UnreachableTest.*"), CORE + "loss/unreachable.cpp", r"consecutive_crashes % worst\.size\(\)",
        "consecutive_crashes * 0"),
    "broken accelerators that are tried again at once": (
        core("LastingDisruptions.*"), CORE + "policy/backoff.cpp", r" \|\| loss\.is_device_fault;", ";"),
    "members that others cannot reach and that are made again at once": (
        core("UnreachableTest.*"), CORE + "policy/backoff.cpp",
        r"loss\.is_unreachable \|\| loss\.is_device_fault;", "loss.is_device_fault;"),
    "a node without connections that a heartbeat clears": (
        core("SuspectNodes.*"), CORE + "members/suspect_nodes.cpp", r"if \(suspect\.is_unreachable\) return false;", ""),
    "an exception whose numbers count": (
        core("RepeatedFault.*"), CORE + "loss/fault/repeated_fault.cpp",
        r"if \(std::isdigit\(static_cast<unsigned char>\(text\[i\]\)\) == 0\)", "if (true)"),
    "a fault of the system taken for one of the program": (
        core("ExternalCause.*"), CORE + "loss/fault/external_cause.cpp",
        r"std::ranges::any_of\(\*kSentences, is_in\(small\)\) \|\|\s+", ""),
    "a path that is not there taken for an outage": (
        core("RepeatedFault.*"), CORE + "loss/fault/repeated_fault.cpp", r"if \(is_missing_path\(fault\)\) return fault;", ""),
    "a device that is not there taken for a path": (
        core("MissingPath.*"), CORE + "loss/fault/missing_path.cpp", r"has_any_word\(small, kPlacesOfSystem\)", "false"),
    "an error of the caller that only its type tells": (
        core("ExternalCause.*"), CORE + "loss/fault/program_fault.cpp", r"std::ranges::any_of\(kTypes, is_in\) \|\| ", ""),
    "a process that its launcher starts anew for ever": (
        core("Losses.*"), CORE + "loss/losses.cpp", r" \+ count_restarted_in_place\(seen, change\)\);", ");"),
    "a rest in which one start anew is counted at each look": (
        core("Losses.*"), CORE + "loss/losses.cpp", r" \|\| seen\.job\.spec\.is_suspended", ""),
    "a pod that no node takes, without a report": (
        core("*"), CORE + "status/waiting_reason.cpp", r"describe_unplaced_pod\(seen, members\) \+\s+", ""),
    "a node without connections that the status does not name": (
        core("UnreachableTest.*"), CORE + "status/waiting_reason.cpp", r" \+ describe_avoided_node\(status\)", ""),
    "an image that is missing, without a report": (
        core("*"), CORE + "status/waiting_reason.cpp", r"describe_unstarted_container\(seen, members\) \+\s+", ""),
    "a scheduler that does not run, and a silent wait": (
        core("WhyWaiting.*"), CORE + "status/waiting_reason.cpp", r"describe_silent_scheduler\(seen, members\) \+", ""),
    "a kubelet that starts nothing, and a silent wait": (
        core("WhyWaiting.*"), CORE + "status/waiting_reason.cpp", r" \+\s+describe_silent_kubelet\(seen, members\);", ";"),
    "a failure that ends the job and is not counted": (
        core("ReplaceLost.*"), CORE + "members/roster.cpp", r"    \+\+change\.restarts\.application;\n", ""),
    "an outage that ends a job which set no limit": (
        core("Backoff.*"), CORE + "loss/losses.cpp", r" && !policy\.is_losses_without_step_max_set", " && false"),
    "a world that stalls for an operator that did not hear it": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp", r"if \(is_heard && local_rank", "if (local_rank"),
    "a world that stalls while it is silent": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp", r"heard > silent_before\)",
        "(heard > silent_before || true))"),
    "a world that stalls by the wall's clock alone": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp",
        r"deadline_after\(to_wall_time\(seen, \*moved, now\), spec\.progress_deadline_seconds\),\s*", ""),
}


def mutants():
    return of_rows(MUTANTS)


class LossesMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("backoff.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
