"""Mutants of how long the operator waits, and what it hears meanwhile: silences, deadlines, progress and the next look. The unit
tests of these files have to catch what no law of operator_mutants_nightly_test.py is about."""

import unittest

from mutants import MutantTest, of_rows

CORE = "operator/core/"


def core(tests):
    return "operator_core_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "members that reach no door and pay for it": (
        core("StartDeadline.*"), CORE + "loss/deadlines.cpp", r"!newest \|\| \*newest < \*member\.first_message_awaited_since",
        "false"),
    "members that are late together and pay one by one": (
        core("StartDeadline.*"), CORE + "loss/deadlines.cpp", r"sentence, /\*is_shared=\*/true", "sentence"),
    "a job on one node finds a new leader at once": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"is_any_node_reported_lost\(seen, members\.unheard\) \? 2 : 1", "2"),
    "a node that the platform takes for lost is waited for": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"is_any_node_reported_lost\(seen, members\.unheard\) \? 2 : 1", "1"),
    "members are judged by a beat that they were not told": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"if \(told > limits\.heartbeat\)", "if (false)"),
    "a node that is lost though a member spoke from it since": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r" \|\| times\.newest > suspected_at", ""),
    "a process that ended with its leader's memory is missed": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r" && !may_be_done;", " && !(may_be_done && false);"),
    "a run's end is held to make no step": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp", r"if \(has_made_last_step\(seen\)\) return std::nullopt;", ""),
    "half a member that has spoken": (
        core("StartDeadline.*"), CORE + "loss/deadlines.cpp",
        r"return std::cmp_greater_equal\(std::popcount\(voices\), seen\.job\.spec\.processes_per_node\);", "return voices != 0;"),
    "a start deadline that is not kept": (
        core("StartDeadline.*"), CORE + "loss/deadlines.cpp",
        r"\|\|\s+start_deadline_of\(seen, \*member\.first_message_awaited_since, now\) > seen\.wall_now\)\s+continue;",
        ") continue;\n    continue;"),
    "a world that stalls and whose collective is to blame": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp", r"if \(!is_in_collective\(seen, member\)\) culprits",
        "culprits"),
    "a progress deadline that steps do not move": (
        core("ProgressDeadline.*"), CORE + "loss/deadlines.cpp",
        r"std::max\(\*status\.world_formed_at, status\.last_step_at\.value_or\(\*status\.world_formed_at\)\)",
        "*status.world_formed_at"),
    "progress that goes back within an attempt": (
        core("NoteProgress.*"), CORE + "status/progress.cpp", r"status\.step = std::max\(status\.step, process\.beat->step\);",
        "status.step = process.beat->step;"),
    "progress that another attempt made": (
        core("NoteProgress.*"), CORE + "status/progress.cpp", r"!process\.beat \|\| process\.beat->attempt != status\.attempt",
        "!process.beat"),
    "a checkpoint that is not complete": (
        core("NoteProgress.*"), CORE + "status/progress.cpp", r"!entry\.is_complete \|\| ", ""),
    "a recovery that is over with the first rank's step": (
        core("Recovery.*"), CORE + "status/recovery.cpp", r"std::all_of\(seen\.world\.begin\(\), seen\.world\.end\(\)",
        "std::any_of(seen.world.begin(), seen.world.end()"),
    "a recovery that begins with the decision": (
        core("Recovery.*"), CORE + "status/recovery.cpp", r"last_message_time_of\(seen, losses\.front\(\), now\)", "now"),
    "a recovery that ends with its operator": (
        core("TakeOverTest.*"), CORE + "status/recovery.cpp", r"decision\.recovery = resume_measurement\([^;]*;",
        "open.reset();"),
    "a recovery with further losses that names only the last member": (
        core("TakeOverTest.*"), CORE + "status/recovery.cpp", r"if \(first != next\.open\.member\)", "if (false)"),
    "a recovery that names its first member once for each further loss": (
        core("TakeOverTest.*"), CORE + "status/recovery.cpp", r"at == std::string::npos \? open\.member : [^;]*;",
        "open.member;"),
    "a start deadline without a decision at its moment": (
        core("FindSilent.*"), CORE + "loss/silence.cpp",
        r"if \(deadline > Duration\(0\)\) schedule_check\(lost_at, result\);",
        ""),
    "a wake that comes later than another one": (
        core("*"), CORE + "wake_time.cpp", r"std::min\(due, decision\.wake_at\.value_or\(due\)\)", "due"),
    "a wake in the past": (
        core("*"), CORE + "wake_time.cpp", r"std::max\(Duration\(0\), (moment->since_epoch - wall_now\.since_epoch)\)", r"\1"),
    "a member before its first world that has no more than the limit": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"member\.heard \+ std::max\(deadline, limit\)", "member.heard + limit"),
    "a member before its first world that is judged as one that trains": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"is_starting\(seen, process\) && \(!sits",
        "is_starting(seen, process) && false && (!sits"),
    "a starting member that counts as one of a world whose assignments were never sent": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"\(!sits \|\| process\.join_request\)", "!sits"),
    "a member of the last world that a new leader does not miss while the next world forms": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"is_world_unknown\(seen\) : member\.has_been_in_world",
        "is_world_unknown(seen) : false"),
    "a starting member that a new leader judges as one of the last world": (
        core("FindSilent.*"), CORE + "loss/silence.cpp", r"is_world_unknown\(seen\) : member\.has_been_in_world",
        "is_world_unknown(seen) : true"),
}


def mutants():
    return of_rows(MUTANTS)


class SilenceMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("wake_time.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
