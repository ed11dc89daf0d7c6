"""Mutants of the operator's core: with one rule of it broken, the laws over simulated worlds must turn red, and say with
which seed."""

import unittest

from mutants import MutantTest, of_laws

CORE = "operator/core/"
LAWS = ("reconcile_laws_test", "ReconcileLaws.HoldInEveryWorldWithFaults")

# what is broken: (file, pattern, instead)
MUTANTS = {
    "the number of a successor that was given up is given again": (
        "members/roster.cpp", r"member\.successor_uid\.clear\(\);  // no successor is needed",
        "member.successor = 0;  // no successor is needed"),
    "no fencing: any process of a member may sit for it": (
        "members/roster.cpp",
        r"process\.incarnation == member\.incarnation && !member\.uid\.empty\(\) && process\.member_uid == member\.uid;",
        "true;"),
    "processes by name instead of UID": (
        "members/roster.cpp", r"&& !member\.uid\.empty\(\) && process\.member_uid == member\.uid;",
        ";"),
    "pods by name instead of UID": ("members/roster.cpp", r"member\.uid\.empty\(\) \|\| pod->uid == member\.uid", "true"),
    "no new attempt for a new world": ("world/attempt.cpp", r"std::max\(status\.attempt, heard\)\.next\(\)", "status.attempt"),
    "a forgotten requeue: the end of a pause": ("reconcile.cpp", r"changes_size_at, due\.pauses_end_at, ",
                                               "changes_size_at, "),
    "a forgotten requeue: the end of patience": ("reconcile.cpp", r"\{changes_size_at, due\.pauses_end_at",
                                               "{due.pauses_end_at"),
    "a forgotten requeue: complaints about peers": ("reconcile.cpp", r", unreachable\.next_check\)", ", std::nullopt)"),
    "a wait that a cut between members explains and that counts as a hang": (
        "loss/hang.cpp", r" &&\s+!find_unreachable\(seen, now\)\.is_any_reported", ""),
    "a member that fell silent and is called unreachable": (
        "loss/unreachable.cpp", r"are_heard_since_ =\s+are_heard_since_ && [^;]*;", ""),
    "a forgotten requeue: the end of a job's time": ("reconcile.cpp", r",\s+due\.time_ends_at, ", ", "),
    "a forgotten requeue: the release of nodes": ("reconcile.cpp", r"release_due, ", ""),
    "a forgotten requeue: the end of the pause after a release": (
        "reconcile.cpp", r"release_pause_end\(seen, decision\.status\), ", ""),
    "a release by a job that has the nodes that it needs": (
        "world/release_nodes.cpp", r"shortage\.is_over \|\| ", "false || "),
    "a forgotten requeue: the time to live": ("policy/time_to_live.cpp", r"decision\.wake_at = [^;]*;", "(void)now;"),
    "a time to live that counts from the beginning": (
        "policy/time_to_live.cpp", r"status\.completed_at->",
        "status.active_since.value_or(*status.completed_at)."),
    "a clean-pod policy that is not obeyed": (
        "policy/clean_pods.cpp", r"policy = seen\.job\.spec\.clean_pod_policy",
        "policy = api::CleanPodPolicy::kRunning"),
    "a cleaning that takes members that are done": ("policy/clean_pods.cpp", r": !ends_by_itself\);", ": true);"),
    "a container that outlives its trainer and keeps its node for ever": (
        "policy/clean_pods.cpp", r"return pod\.has_running_sidecars && sidecar_deadline",
        "return false && pod.has_running_sidecars && sidecar_deadline"),
    "a forgotten requeue: the end of a container that outlives its trainer": ("reconcile.cpp",
        r"  wake_no_later_than\(next_sidecar_deadline[^;]*;\n", ""),
    "a rest in which others than trainers run on": ("policy/suspend.cpp", r" && !pod\.has_running_sidecars", ""),
    "a budget that counts disruptions": (
        "members/roster.cpp", r"if \(ending\.cause == EndCause::kApplication \|\| [^{]*\{",
        "if (ending.cause != EndCause::kFatal) {"),
    "a hang that costs nothing": (
        "members/roster.cpp",
        r"\+\+\(ending\.cause == EndCause::kHung \? change\.restarts\.hung : change\.restarts\.application\);",
        "if (ending.cause == EndCause::kApplication) ++change.restarts.application;"),
    "a hang that counts once for each member to blame": (
        "loss/hang.cpp", r"/\*is_shared=\*/true",
        "false"),
    "a success without a completed member": ("policy/success_policy.cpp", r"return is_any_completed;", "return true;"),
    "a world that hangs and costs nothing": ("members/roster.cpp", r"\n  \+\+change\.restarts\.hung;", ""),
    "a member that waits for a hanging one and is blamed": ("loss/hang.cpp", r"!stander\.waits\(\) && stander", "stander"),
    "departures that are not announced": (
        "world/announce.cpp", r"departures_of\(seen, status\.members\)", "std::vector<api::Departure>()"),
    "a departure that is put off": (
        "members/notice.cpp", r"end \? std::min\(\*end, member\.node_ends_at\.value_or\(\*end\)\) : end",
        "end"),
    "a success policy that takes any role": ("policy/success_policy.cpp",
        r"if \(!is_done && !member\.is_absent\) return false;", ""),
    "a success policy that is not obeyed": ("policy/success_policy.cpp", r"return roles\.empty\(\)",
        "return true || roles.empty()"),
    "a failure policy that is not obeyed": (
        "policy/failure_policy.cpp", r"return roles\.empty\(\)",
        "return true || roles.empty()"),
    "rules that are not asked": (
        "loss/classify.cpp", r"if \(const auto rule = match_restart_rule\(policy, pod\)\)",
        "if (const auto rule = match_restart_rule({}, pod))"),
    "rules that ask for no role": ("policy/restart_rules.cpp", r"if \(!is_of_role\) return false;", ""),
    "losses without a step without end": ("loss/losses.cpp", r"if \(losses == 0 \|\| ", "if (true || losses == 0 || "),
    "a memory limit taken for the platform's doing": (
        "loss/classify.cpp", r'kOutOfMemory = \"OOMKilled\"',
        'kOutOfMemory = "never"'),
    "an exit with zero taken for the end": ("members/completion.cpp", r"has_record && is_of_all && !member",
                                               "pod != nullptr && pod->exit_code == 0 && !member"),
    "worlds begin with what was found long ago": (
        "world/form_world.cpp", r"return age > kHolds \|\| \(!has_survivor && age >= since_end\);", "return false;"),
    "a completion that outlives its checkpoint": ("members/completion.cpp", r"count == 0 \|\| from >= end", "true"),
    "a new leader misses those that are done": (
        "loss/silence.cpp", r"sits\(member\) && times\.count (< seen\.job\.spec\.processes_per_node) && !may_be_done;",
        r"sits(member) && times.count \1;"),
    "a suspended job keeps its members' names": (
        "policy/suspend.cpp", r"member = make_fresh_incarnation\(member\);",
        "{ const auto known = member.incarnation; member = make_fresh_incarnation(member); member.incarnation = known; }"),
    "a rest without a save": ("policy/suspend.cpp", r"if \(!stands \|\| [^;]*\) return std::nullopt;", "return std::nullopt;"),
    "time that runs while a job rests": ("policy/suspend.cpp", r"  stop_active_time\(seen\.wall_now, status\);\n", ""),
    "a world that shrinks at once": (
        "world/elastic.cpp", r"Duration wait = [^;]*;",
        "Duration wait = -std::chrono::hours(1);"),
    "a new leader that leaves out members which it has not heard yet": (
        "world/elastic.cpp", r"if \(!may_be_unheard\(seen, member\)\) return wait_end;",
        "if (!may_be_unheard(seen, member) || seen.pods.size() > 0) return wait_end;"),
    "a world that grows at once": ("world/elastic.cpp", r"if \(due_at <= seen\.wall_now\) return", "return"),
    "a world that grows never": (
        "world/elastic.cpp", r"if \(!std::ranges::any_of\(absent, may_join\)\) return \{\};", "return {};"),
    "a job that goes on with fewer than it asks for at once": (
        "world/elastic.cpp", r"ready >= seen\.job\.spec\.num_nodes", "ready > 0"),
    "a job smaller than it may be": ("world/elastic.cpp", r"return is_enough \? next_world : all_members;", "return next_world;"),
    "a notice that is a loss": (
        "members/notice.cpp", r"if \(!is_successor_ready\(seen, member\)\) continue;",
        "if (!member.is_leaving()) continue;"),
    "a successor on the node that goes": ("members/suspect_nodes.cpp",
        r"if \(find_notice\(seen, node\)\)\s+found\[node\.name\] = [^;]*;", ""),
    "a spot node of GKE that has as long as any other": (
        "members/built_in_notice_rules.cpp", r"(kGkeSpotLeaves = std::chrono::seconds)\(15\)", r"\1(120)"),
    "a pod that has ended and excludes its node": (
        "members/suspect_nodes.cpp", r"pod\.node == name && occupies_its_node\(pod\)", "pod.node == name"),
    "a suspect that is left to a taint": ("members/suspect_nodes.cpp",
        r"found\[suspect\.name\] = \{\.name = suspect\.name\};", "found[suspect.name].name = suspect.name;"),
    "a failure that is told of a disruption": ("loss/last_failure.cpp", r"if \(!is_failure\(loss\)\) continue;", ""),
    "a pod that is deleted with grace and lost at once": (
        "members/roster.cpp", r"pod->is_deleting && !is_in_grace_period\(seen, \*pod\)", "pod->is_deleting"),
    "a forgotten requeue: the end of a pod's grace": ("reconcile.cpp", r", next_pod_end_time\(seen\)\}\)", "})"),
    "a zone that is judged node by node": ("loss/silence.cpp", r"if \(!zone\.empty\(\) && places > 1\) [^;]*;", "(void)places;"),
    "losses that are weighed one by one": (
        "loss/silence.cpp", r"silence > [^?]* \? activity\.fading : activity\.talking", "activity.talking"),
    "an unusable accelerator that counts as one failure": (
        "members/faulty_nodes.cpp", r"note\(loss\.member\.node, kFailuresOfFaultyNode\)", "note(loss.member.node)"),
    "an unusable accelerator without an event": (
        "members/faulty_nodes.cpp", r"if \(!loss\.is_device_fault \|\| loss", "if (loss.is_device_fault || loss"),
    "a node that is sick at once": ("members/faulty_nodes.cpp", r"kFailuresOfFaultyNode = 2", "kFailuresOfFaultyNode = 1"),
    "a deadline that is judged before a member could speak": (
        "loss/deadlines.cpp", r"seen\.listening_since \+ silence_limit\(seen\) \* kMassSilenceFactor", "now"),
    "a job that is failed by what its world does without": ("members/roster.cpp", r"part == LossScope::kBesideWorld \|\| ", ""),
    "a successor that failed and is made again at once": (
        "policy/backoff.cpp", r"return pause_after_crashes\(policy, std::max[^;]*;", "return Duration(0);"),
    "an end that its runtime does not know, taken for the program's": (
        "loss/classify.cpp", r"has_end_reason\(pod, kUnknown\) && ", "false && "),
    "conditions that forget their time": ("status/conditions.cpp", r"else if \(known->is_true != reading\.is_true\)", "else"),
}


# The same for the laws of members that start slowly.
SLOW_STARTS = ("reconcile_laws_test", "ReconcileLaws.HoldWhereMembersStartInOverload")
MUTANTS_OF_STARTS = {
    "a starting member that may be silent for no longer than others": (
        "loss/silence.cpp", r"member\.heard \+ std::max\(deadline, limit\)", "member.heard + limit"),
    "a starting member that is judged like one that trains": (
        "loss/silence.cpp", r"is_starting\(seen, process\) && \(!sits",
        "is_starting(seen, process) && false && (!sits"),
    "a start deadline of half its length": (
        "loss/deadlines.cpp", r"late = deadline_after\(first_message_awaited_since, seen\.job\.spec\.start_deadline_seconds\)",
        "late = deadline_after(first_message_awaited_since, seen.job.spec.start_deadline_seconds / 2)"),
}


def mutants():
    return of_laws(CORE, MUTANTS, *LAWS) + of_laws(CORE, MUTANTS_OF_STARTS, *SLOW_STARTS)


class Mutants(MutantTest):
    def test_each_is_caught(self):
        self.check_laws(mutants(), seeds=10000)

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("/roster.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
