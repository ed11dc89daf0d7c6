"""Mutants of how the operator forms a world and ends one: groups, seats, the point to go on from, completions. The unit tests of
these files have to catch what no law of operator_mutants_nightly_test.py is about."""

import unittest

from mutants import MutantTest, of_rows

CORE = "operator/core/"


def core(tests):
    return "operator_core_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "processes that are done are forgotten with their leader": (
        core("IsCompleted.*"), CORE + "members/roster.cpp", r"member\.done = completed_ranks_of\(seen, member\);", ""),
    "a completion that is as new as the last beat": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp",
        r"std::max\(process->completed_at, newest\.value_or\(process->completed_at\)\)", "process->last_heard"),
    "a completion of the status that is revoked with the lists at hand": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp", r"return unheard != 0;", "return false;"),
    "a list that is asked for anew with each decision": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp",
        r"return is_asked && !is_any_completion_new\(seen, members\) \? \*seen\.checkpoint_lists_valid_from : now;",
        "return now;"),
    "a list that was asked for, took long to read, and is old": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp",
        r"  if \(is_any_list_requested\(seen, processes\)\) return false;\n", ""),
    "a list of a stranger that makes all others new": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp", r"if \(was_in_job\) found", "found"),
    "lists of checkpoints that are as old as a wait": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp", r"return age > kHolds \|\| ", "return "),
    "a completion that outlives its checkpoint": (
        core("NotedCheckpoint.*"), CORE + "members/completion.cpp", r"count == 0 \|\| from >= end", "true"),
    "a job that is over and still formed": (
        core("*"), CORE + "policy/finish.cpp", r"status\.is_world_formed = false;", ""),
    "an end that is not reported": (
        core("*"), CORE + "policy/finish.cpp", r"\.stop = true", ".stop = false"),
    "a group that stands before all its pods run": (
        core("Group.*"), CORE + "world/form_agentless_group.cpp", r"pod->phase == api::PodPhase::kRunning &&", ""),
    "a point that was taken back and is resumed": (
        core("*"), CORE + "world/form_world.cpp",
        r"if \(!is_reported_damaged\(seen\.processes, entry\.attempt, entry\.step\)\) committed",
        "committed"),
    "a missing checkpoint and a run from nothing": (
        core("*"), CORE + "world/form_world.cpp", r'if \(!last \|\| resume\) return "";', 'return "";'),
    "an old commit that is believed against a newer list": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp", r" && !\(process->join_request && lacks_checkpoint[^;]*;",
        ") note(*told);"),
    "a job that fails although a silent member may have its checkpoint": (
        core("NotedCheckpoint.*"), CORE + "world/form_world.cpp", r"missing\.empty\(\) \? 0 : count_unreported_processes[^;]*;",
        "0;"),
    "a job that waits for ever for a member without a node": (
        core("NotedCheckpoint.*"), CORE + "world/elastic.cpp", r"    if \(is_spare\) continue;\n", ""),
    "an attempt whose checkpoints exist": (
        core("*"), CORE + "world/form_world.cpp", r"if \(entry\.attempt >= attempt\) attempt = entry\.attempt\.next\(\);", ""),
    "steps that no weights have and that count": (
        core("*"), CORE + "world/form_world.cpp", r"status\.step = resumed;", ""),
    "a world that is not told of the losses of its run": (
        core("Reconcile.*"), CORE + "world/form_world.cpp", r"seat\.assignment\.losses = run_losses_of\(status\.restarts\);",
        ";"),
    "nodes that are freed at once": (
        core("ReleaseNodes.*"), CORE + "world/release_nodes.cpp", r"if \(due <= seen\.wall_now\)", "if (true)"),
    "a pause that all jobs have in common": (
        core("PauseAfterRelease.*"), CORE + "world/release_nodes.cpp",
        r"job\.meta\.name_space \+ \"/\" \+ job\.meta\.name \+ \"/\" \+ job\.meta\.uid", "job.meta.uid.substr(0, 0)"),
    "pauses that do not grow": (
        core("PauseAfterRelease.*"), CORE + "world/release_nodes.cpp", r"kDoublingsMax = 3", "kDoublingsMax = 0"),
    "nodes that are asked for while former pods have them": (
        core("ReleaseNodes.*"), CORE + "world/release_nodes.cpp", r"if \(is_any_node_held\(seen\)\)",
        "if (false && is_any_node_held(seen))"),
    "a pause that outlasts a change of the spec": (
        core("ReleaseNodes.*"), CORE + "world/release_nodes.cpp",
        r"if \(seen\.job\.meta\.generation != status\.observed_generation\)", "if (false)"),
    "the only checkpoint that goes with its node": (
        core("ReleaseNodes.*"), CORE + "world/release_nodes.cpp",
        r"if \(!is_newest_checkpoint_shared\(seen, status\)\)",
        "if (false && !is_newest_checkpoint_shared(seen, status))"),
    "an elastic job that frees the nodes with which it could train": (
        core("ReleaseNodes.*"), CORE + "members/capacity_shortage.cpp",
        r"spec\.elastic_policy \? spec\.elastic_policy->members_min : spec\.num_nodes", "spec.num_nodes"),
    "a bad template that is a lack of nodes": (
        core("ReleaseNodes.*"), CORE + "members/capacity_shortage.cpp", r" && !seen\.is_template_refused", ""),
    "a pause that is no wait for capacity": (
        core("ReleaseNodes.*"), CORE + "status/ledger.cpp",
        r"if \(is_released\(status\)\) return TimeLedgerPart::kWaitingForCapacity;", ""),
    "a seat that was left and is held": (
        core("IsIntact.*"), CORE + "world/gang.cpp",
        r"return !process->join_request \|\| process->join_request->left_attempt < seat->assignment\.attempt;", "return true;"),
    "a gang without one of its processes": (
        core("Gather.*"), CORE + "world/gang.cpp",
        r"if \(has_completed\(member, local_rank, process\)\) continue;\n      \+\+gang\.needed;",
        "if (has_completed(member, local_rank, process) || process == nullptr) continue;\n      ++gang.needed;"),
    "ranks with addresses of their own": (
        core("AssignSeats.*"), CORE + "world/gang.cpp", r"gang\.joiners\.front\(\)\.address", "gang.joiners[rank].address"),
    "a former member that is not waited for": (
        core("Group*"), CORE + "world/agentless_group.cpp",
        r"return !pod\.node\.empty\(\) && !is_in_roster\(pod, members\) && may_program_run\(seen, pod\);",
        "return false;"),
    "peers of one that was taken away are to blame": (
        core("Group*"), CORE + "world/agentless_group.cpp", r"if \(is_one_disrupted\)\s+return \{EndCause::kDisruption[^;]*;",
        ""),
    "a failure that is judged at once": (
        core("Group*"), CORE + "world/agentless_group.cpp", r"kClassificationDelay = std::chrono::seconds\(3\)",
        "kClassificationDelay = std::chrono::seconds(0)"),
    "a proof that takes no time": (
        core("Group*"), CORE + "world/agentless_group.cpp", r"kStableRunTime = std::chrono::seconds\(60\)",
        "kStableRunTime = std::chrono::seconds(0)"),
    "a claim of one node for several members": (
        core("SharedVolumeClaim.*"), CORE + "members/shared_volume_claim.cpp", r"!= modes\.end\(\)\) return",
        "!= modes.end() || true) return"),
    "a job that trains and is held back by its claim": (
        core("SharedVolumeClaim.*"), CORE + "members/shared_volume_claim.cpp", r"return is_from_nothing && ", "return "),
    "a member's processes with those of another incarnation": (
        core("Lookup.*"), CORE + "observation_index.cpp", r"item\.incarnation, item\.role\}", "0U, item.role}"),
    "an order of what was seen before": (
        core("Lookup.*"), CORE + "observation_index.cpp", r"order\.size\(\) != items\.size\(\)", "order.empty()"),
    "a record of its end from which a later attempt went on": (
        core("IsCompleted.*"), CORE + "members/completion.cpp",
        r"  if \(known->attempt > last\.attempt && known->step > last\.step\) return false;\n", ""),
    "a record of its end that is not with the last commit": (
        core("IsCompleted.*"), CORE + "members/completion.cpp", r" && is_completion_record_valid\(seen, \*pod\)", ""),
}


def mutants():
    return of_rows(MUTANTS)


class WorldsMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("gang.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
