"""Mutants of the agent, of what is said on the wire and of the commands, which unit tests have to catch: commit, retention,
claims, cover, choice and rollback of checkpoints; the session's rules; the data loader; the contract; `ratoon`."""

import unittest

from mutants import MutantTest, of_rows

CHECKPOINT = "agent/src/checkpoint/"
SESSION = "agent/src/session/"
LOADER = "agent/src/data/loader/"
CONTRACT = "base/contract/"
DEVICES = "agent/src/devices/"


def of_checkpoint(tests):
    return "checkpoint_test", tests


def of_tiers(tests):
    return "tiers_test", tests


def of_packs(tests):
    return "pack_test", tests


def of_session(tests):
    return "session_rules_test", tests


def of_devices(tests):
    return "devices_rules_test", tests


def of_loader(tests):
    return "data_loader_test", tests


def of_contract(tests):
    return "contract_test", tests


def of_words(tests):
    return "words_property_test", tests


def of_strangers(tests):
    return "stranger_corpus_test", tests


# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a receipt of another rank": (
        of_checkpoint("*"), CHECKPOINT + "commit.cpp", r"if \(receipt->rank != rank\) return [^;]*;", ""),
    "a checkpoint that is not whole": (
        of_checkpoint("*"), CHECKPOINT + "commit.cpp", r"if \(auto covered = check_cover\(\*index\); !covered\) return [^;]*;",
        ""),
    "a pin that is wished and not made": (
        of_checkpoint("*"), CHECKPOINT + "commit.cpp",
        r"if \(auto pinned = pin_as_wished\(disk, manifest, mark\); !pinned\) return [^;]*;", ""),
    "a milestone that goes": (of_checkpoint("Retention.*"), CHECKPOINT + "retention.cpp", r"!is_milestone && ", ""),
    "a pin that goes": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention.cpp", r"&& !one\.is_pinned && one\.id\.attempt <= own",
        "&& one.id.attempt <= own"),
    "a cap that takes the newest": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention.cpp", r"i-- > 1 && kept_bytes", "i-- > 0 && kept_bytes"),
    "the last copy that no store has": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention.cpp", r"!\(is_only_in_store && one\.is_in_store\)",
        "!is_only_in_store"),
    "a rollback that is taken back and stands": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "rollback.cpp",
        r"while \(!standing\.empty\(\) && next\.to\.attempt < standing\.back\(\)\.attempt\) standing\.pop_back\(\);", ""),
    "a rollback that gives up what came after it": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "rollback.cpp", r"id\.attempt < one\.attempt && ", ""),
    "samples that are passed over twice": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "rollback.cpp",
        r"if \(resumed\.attempt < one\.attempt\) cursor = ", "cursor = "),
    "a record of another rollback": (
        of_checkpoint("*RollbackTest.*"), CHECKPOINT + "rollback_files.cpp", r"if \(\*there != rollback\)", "if (false)"),
    "a record of a rollback that cannot be read": (
        of_checkpoint("*RollbackTest.*"), CHECKPOINT + "rollback_files.cpp",
        r"if \(!rollback\) return rollback\.error\(\);\n    all", "if (!rollback) continue;\n    all"),
    "a claim whose owner is alive": (
        of_tiers("*ClaimTest.*:JudgeClaim.*"), CHECKPOINT + "tiers/claim_rules.cpp",
        r"return has_shown_life && seen\.watched >= borne \? ClaimVerdict::kRefuse : ", "return "),
    "a namesake taken for the same job": (
        of_tiers("Kinship.*"), CHECKPOINT + "tiers/claim_rules.cpp",
        r"return are_places \? Kinship::kOther : Kinship::kNamesake;", "return Kinship::kSame;"),
    "a claim that is older than the newest": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"numbers->back\(\) == number;", "numbers->back() >= number;"),
    "a place that is another's now and is renewed": (
        of_tiers("*ClaimTest.*"), CHECKPOINT + "tiers/claim.cpp", r"if \(!is_ours\) return lost;", ""),
    "the oldest checkpoint instead of the newest": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp",
        r"std::map<CheckpointId, TieredCheckpoint, std::greater<>>", "std::map<CheckpointId, TieredCheckpoint, std::less<>>"),
    "checkpoints of two runs that are mixed": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"if \(!is_new && known\.digest != entry\.digest\)",
        "if (false)"),
    "a run that is begun anew without leave": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"if \(!wishes\.overwrites\) return [^;]*;", ""),
    "bad in one tier and taken from none": (
        of_tiers("ResumeChoice.*"), CHECKPOINT + "tiers/resume_choice.cpp", r"else if \(!complete\.contains\(id_of\(entry\)\)\)",
        "else if (complete.erase(id_of(entry)), true)"),
    "a hole in a tensor": (
        of_packs("Cover.*"), CHECKPOINT + "pack/cover.cpp", r"return not_covered\(index, tensor, \*fault\);",
        "if (fault->times != 0) return not_covered(index, tensor, *fault);"),
    "parts of a tensor that overlap": (
        of_packs("Cover.*"), CHECKPOINT + "pack/cover.cpp", r"return not_covered\(index, tensor, \*fault\);",
        "if (fault->times == 0) return not_covered(index, tensor, *fault);"),

    "a rollback that is made with each start": (
        of_session("RollbackPlan.*"), SESSION + "rollback_plan.cpp", r"if \(made != plan\.in_force\.end\(\)\)", "if (false)"),
    "a rollback beside which another one may be picked": (
        of_session("RollbackPlan.*"), SESSION + "rollback_plan.cpp", r"if \(checkpoint::id_of\(entry\) == \*plan\.to\)\n",
        "if (true)\n"),
    "a run that is over a step late": (
        of_session("Until.*:Course.*"), SESSION + "until.cpp", r"count_of\(position, amount_\.unit\) >= total\(position\)",
        "count_of(position, amount_.unit) > total(position)"),
    "a save that is due nowhere": (
        of_session("Every.*"), SESSION + "every.cpp", r"return crossed\([^;]*;", "return after.steps == before.steps;"),
    "a difference of numerics that nobody is told": (
        of_session("Numerics*"), SESSION + "numerics_watch.cpp", r"\|\| before == now\) return;", "|| before != now) return;"),
    "a hand-over that waits for a minute whatever saves take": (
        ("session_test", "EngineTest.*"), SESSION + "drain.cpp", r"return std::max\(kCommitPatience, [^;]*;",
        "return kCommitPatience;"),
    "a save that is asked for while another is under way": (
        ("session_test", "EngineTest.*"), SESSION + "engine.cpp", r" && !is_save_under_way\(\)", ""),
    "a save on notice beside which the hand-over's does not fit": (
        ("session_test", "Drain.*"), "agent/src/preemption/drain_facts.cpp", r"\n  facts\.has_saved = true;", ""),
    "a notice that is over and joins a world": (
        ("session_test", "Drain.*"), SESSION + "drain.cpp",
        r"if \(told_\.terminate\.count == 0 && !is_over\) return std::nullopt;",
        "if (told_.terminate.count == 0) return std::nullopt;"),
    "wishes that a resume forgets": (
        ("session_test", "EngineAsksTest.*"), SESSION + "engine_begin.cpp",
        r"if \(assignment_\.resume && resumed_\) wishes_\.resume\([^;]*;", ""),
    "a reason that stays with its rank": (
        ("session_test", "EngineAsksTest.*"), "agent/src/checkpoint/run_record.cpp",
        r"\(keep == kAnotherRank && !other\.keep\.empty\(\)\)", "false"),
    "a handler of the program that hides a signal": (
        ("session_test", "Signals.*:TrainReturnsTest.*"), SESSION + "signals.cpp",
        r"if \(!is_ours\(now\) && is_handler\(now\)\) [^;]*;", ""),
    "a handler that hears itself": (
        ("session_test", "Signals.*"), SESSION + "signals.cpp", r"if \(is_inside\) return;", ""),
    "Ctrl-C that stops nothing": (
        ("session_test", "Drain.*"), SESSION + "drain.cpp", r"if \(is_interrupted\(\)\) bits \|= [^;]*;", ""),

    "a copied folder that keeps the identity of its original": (
        of_session("IdentityOfAFolder.*"), SESSION + "identity.cpp", r"return identity_there\(\*kept, \*mark\);", "return kept;"),
    "a leftover of one's own that stands in the way": (
        ("disk_test", "Leftovers*"), CHECKPOINT + "disk/durable.cpp",
        r"if \(file \|\| file\.error\(\)\.kind\(\) != ErrorKind::kAlreadyExists\) return file;", "return file;"),
    "a store without a lock that is passed over in silence": (
        of_session("FolderLock.*"), SESSION + "folder_lock.cpp", r"warnings\.push_back\([^;]*;", "static_cast<void>(0);"),
    "a store whose lock is not taken": (
        of_session("FolderLock.*"), SESSION + "folder_lock.cpp",
        r"(for \(const auto& folder : folders_of_stores\(options\)\) \{)", r"\1 if (true) continue;"),
    "a step after the end that is deaf to signals": (
        ("session_test", "EngineAtEnd.*"), SESSION + "engine_end.cpp",
        r"if \(now - \*told >= kCommitUnderWay\) fail\([^;]*;", ""),
    "a word of completion that cannot be called off": (
        ("coordinator_link_test", "*AWordOfCompletion*"), SESSION + "coordinator_link.cpp",
        r"message, patience_\.poll, leaves\)", "message, patience_.poll, {})"),
    "a word of completion that is not stopped": (
        ("coordinator_link_test", "*WaitForTheCoordinatorAtItsEnd"), SESSION + "notice_setup.cpp",
        r"if \(pause_for\(kLastWord, stop\)\) leaves\.request_stop\(\);", ""),

    "an address without its colon that is taken for a folder": (
        of_session("CheckPlaces.*"), "agent/src/objects/store_uri.cpp",
        r"return rest\.starts_with\(\"//\"\) \? \":\" : \"\";", "return \"\";"),

    "a batch that is given before an earlier one": (
        of_loader("ReadingAhead.*:DataLoader.*:LoaderResume.*"), LOADER + "prefetcher.cpp",
        r"const std::shared_ptr<Cell> head = ring_\.front\(\);\n  if \(head->failure != nullptr\) \{",
        "std::swap(ring_.front(), *std::find_if(ring_.rbegin(), ring_.rend(), [](const auto& cell) { return cell->state == "
        "State::kMade; }));\n  const std::shared_ptr<Cell> head = ring_.front();\n  if (head->failure != nullptr) {"),
    "a failure that costs its batch": (
        of_loader("*Failures.*"), LOADER + "prefetcher.cpp",
        r"ring_\.front\(\) = new_cell\(course_, head->maker->index\(\)\);\n    ring_\.front\(\)->maker->replace\([^;]*;",
        "ring_.push_back(new_cell(course_, next_index_++));\n    ring_.pop_front();"),
    "a failure that names another sample": (
        of_loader("*Failures.*"), LOADER + "sample_failure.cpp", r"std::to_string\(slot\.sample\)",
        "std::to_string(slot.sample + 1)"),

    "a point that one of all can reach": (
        of_contract("PickResumePoint.*"), CONTRACT + "resume_point.cpp",
        r"candidate\.second\.holders\.size\(\) == joiners\.size\(\)", "!candidate.second.holders.empty()"),
    "a point that a joiner cannot read": (
        of_contract("PickResumePoint.*"), CONTRACT + "resume_point.cpp", r"if \(entry\.is_complete\) continue;", "continue;"),
    "ranks that go back to different steps": (
        of_contract("RollbackDispute.*"), CONTRACT + "resume_point.cpp",
        r"if \(joiners\[rank\]\.rollback == joiners\[0\]\.rollback\) continue;", "continue;"),
    "a tier that nobody knows": (
        of_contract("Refusals.*"), CONTRACT + "pieces.cpp",
        r"if \(std::find\(kTiers\.begin\(\), kTiers\.end\(\), e\.tier\) == kTiers\.end\(\)\)", "if (false)"),
    "the last complaint instead of the first": (
        of_contract("Fields.*"), CONTRACT + "fields.cpp", r"  if \(!is_sound\(\)\) return;\n  const auto found",
        "  const auto found"),
    "a number over its bound": (
        of_contract("Refusals.*:Fields.*"), CONTRACT + "fields.cpp", r" \|\| value->get<std::uint64_t>\(\) > max\)", ")"),

    "a sentence that is longer than the other side takes": (
        of_words("LawOfWords.*"), CONTRACT + "pieces.cpp", r"return cut_text\((as_utf8\(.*\)), kSentenceBytesMax\);",
        r"return \1;"),
    "a sentence that grows behind the cut": (
        of_words("LawOfWords.*"), CONTRACT + "pieces.cpp", r"as_utf8\(text\.empty\(\) \? otherwise : text\)",
        "std::string(text.empty() ? otherwise : text)"),
    "a span of time without an end": (
        of_words("LawOfWords.*"), CONTRACT + "pieces.cpp", r"std::min\(seconds, kSecondsMax\)", "seconds"),
    "a list that is longer than the other side takes": (
        of_words("LawOfWords.*"), CONTRACT + "joining_messages.cpp", r"first_of\(m\.inventory, kInventoryMax\)", "m.inventory"),
    "a request for two hosts": (
        of_strangers("*"), "base/http/request_parser.cpp", r"count_of\(fields, field::host\) > 1 \|\| ", ""),
    "an answer behind the last one": (
        of_strangers("*"), "base/http/server_session.cpp", r"if \(keeps_alive_ && !has_input_ended_\)",
        "if (!has_input_ended_)"),

    "a process that is started again without end": (
        ("supervision_test", "SupervisionTest.*"), "cli/launch/supervision.cpp", r" && slot\.quick_ends <= restarts_max_", ""),
    "a process that is started again after a stop": (
        ("supervision_test", "SupervisionTest.*"), "cli/launch/supervision.cpp", r"&& !is_stopping_ ", ""),
    "gc that takes a pinned one from the quarantine": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp",
        r"found\.id < plan\.newest &&\n\s*!found\.is_pinned\)",
        "found.id < plan.newest)"),
    "gc beside a newest one that is bad": (
        ("checkpoint_commands_test", "*GcTest.*"), "cli/checkpoint/gc.cpp", r"if \(verified\.verdict != Verdict::kGood\)",
        "if (false)"),
    "a misspelt field that passes": (
        ("job_file_test", "JobFieldsTest.*"), "cli/job_fields.cpp",
        r"if \(!known\) return unknown\(item\.first, schema, path\);", "if (!known) continue;"),
    "a process that goes on after an abort that does not end": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"abort == AbortResult::kOverdue\)\n    why",
        "false)\n    why"),
    "a process that goes on with a device that fails": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(probe == ProbeResult::kSticky\)\n    why",
        "if (false)\n    why"),
    "a node whose memory has an uncorrectable error is kept": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(facts\.has_uncorrectable_error\)", "if (false)"),
    "a device that is gone taken for a configuration": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"if \(facts\.is_device_missing\)", "if (false)"),
    "a row that waits for a reset and explains everything": (
        of_devices("FaultDecision.*"), DEVICES + "fault_decision.cpp", r"is_remap_pending && may_be_hardware",
        "is_remap_pending"),
    "an ECC error taken for the program's": (
        of_devices("FaultDecision.*"), DEVICES + "cuda_errors.cpp", r"\{214, (\S+) CudaErrorClass::kHardware",
        r"{214, \1 CudaErrorClass::kKernelFault"),
    "a kernel that read a lost peer's memory taken for the program's error": (
        of_devices("FaultDecision.*"), DEVICES + "fault_opinion.cpp", r"if \(has_lost_peer\) \{", "if (false) {"),
    "an Xid that a program's kernel causes taken for broken hardware": (
        of_devices("Xids.*"), DEVICES + "xids.cpp", r"\{31, false", "{31, true"),
}


def mutants():
    return of_rows(MUTANTS)


class AgentMutants(MutantTest):
    def test_each_turns_a_test_red(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        first_of_each = {mutant.program: mutant for mutant in mutants()}
        self.check_sound(first_of_each.values())


if __name__ == "__main__":
    unittest.main(verbosity=2)
