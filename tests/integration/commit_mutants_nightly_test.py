"""Mutants of what makes a checkpoint one and keeps it: commit, cover, retention, pins and rollbacks. With one rule of it broken a
unit test must turn red."""

import unittest

from mutants import MutantTest, TableOfMutants, of_rows

CHECKPOINT = "agent/src/checkpoint/"
SESSION = "agent/src/session/"


def of_checkpoint(tests):
    return "checkpoint_test", tests


def of_packs(tests):
    return "pack_test", tests


def of_rules(tests):
    return "session_rules_test", tests

# what is broken: (tests, file, pattern, instead)
MUTANTS = {
    "a receipt of another rank": (
        of_checkpoint("RunStoreTest.*"), CHECKPOINT + "commit/commit.cpp", r"if \(receipt->rank != rank\)\s+return [^;]*;", ""),
    "a checkpoint that was complete before the next one and is passed over": (
        ("staging_test", "SaverOfTwoTest.*"), CHECKPOINT + "saver/save_pipeline_commits.cpp",
        r"if \(commits && i > 0 && !are_older_settled && ", "if (false && commits && i > 0 && !are_older_settled && "),
    "a receipt that is read again when its checkpoint is committed": (
        ("staging_test", "SaverOfTwoTest.*"), CHECKPOINT + "saver/save_pipeline_commits.cpp",
        r"pack\.world_size, receipts\); \}\);", "pack.world_size, receipts); });\n  receipts.clear();"),
    "a slot that is kept by a save that ran out of memory": (
        ("staging_memory_test", "StageThrows.*"), CHECKPOINT + "saver/save_pipeline_trainer.cpp",
        r"if \(!slot\.is_read_by_writer\) release_slot\(number\);\n    if \(thrown\)",
        "if (!slot.is_read_by_writer && !thrown) release_slot(number);\n    if (thrown)"),
    "a note of a commit that a power cut takes": (
        of_checkpoint("SignOfACommitAfterAPowerCut.*"), CHECKPOINT + "commit/lost_manifests.cpp",
        r"  static_cast<void>\(disk\.sync_folder\(kPacks\)\);\n", ""),
    "a checkpoint that is not whole": (
        of_checkpoint("*"), CHECKPOINT + "commit/commit.cpp",
        r"if \(auto covered = check_cover\(\*index\); !covered\)\s+return [^;]*;",
        ""),
    "a pin that is wished and not made": (
        of_checkpoint("PinOfACommit.*"), CHECKPOINT + "commit/commit.cpp",
        r"if \(auto pinned = pin_if_requested\(disk, manifest, mark\); !pinned\) return [^;]*;", ""),
    "a pin of save_best that its successor leaves": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp",
        r"!kept\.contains\(id\) && is_pin_of_save_best\(disk, id\)", "false"),
    "a pin that a person makes after unpin(), and that the next checkpoint removes": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp",
        r"if \(earlier != there->end\(\) && \*earlier < manifest\.id\) continue;", ""),
    "a pin of the checkpoint that requests to unpin its own step": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp", r"(!= one\.step) \|\| id >= one\.since", r"\1"),
    "a pin of a person that save_best removes": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp",
        r"!kept\.contains\(id\) && is_pin_of_save_best\(disk, id\)", "!kept.contains(id)"),
    "a pin of save_best that is removed before the pin of a person is there": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp",
        r"    const auto added = save_durably\(disk, second_pin_path",
        "    static_cast<void>(unpin(disk, id));\n    const auto added = save_durably(disk, second_pin_path"),
    "what is left of a pinned checkpoint and is removed": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/retention.cpp",
        r"if \(named->contains\(id\) && pinned->contains\(id\) && has_any_pack\(disk, id\)\) continue;", ""),
    "a manifest that is misread once and loses its parts": (
        of_checkpoint("BadWay.*"), CHECKPOINT + "parts/part_files.cpp",
        r"const auto packs = read_file_with_retry\(disk, path, \[&\]\(\) -> Result<std::vector<PackRecord>> \{",
        "const auto packs = std::invoke([&]() -> Result<std::vector<PackRecord>> {"),
    "a pin of a newer checkpoint that an older manifest removes": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "retention/pins.cpp", r"id <= manifest\.id && !kept", "!kept"),
    "a best checkpoint that one beats which does not exist": (
        of_checkpoint("*PinsTest.*"), CHECKPOINT + "format/run_record.cpp",
        r"      if \(!there\.contains\(one\.id\)\) continue;\n",
        ""),
    "a milestone that goes": (of_checkpoint("Retention.*"), CHECKPOINT + "retention/retention.cpp", r"!is_milestone && ", ""),
    "a pin that goes": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention/retention.cpp", r"&& !one\.is_pinned && one\.id\.attempt <= own",
        "&& one.id.attempt <= own"),
    "a cap that takes the newest": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention/retention.cpp", r"i-- > 1 && kept_bytes", "i-- > 0 && kept_bytes"),
    "the last copy that no store has": (
        of_checkpoint("Retention.*"), CHECKPOINT + "retention/retention.cpp", r"!\(is_only_in_store && one\.is_in_store\)",
        "!is_only_in_store"),
    "a rollback that is taken back and stands": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "format/rollback.cpp",
        r"while \(!standing\.empty\(\) && next\.to\.attempt < standing\.back\(\)\.attempt\) standing\.pop_back\(\);", ""),
    "a rollback that gives up what came after it": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "format/rollback.cpp", r"id\.attempt < one\.attempt && ", ""),
    "samples that are passed over twice": (
        of_checkpoint("Rollback.*"), CHECKPOINT + "format/rollback.cpp",
        r"if \(resumed\.attempt < one\.attempt\) cursor = ", "cursor = "),
    "a record of another rollback": (
        of_checkpoint("*RollbackTest.*"), CHECKPOINT + "commit/rollback_files.cpp", r"if \(\*there != rollback\)", "if (false)"),
    "a record of a rollback that cannot be read": (
        of_checkpoint("*RollbackTest.*"), CHECKPOINT + "commit/rollback_files.cpp",
        r"if \(!rollback\) return rollback\.error\(\);\n    all", "if (!rollback) continue;\n    all"),
    "a hole in a tensor": (
        of_packs("Cover.*"), CHECKPOINT + "pack/cover.cpp", r"return not_covered_error\(index, tensor, \*fault\);",
        "if (fault->times != 0) return not_covered_error(index, tensor, *fault);"),
    "parts of a tensor that overlap": (
        of_packs("Cover.*"), CHECKPOINT + "pack/cover.cpp", r"return not_covered_error\(index, tensor, \*fault\);",
        "if (fault->times == 0) return not_covered_error(index, tensor, *fault);"),
    "a leftover of one's own that stands in the way": (
        ("disk_test", "Leftovers*"), CHECKPOINT + "disk/durable.cpp",
        r"if \(file \|\| file\.error\(\)\.kind\(\) != ErrorKind::kAlreadyExists\) return file;", "return file;"),
    "a rollback that is made with each start": (
        of_rules("RollbackPlan.*"), SESSION + "locations/rollback_plan.cpp", r"if \(made != plan\.earlier_rollbacks\.end\(\)\)",
        "if (false)"),
    "a rollback beside which another one may be picked": (
        of_rules("RollbackPlan.*"), SESSION + "locations/rollback_plan.cpp", r"if \(checkpoint::id_of\(entry\) == \*plan\.to\)\n",
        "if (true)\n"),
}


def mutants():
    return of_rows(MUTANTS)


class CommitMutants(TableOfMutants, MutantTest):
    mutants = staticmethod(mutants)


if __name__ == "__main__":
    unittest.main(verbosity=2)
