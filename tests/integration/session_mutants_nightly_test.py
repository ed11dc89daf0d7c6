"""Mutants of the session's rules: when a run is over and when it saves, hand-overs, signals and flags. With one rule of it broken
a unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

SESSION = "agent/src/session/"


def of_rules(tests):
    return "session_rules_test", tests


def of_session(tests):
    return "session_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a request to unpin that the next attempt makes again": (
        ("session_hooks_test", "TrainUnpinTest.*"), SESSION + "engine/program_requests.cpp",
        r"  recorded_unpin_requests_ = std::move\(unpinned\);\n",
        "  for (const auto& one : unpinned) static_cast<void>(unpin(one.step));\n"),
    "a request to unpin that only one checkpoint contains": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp", r"  return recorded_unpin_requests_;\n",
        "  static std::vector<checkpoint::UnpinnedStep> once;\n  return once = std::exchange(recorded_unpin_requests_, {});\n"),
    "an epoch that begins again after a resume within it": (
        ("session_hooks_test", "*TrainEpochsTest.*"), SESSION + "engine/engine_begin.cpp",
        r"if \(resumed \? resumed->begins_epoch : position\.samples % position\.epoch_samples == 0\)",
        "if (position.samples % position.epoch_samples == 0 || true)"),
    "an epoch that begins twice after a run that ended between epochs": (
        ("session_hooks_test", "EpochsInPlace.*"), SESSION + "engine/engine.cpp",
        r"  beginning_epoch_\.reset\(\);  // a save from now on contains what `act` changed\n", ""),
    "a best checkpoint that is only in a store and is forgotten": (
        ("session_test", "TrainSavesTest.*"), SESSION + "engine/engine_saves.cpp",
        r"if \(!is_stored \|\| \*is_stored\) committed_ids_\.insert\(one\.id\);", ""),
    "an epoch that begins within a batch, and whose beginning a resume forgets": (
        ("session_hooks_test", "*TrainEpochsTest.*"), SESSION + "engine/engine_saves.cpp",
        r"record\.begins_epoch = beginning_epoch_\.has_value\(\);", ""),
    "a sum of integers that overflows": (
        ("sums_test", "SummedNumbers.*"), SESSION + "sums/summed_numbers.cpp", r"if \(bad != sums\.end\(\)\)", "if (false)"),
    "a rank that adds up numbers of another type": (
        ("sums_test", "SummedNumbers.*"), SESSION + "sums/summed_numbers.cpp",
        r" \|\| call\.type != name_of_type\(own_numbers_\)", ""),
    "rank 0, which does not call and is not named": (
        ("sums_test", "RankSumsTest.*"), SESSION + "sums/rank_sums.cpp", r"note\(0, \*call == [^;]*;", ""),
    "an end of the function by std::terminate() that counts as an error of the program": (
        ("session_test", "TrainTerminateTest.*"), SESSION + "shutdown/exit_watch.cpp", r"  if \(code\) \{", "  if (false) {"),
    "a noexcept function that ends the process with SIGABRT": (
        ("session_test", "TrainTerminateTest.*"), SESSION + "shutdown/exit_watch.cpp",
        r" \|\| std::current_exception\(\) != nullptr", ""),
    "a value whose name lies within another one, and that peek() does not find": (
        ("session_test", "Peek.*"), SESSION + "engine/engine_begin.cpp", r"if \(is_within_another\) objects\.add[^;]*;", ""),
    "a run that is over a step late": (
        of_rules("Until.*:RunSchedule.*"), SESSION + "api/until.cpp", r"count_of\(position, amount_\.unit\) >= total\(position\)",
        "count_of(position, amount_.unit) > total(position)"),
    "a save that is due nowhere": (
        of_rules("Every.*"), SESSION + "api/every.cpp", r"return crossed\([^;]*;", "return after.steps == before.steps;"),
    "a difference of numerics that is not reported": (
        of_rules("Numerics*"), SESSION + "engine/numerics_watch.cpp", r"\|\| before == now\) return;",
        "|| before != now) return;"),
    "a hand-over that waits for a minute whatever saves take": (
        ("session_test", "EngineTest.*"), SESSION + "shutdown/drain.cpp", r"return std::max\(kCommitTimeoutMin, [^;]*;",
        "return kCommitTimeoutMin;"),
    "a checkpoint that another rank has seen and that is given up here at once": (
        of_session("EngineRestore.*"), SESSION + "engine/engine_begin.cpp", r"kListingCacheTimeout = std::chrono::seconds\(60\)",
        "kListingCacheTimeout{0}"),
    "a save that is asked for while another is under way": (
        ("session_test", "EngineTest.*"), SESSION + "engine/engine.cpp", r" && !is_save_under_way\(\)", ""),
    "a notice that is over and joins a world": (
        ("session_test", "Drain.*"), SESSION + "shutdown/drain.cpp",
        r"if \(counted_signals_\.terminate\.count == 0 && !is_over\) return std::nullopt;",
        "if (counted_signals_.terminate.count == 0) return std::nullopt;"),
    "a handler of the program that hides a signal": (
        ("session_test", "Signals.*:TrainReturnsTest.*"), SESSION + "shutdown/signals.cpp",
        r"if \(!is_our_handler\(now\) && is_handler\(now\)\) [^;]*;", ""),
    "a handler that hears itself": (
        ("session_test", "Signals.*"), SESSION + "shutdown/signals.cpp", r"if \(is_inside\) return;", ""),
    "Ctrl-C that stops nothing": (
        ("session_test", "Drain.*"), SESSION + "shutdown/drain.cpp", r"if \(is_interrupted\(\)\) bits \|= [^;]*;", ""),
    "a save on notice beside which the hand-over's does not fit": (
        ("session_test", "Drain.*"), "agent/src/preemption/drain_facts.cpp", r"\n  facts\.has_saved = true;", ""),
    "the end of a run at which each rank leaves alone": (
        ("session_test", "Drain.*"), SESSION + "shutdown/drain.cpp", r" && \(first == nullptr \|\| !first->ends_run\);", ";"),
    "a time limit that begins anew with each process": (
        of_rules("KnownDeadlines.*"), "agent/src/preemption/notices.cpp", r"if \(ends\.time_limit_since\) began = [^;]*;", ""),
    "two machines whose launches have one name": (
        of_session("LauncherVariables.*"), SESSION + "options/launch_names.cpp",
        r'if \(!is_on_one_machine\) return name;', "if (true) return name;"),
    "two launches of Open MPI that have one name": (
        of_session("LauncherVariables.*"), SESSION + "options/launch_names.cpp", r'\{"PMIX_NAMESPACE", ', "{"),
    "two launches of Hydra on one machine that have one name": (
        of_session("LauncherVariables.*"), SESSION + "options/launch_names.cpp",
        r' \+ "\\n" \+ \*proxy', ""),
    "a shell between Hydra and its rank that is another launch": (
        of_rules("LaunchNames.*"), SESSION + "options/launch_names.cpp", r"if \(!\*has_it\) ", ""),
    "a rank of mpirun that a shell's WORLD_SIZE makes alone": (
        of_session("LauncherVariables.*"), SESSION + "options/launcher_variables.cpp", r" \|\| !is_from_mpirun;", " || true;"),
    "a rank of mpirun that takes the place of a Slurm step's daemon": (
        of_session("LauncherVariables.*"), SESSION + "options/launcher_variables.cpp",
        r"if \(is_from_mpirun\)\s+return", "if (is_from_mpirun && !is_slurm_step(variables)) return"),
    "a launch of the program's that the launcher's variables replace": (
        of_rules("GroupOptionsTest.*"), SESSION + "options/options.cpp", r"if \(session::is_group_set\([^;]*;", ""),
    "a launch of the program's without a name": (
        of_rules("GroupOptionsTest.*"), SESSION + "options/check_group.cpp", r"if \(group\.name\.empty\(\)\)", "if (false)"),
    "a flag of the program that Ratoon takes": (
        of_rules("TakeOptions.*"), SESSION + "options/command_line.cpp", r" \|\| is_program_flag\(word, rules\)", ""),
    "a prefix that the program's own flag overrides": (
        of_rules("TakeOptions.*"), SESSION + "options/command_line.cpp", r" && !is_overridden\)", ")"),
    "an unknown flag of Ratoon that nothing reads": (
        of_rules("NearFlags.*"), SESSION + "options/command_line.cpp", r"if \(has_ratoon_prefix\(word\)\)", "if (false)"),
    "a value that is left when its flag is taken": (
        of_rules("TakeOptions.*"), SESSION + "options/command_line.cpp", r"found\.words = 2;", ""),
    "a rank that waits for a rank 0 that another launch keeps out": (
        ("group_link_test", "GroupLinkTest.*"), SESSION + "shutdown/group_end.cpp",
        r"return \*is_of_another_launch \? std::move\(beside\) : std::move\(folder\);", "return folder;"),
    "a rank that waits for a rank 0 that is kept out before the other launch has called": (
        ("group_link_test", "GroupLinkTest.*"), SESSION + "shutdown/group_end.cpp",
        r"if \(clock\.now\(\) >= give_up\) return options", "if (clock.now() <= give_up) return options"),
    "a second process of a rank that does not wait for the first one to call": (
        ("group_link_test", "GroupEndsTest.ARankThatIsThereTwice*"), SESSION + "shutdown/group_end.cpp",
        r"if \(is_of_another_launch\) return [^;]*;", "if (options.group.rank != 0) return beside;"),
    "a call of another launch that is swept while its rank waits": (
        ("group_link_test", "GroupLinkTest.*"), SESSION + "rendezvous/rendezvous_folder.cpp",
        r" && !may_have_call_of_running_process\(at->path\(\)\)\)", ")"),
    "two launches in one folder of the meeting": (
        ("group_link_test", "GroupLinkTest.*"), SESSION + "rendezvous/rendezvous_folder.cpp",
        r"if \(name != group\.name\) name \+= [^;]*;", ""),
    "a scraper that other clients leave without a connection": (
        ("metrics_test", "IdleConnections.*"), "agent/src/metrics/endpoint.cpp",
        r"options\.unauthenticated_connections_max = kConnectionsMax;", "options.connections_max = kConnectionsMax;"),
    "an epoch whose tail comes after its last step": (
        of_session("*EpochsTest*"), "agent/include/ratoon/session/epochs.h",
        r"if \(batches_->epoch_->is_over\(\)\) \{", "if (false) {"),
    "a best value whose step is not saved": (
        of_session("EngineAsks*"), SESSION + "engine/engine.cpp", r" \|\| is_best \|\|", " ||"),
    "a later rank 0 that does not know the best values": (
        of_session("EngineAsks*"), SESSION + "engine/engine_begin.cpp", r"best_checkpoints_\.resume\(resumed_->best\);", ""),
    "a best checkpoint that is not pinned": (
        of_session("EngineAsks*"), SESSION + "engine/engine_saves.cpp", r"reason_or_other_rank\(due\.keep\) : best;",
        "reason_or_other_rank(due.keep) : std::string();"),
    "one more best checkpoint than the program keeps": (
        of_session("BestCheckpoints.*"), SESSION + "state/best_checkpoints.cpp",
        r"list\.keep = noted\.how\.keep;", ""),
    "the later one of two equal best values": (
        of_session("BestCheckpoints.*"), SESSION + "state/best_checkpoints.cpp", r"value < than", "value <= than"),
    "a flag with a letter too many": (
        of_rules("NearFlags.*"), SESSION + "options/misspelled_flags.cpp", r"kDoubled : Typo::kAdded", "kDoubled : Typo::kOther"),
    "a short flag of the program's own that is refused": (
        of_rules("NearFlags.*"), SESSION + "options/misspelled_flags.cpp", r"known\.size\(\) > kShortFlagBytesMax",
        "known.size() > 0"),
    "what is behind -- and is no flag of ours": (
        of_rules("NearFlags.*"), SESSION + "options/command_line.cpp", r"    if \(word == \"--\"\) break;\n", ""),
    "a switch that takes the misspelt flag behind it for its value": (
        of_rules("NearFlags.*"), SESSION + "options/command_line.cpp", r" && argv\[at \+ 1\]\[0\] != '-'", ""),
}


def mutants():
    return of_rows(MUTANTS)


class SessionMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
