"""Mutants of the operator's core that the unit tests of its files have to catch: at least one in each file that no law of
operator_mutants_nightly_test.py is about; and of what holds members to their limits."""

import unittest

from mutants import MutantTest, of_rows


def core(tests):
    return "operator_core_test", tests


CORE = "operator/core/"

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a pause that does not double": (
        core("PauseAfter.*"), CORE + "backoff.cpp", r"<< std::min\(crashes_in_a_row - 1, kDoublingsMax\)", "<< 0U"),
    "a pause beyond the longest": (
        core("PauseAfter.*"), CORE + "backoff.cpp", r"std::min<std::uint64_t>\(pause, policy\.backoff_max_seconds\)", "pause"),
    "a disruption that waits": (
        core("Backoff.*"), CORE + "backoff.cpp", r"if \(!is_to_wait\(loss\)\) continue;", "static_cast<void>(loss.cause);"),
    "a pod that a kubelet did not start is made again at once": (
        core("Backoff.*"), CORE + "backoff.cpp", r" \|\| loss\.is_rejection \|\|", " ||"),
    "an outage of the storage that each member pays for": (
        core("Classify.*:Backoff.*"), CORE + "classify.cpp",
        r'\.cause = EndCause::kDisruption, \.sentence = text \+ " \(storage failed\)"',
        '.cause = EndCause::kApplication, .sentence = text + " (storage failed)"'),
    "an outage of the storage that is not waited for": (
        core("Backoff.*"), CORE + "backoff.cpp", r" \|\| loss\.is_of_storage;", ";"),
    "a node that cannot start a container and a program that pays": (
        core("Classify.*"), CORE + "classify.cpp", r"if \(blames_program\(pod\.last_lines\)\) return ending;", "return ending;"),
    "a command that is not there and no failure": (
        core("Classify.*"), CORE + "classify.cpp", r"if \(blames_program\(pod\.last_lines\)\) return ending;", ""),
    "members that reach no door and pay for it": (
        core("StartDeadline.*"), CORE + "deadlines.cpp", r"newest && \*newest >= \*member\.awaited_since", "true"),
    "members that are late together and pay one by one": (
        core("StartDeadline.*"), CORE + "deadlines.cpp", r"sentence, /\*is_shared=\*/true", "sentence"),
    "a node that does not start pods is no sick one": (
        core("SickNodes*"), CORE + "sick_nodes.cpp", r"if \(loss\.is_rejection\) note\(loss\.member\.node\);", ""),
    "a node whose accelerator is unusable is used again": (
        core("SickNodes*"), CORE + "sick_nodes.cpp",
        r"if \(loss\.is_of_device\) note\(loss\.member\.node, kFailuresOfASickNode\);", ""),
    "what the platform does is held against the job": (
        core("Backoff.*"), CORE + "losses.cpp", r"loss\.is_of_platform && loss\.cause == EndCause::kDisruption", "false"),
    "a job on one node finds a new leader at once": (
        core("FindSilent.*"), CORE + "silence.cpp", r"is_told_lost\(seen, members\.unheard\) \? 2 : 1", "2"),
    "a node that the platform takes for lost is waited for": (
        core("FindSilent.*"), CORE + "silence.cpp", r"is_told_lost\(seen, members\.unheard\) \? 2 : 1", "1"),
    "a rest that ends in the middle of a save": (
        core("Suspend.*"), CORE + "save_time.cpp", r"return std::max<Duration>\(kPatienceMin, [^;]*;", "return kPatienceMin;"),
    "saves that take years": (
        core("Suspend.*"), CORE + "save_time.cpp", r"std::min<Duration>\((from_seconds\([^;]*\)), kSaveMax\);", r"\1;"),
    "a new leader that ends a save of which it was not told": (
        core("Suspend.*"), CORE + "suspend.cpp", r"if \(!is_all_heard\(seen, status\)\) return std::nullopt;", ""),
    "a save on notice in the way of the hand-over's": (
        core("Notice.*"), CORE + "announce.cpp", r"is_ready \|\| has_time_for_two_saves\([^;]*\)\) \+\+", "true) ++"),
    "members are judged by a beat that they were not told": (
        core("FindSilent.*"), CORE + "silence.cpp", r"if \(told > rhythm\.heartbeat\)", "if (false)"),
    "crashes that are counted on after a step": (
        core("Backoff.*"), CORE + "backoff.cpp", r"has_stepped \? 0 : before\.crashes_in_a_row", "before.crashes_in_a_row"),
    "a wish to begin anew that is heard at each look": (
        core("BeginAnew.*"), CORE + "begin_anew.cpp", r"is_first_look && job\.spec", "job.spec"),
    "another run's checkpoint taken for this one's": (
        core("BeginAnew.*"), CORE + "begin_anew.cpp", r"attempt >= \*status\.lineage_start", "true"),
    "an exception whose numbers count": (
        core("RepeatedFault.*"), CORE + "repeated_fault.cpp",
        r"if \(std::isdigit\(static_cast<unsigned char>\(text\[i\]\)\) == 0\)", "if (true)"),
    "a fault of the system taken for one of the program": (
        core("OutsideWords.*"), CORE + "outside_words.cpp", r"std::ranges::any_of\(kSentences, is_in\(small\)\) \|\| ", ""),
    "a path that is not there taken for an outage": (
        core("RepeatedFault.*"), CORE + "repeated_fault.cpp", r"if \(is_missing_path\(fault\)\) return fault;", ""),
    "a device that is not there taken for a path": (
        core("MissingPath.*"), CORE + "path_words.cpp", r"has_any_word\(small, kPlacesOfSystem\)", "false"),
    "an error of the caller that only its type tells": (
        core("OutsideWords.*"), CORE + "program_words.cpp", r"std::ranges::any_of\(kTypes, is_in\) \|\| ", ""),
    "a node that is lost though a member spoke from it since": (
        core("FindSilent.*"), CORE + "silence.cpp", r" \|\| voices\.newest > suspected_at", ""),
    "a new leader misses those that are done": (
        core("FindSilent.*"), CORE + "silence.cpp", r"static_cast<std::size_t>\(std::popcount\(unheard_done\)\)",
        "std::size_t{0}"),
    "a process that ended with its leader's memory is missed": (
        core("FindSilent.*"), CORE + "silence.cpp", r" && !may_be_done;", " && !(may_be_done && false);"),
    "processes that are done are forgotten with their leader": (
        core("IsCompleted.*"), CORE + "roster.cpp", r"member\.done = done_in\(seen, member\);", ""),
    "a run's end is held to make no step": (
        core("ProgressDeadline.*"), CORE + "deadlines.cpp", r"if \(has_made_last_step\(seen\)\) return std::nullopt;", ""),
    "lists of checkpoints that are as old as a wait": (
        core("NotedCheckpoint.*"), CORE + "form_world.cpp", r"return age > kHolds \|\| ", "return "),
    "a completion that outlives its checkpoint": (
        core("NotedCheckpoint.*"), CORE + "completion.cpp", r"count == 0 \|\| from >= end", "true"),
    "half a member that has spoken": (
        core("StartDeadline.*"), CORE + "deadlines.cpp",
        r"return std::cmp_greater_equal\(std::popcount\(voices\), seen\.job\.spec\.processes_per_node\);", "return voices != 0;"),
    "a start deadline that is not kept": (
        core("StartDeadline.*"), CORE + "deadlines.cpp",
        r"\|\| after\(\*member\.awaited_since, deadline\) > seen\.wall_now\) continue;", ") continue;\n    continue;"),
    "a world that stalls and whose collective is to blame": (
        core("ProgressDeadline.*"), CORE + "deadlines.cpp", r"if \(!is_in_collective\(seen, member\)\) culprits",
        "culprits"),
    "a progress deadline that steps do not move": (
        core("ProgressDeadline.*"), CORE + "deadlines.cpp",
        r"std::max\(\*status\.formed_at, status\.stepped_at\.value_or\(\*status\.formed_at\)\)", "*status.formed_at"),
    "a clock that is set back gives time": (
        core("MaxDuration.*"), CORE + "duration.cpp", r"std::max\(Duration\(0\), (now\.since_epoch - [^;]*)\);", r"\1;"),
    "time before a suspension that is forgotten": (
        core("MaxDuration.*"), CORE + "duration.cpp", r"- std::min<std::uint64_t>\([^;]*;", ";"),
    "a job that is over and still formed": (
        core("*"), CORE + "finish.cpp", r"status\.is_formed = false;", ""),
    "an end that nobody is told": (
        core("*"), CORE + "finish.cpp", r"\.stop = true", ".stop = false"),
    "a group that stands before all its pods run": (
        core("Group.*"), CORE + "form_group.cpp", r"pod->phase == api::PodPhase::kRunning &&", ""),
    "a point that was taken back and is resumed": (
        core("*"), CORE + "form_world.cpp", r"if \(!is_taken_back\(seen\.processes, entry\.attempt, entry\.step\)\) committed",
        "committed"),
    "a missing checkpoint and a run from nothing": (
        core("*"), CORE + "form_world.cpp", r'if \(!last \|\| resume\) return "";', 'return "";'),
    "an attempt whose checkpoints exist": (
        core("*"), CORE + "form_world.cpp", r"if \(entry\.attempt >= attempt\) attempt = entry\.attempt\.next\(\);", ""),
    "steps that no weights have and that count": (
        core("*"), CORE + "form_world.cpp", r"status\.step = resume \? resume->step : Step\(0\);", ""),
    "a seat that was left and is held": (
        core("IsIntact.*"), CORE + "gang.cpp",
        r"return !process->waiting \|\| process->waiting->left_attempt < seat->assignment\.attempt;", "return true;"),
    "a gang without one of its processes": (
        core("Gather.*"), CORE + "gang.cpp",
        r"if \(has_completed\(member, local_rank, process\)\) continue;\n      \+\+gang\.needed;",
        "if (has_completed(member, local_rank, process) || process == nullptr) continue;\n      ++gang.needed;"),
    "ranks with addresses of their own": (
        core("AssignSeats.*"), CORE + "gang.cpp", r"gang\.joiners\.front\(\)\.address", "gang.joiners[rank].address"),
    "a former member that is not waited for": (
        core("Group*"), CORE + "group.cpp",
        r"return !pod\.node\.empty\(\) && !is_named\(pod, members\) && may_run\(seen, pod\);",
        "return false;"),
    "peers of one that was taken away are to blame": (
        core("Group*"), CORE + "group.cpp", r"if \(is_one_taken\) return \{EndCause::kDisruption[^;]*;", ""),
    "a failure that is judged at once": (
        core("Group*"), CORE + "group.cpp", r"kSettle = std::chrono::seconds\(3\)", "kSettle = std::chrono::seconds(0)"),
    "a proof that takes no time": (
        core("Group*"), CORE + "group.cpp", r"kProof = std::chrono::seconds\(60\)", "kProof = std::chrono::seconds(0)"),
    "steps that are made again and count as useful": (
        core("LedgerTest.*"), CORE + "ledger.cpp", r"LedgerPart::kRecomputed : LedgerPart::kUseful;",
        "LedgerPart::kUseful : LedgerPart::kUseful;"),
    "a hang that is booked as a restart": (
        core("LedgerTest.*"), CORE + "ledger.cpp", r"watch->is_hung \? LedgerPart::kHung : ", ""),
    "a wait for a node that is booked as a restart": (
        core("LedgerTest.*"), CORE + "ledger.cpp", r"lacks_capacity\(seen, status\.members\) \?", "false ?"),
    "a clock that is set back takes seconds from the ledger": (
        core("LedgerTest.*"), CORE + "ledger.cpp", r"std::max\((at\.since_epoch - ledger\.since->since_epoch), Duration\(0\)\)",
        r"\1"),
    "progress that goes back within an attempt": (
        core("NoteProgress.*"), CORE + "progress.cpp", r"status\.step = std::max\(status\.step, process\.beat->step\);",
        "status.step = process.beat->step;"),
    "progress that another attempt made": (
        core("NoteProgress.*"), CORE + "progress.cpp", r"!process\.beat \|\| process\.beat->attempt != status\.attempt",
        "!process.beat"),
    "a checkpoint that is not complete": (
        core("NoteProgress.*"), CORE + "progress.cpp", r"!entry\.is_complete \|\| ", ""),
    "a recovery that is over with the first rank's step": (
        core("Recovery.*"), CORE + "recovery.cpp", r"std::all_of\(seen\.world\.begin\(\), seen\.world\.end\(\)",
        "std::any_of(seen.world.begin(), seen.world.end()"),
    "a recovery that begins with the decision": (
        core("Recovery.*"), CORE + "recovery.cpp", r"\.last_sign = last_sign_of\(seen, loss, now\)", ".last_sign = now"),
    "a start deadline that nobody wakes for": (
        core("FindSilent.*"), CORE + "silence.cpp", r"if \(deadline > Duration\(0\)\) look_again_at\(lost_at, result\);", ""),
    "a claim of one node for several members": (
        core("SharedClaim.*"), CORE + "shared_claim.cpp", r"!= modes\.end\(\)\) return",
        "!= modes.end() || true) return"),
    "a job that trains and is held back by its claim": (
        core("SharedClaim.*"), CORE + "shared_claim.cpp", r"return is_from_nothing && ", "return "),
    "a wake that comes later than another one": (
        core("*"), CORE + "wake.cpp", r"std::min\(due, decision\.wake_at\.value_or\(due\)\)", "due"),
    "a wake in the past": (
        core("*"), CORE + "wake.cpp", r"std::max\(Duration\(0\), (moment->since_epoch - wall_now\.since_epoch)\)", r"\1"),
    "a pod that no node takes and nobody is told": (
        core("*"), CORE + "why_waiting.cpp", r"why_not_placed\(seen, members\) \+ ", ""),
    "an image that is missing and nobody is told": (
        core("*"), CORE + "why_waiting.cpp", r" \+ why_not_started\(seen, members\);", ";"),
    "a process that its launcher starts anew for ever": (
        core("Losses.*"), CORE + "losses.cpp", r" \+ count_restarted_in_place\(seen, change\)\);", ");"),
    "a rest in which one start anew is counted at each look": (
        core("Losses.*"), CORE + "losses.cpp", r" \|\| seen\.job\.spec\.is_suspended", ""),
    "a failure of the run before that is this one's": (
        ("operator_local_test", "BeginRunTest.*"), "operator/local/beginning.cpp", r"status\.last_failure\.reset\(\);", ""),
    "a member's processes with those of another incarnation": (
        core("Lookup.*"), CORE + "lookup.cpp", r"item\.incarnation, item\.role\}", "0U, item.role}"),
    "an order of what was seen before": (
        core("Lookup.*"), CORE + "lookup.cpp", r"order\.size\(\) != items\.size\(\)", "order.empty()"),
    "deletions that a server in trouble is asked for one by one": (
        ("operator_runtime_test", "ControllerTest.*"), "operator/runtime/controller.cpp",
        r"is_deleting = is_deleting && [^;]*;", ""),
    "idle connections that keep the node's probes out": (
        ("operator_runtime_test", "HealthPort.*"), "operator/runtime/health_port.cpp",
        r"options\.strangers_max = kHealthConnectionsMax;", ""),
    "a page that is read for ever": (
        ("http_server_test", "HttpServer.CutsAClient*"), "base/http/server_session.cpp", r"limit && !reply_due_", "false"),
    "a runner that makes no room for its members": (
        ("operator_local_test", "KernelCgroups.*"), "operator/local/cgroups.cpp",
        r'if \(auto moved = write\(own / kRunner / kProcs, "0"\); !moved\) return moved;', ""),
}


def mutants():
    return of_rows(MUTANTS)


class CoreMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.tests == "*" and mutant.source.endswith("wake.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
