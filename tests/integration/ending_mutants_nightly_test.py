"""Mutants of how an attempt and a run end: wishes, returns before the end, steps behind it, last words, and what a run without a
save begins with again. With one rule of it broken a unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

SESSION = "agent/src/session/"


def of_session(tests):
    return "session_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a reason that stays with its rank": (
        ("session_test", "EngineAsksTest.*"), "agent/src/checkpoint/format/run_record.cpp",
        r"keep\.empty\(\) \|\| keep == kReasonOfAnotherRank \|\| ", "keep.empty() || "),
    "a step after the end that is deaf to signals": (
        ("session_test", "EngineAtEnd.*"), SESSION + "engine/engine_end.cpp",
        r"if \(now - \*told >= kLeavingCommitTimeout\) fail\([^;]*;", ""),
    "a word of completion that is not stopped": (
        ("coordinator_link_test", "*WaitForTheCoordinatorAtItsEnd"), SESSION + "shutdown/notice_setup.cpp",
        r"if \(pause_for\(kFinalAnswerTimeout, stop\)\) leaves\.request_stop\(\);", ""),
    "requests that a resume forgets": (
        ("session_test", "EngineAsksTest.*"), SESSION + "engine/engine_begin.cpp",
        r"    requests_\.resume\([^;]*;", ""),
    "a word of completion that cannot be called off": (
        ("coordinator_link_test", "*AWordOfCompletion*"), SESSION + "link/coordinator_link.cpp",
        r"message, timeouts_\.poll, leaves\)", "message, timeouts_.poll, {})"),
    "requests of a step before that one of this step takes the place of": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp",
        r"when == EffectTime::kAtOnce && due_requests_\.requests\.is_empty\(\)",
        "when == EffectTime::kAtOnce"),
    "requests that were resumed and that no rank is told": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp",
        r"(exchanged_requests_ = std::exchange\(requests_of_step_, \{\}\);\n  return )known;",
        r"\g<1>0;"),
    "a wish that takes effect before the other ranks know it": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp",
        r"return bits_of\(exchanged_requests_\.requests\);",
        "return bits_of(exchanged_requests_.requests) | bits_of(requests_of_step_.requests);"),
    "a run that ends at its last step and says that it was ended early": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp",
        r"    if \(\(agreed [^;]*asked->requests\.finish\.clear\(\);\n",
        ""),
    "a leave whose last words are lost": (
        of_session("Leaving.*"), SESSION + "shutdown/process_exit.cpp", r"  std::fflush\(nullptr\);\n", ""),
    "a leave for which all must be in the way": (
        of_session("Leaving.*"), SESSION + "shutdown/process_exit.cpp", r"return std::ranges::any_of\(",
        "return !conditions.list.empty() && std::ranges::all_of("),
    "a return before the end that completes the run": (
        of_session("TrainReturnsTest.*"), SESSION + "api/attempt_loop.cpp", r"      session\.refuse_early_return\(\);\n", ""),
    "an exception of the program behind which train() returns 0": (
        of_session("TrainReturnsTest.*:TrainTest.*"), SESSION + "api/train.cpp", r"    code = session::report_exception\(",
        "    static_cast<void>(code), session::report_exception("),
    "a caught end after which the function returns in peace": (
        of_session("TrainReturnsTest.*"), SESSION + "api/in_place.cpp",
        r"  if \(last_exception_\) std::rethrow_exception\(last_exception_\);\n", ""),
    "a caught end after which the loop goes on": (
        of_session("TrainSwallowedTest.*"), SESSION + "api/in_place.cpp",
        r"    if \(const auto swallowed = last_exception_\) std::rethrow_exception\(swallowed\);\n", ""),
    "a wait for news that is too short": (
        of_session("EngineReturnsTest.*"), SESSION + "engine/engine_end.cpp",
        r"while \(!wait\.is_over\(clock_\.now\(\)\)\);", "while (clock_.now() < give_up);"),
    "a program that is to blame for a silent coordinator": (
        of_session("EngineReturnsTest.*"), SESSION + "engine/engine_end.cpp", r"if \(wait\.was_coordinator_silent\(\)\)",
        "if (false)"),
    "a wish behind the last save that is lost": (
        of_session("EngineAtEnd.*"), SESSION + "engine/engine_end.cpp", r"    pin_for_late_requests\(\);\n", "return;"),
    "a full volume that ends a run with 84 at each of its starts": (
        of_session("EngineAtEnd.*"), SESSION + "engine/engine_end.cpp",
        r"if \(!pinned && pinned\.error\(\)\.kind\(\) == ErrorKind::kNoSpace\)", "if (false)"),
    "a wish that a resume at the end forgets": (
        of_session("ProgramRequests.*"), SESSION + "engine/program_requests.cpp",
        r"due_requests_\.requests = std::exchange\(resumed_requests_, \{\}\);\n  end_run",
        "due_requests_.requests = {};\n  end_run"),
    "a loop in place that goes on after finish()": (
        of_session("InPlaceTest.FinishEndsTheLoopAndTheRun"), SESSION + "api/in_place.cpp", r"return !is_over\(\);",
        "return true;"),
    "a step in place after the end": (
        of_session("InPlaceTest.AStepAfterTheEnd*"), SESSION + "engine/engine.cpp",
        r"  if \(schedule_->is_over\(\)\) refuse_step_after_end\(\);\n", ""),
    "a tensor that is gone since the beginning and is not missed": (
        of_session("StartSnapshot.*"), SESSION + "state/start_snapshot.cpp",
        r'return known == snapshot_->tensors\.size\(\) \? "" : snapshot_->tensors\.begin\(\)->first;', 'return "";'),
    "a tensor that came since the beginning and stays": (
        of_session("StartSnapshot.*"), SESSION + "state/start_snapshot.cpp",
        r"if \(at == snapshot_->tensors\.end\(\)\) return tensor\.name;", "if (at == snapshot_->tensors.end()) continue;"),
    "the first state of a rank in a world of another size": (
        of_session("StartSnapshot.*"), SESSION + "state/start_snapshot.cpp",
        r" && snapshot_->world_size == assignment\.world_size;", ";"),
    "a generator that is seeded by its rank and no fresh start saves": (
        of_session("StartSnapshot.*"), SESSION + "state/start_snapshot.cpp", r"state\.seeded_tensors\.contains\(name\) \|\| ",
        ""),
    "a parameter that only begins in what is tracked": (
        of_session("TrainUntracked.*:TrackedObjects.*"), SESSION + "state/tracked_objects.cpp",
        r"std::prev\(next\)->second, begin \+ changed\.memory\.bytes\)", "std::prev(next)->second, begin + 1)"),
    "an exit with 0 in the loop that is a success": (
        of_session("InPlaceTest.*"), SESSION + "shutdown/exit_watch.cpp",
        r"if \(is_own_thread\) exit_now\(find_exit_code\(\)\);", "if (is_own_thread) return;"),
    "an exit with 0 of another thread that is taken for one of the training thread": (
        of_session("InPlaceTest.ExitWithZero*"), SESSION + "shutdown/exit_watch.cpp",
        r"is_own_thread = exit_handler_state\(\)\.thread == [^;]*;", "is_own_thread = true;"),
    "an exit code of the program's own that is replaced": (
        of_session("InPlaceTest.*"), SESSION + "shutdown/exit_watch.cpp",
        r"  if \(\(static_cast<unsigned>\(status\) & kByteOfProcess\) != 0\) return;\n", ""),
    "an exit of a child that was forked and is refused": (
        of_session("InPlaceTest.AChild*"), SESSION + "shutdown/exit_watch.cpp",
        r"  if \(exit_handler_state\(\)\.process != ::getpid\(\)\) return;\n", ""),
    "a complete run whose exit is refused": (
        of_session("InPlaceTest.*"), SESSION + "shutdown/exit_watch.cpp",
        r"  exit_handler_state\(\)\.find_exit_code = nullptr;\n  exit_handler_state\(\)\.process = 0;\n", ""),
    "a forked child that trains on": (
        ("session_begin_test", "ForkedSessionTest.*"), SESSION + "shutdown/exit_watch.cpp",
        r"if \(watched_one == 0 \|\| watched_one == ::getpid\(\)\) return;", "if (watched_one != 1) return;"),
    "an end of the run with a checkpoint that is not the last": (
        ("coordinator_test", "CoordinatorTest.*:JobSessionRefuses.*:JobSession.*"), "operator/coordinator/job_session.cpp",
        r"\(!is_passed && may_be_final_checkpoint\(last, told\.attempt, told\.step, told\.digest\)\)\)\s+continue;",
        "!is_passed) continue;"),
}


def mutants():
    return of_rows(MUTANTS)


class EndingMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
