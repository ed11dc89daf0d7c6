"""Mutants of the checkpoint engine: with one checksum, sync, rename or check of cover left out, a test of crashes or damage
must turn red. Each mutant is one source file, compiled again and linked before the library that holds the sound one."""

import unittest

from mutants import Mutant, MutantTest

ENGINE = "agent/src/checkpoint/"

# what is left out: (file, [(pattern, instead)], test program, its filter)
MUTANTS = {
    "sums of blocks": ("load/pack_reader.cpp", [(r"if \(crc32c\(one\) != ", "if (false && crc32c(one) != ")],
                       "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "hashes of tensors": ("load/pack_reader.cpp", [(r"if \(xxh3_128\(into\) == header_\.hashes\.at\(index\)\) ", "")],
                          "checkpoint_test", "*"),
    "digest of a header": ("load/pack_reader.cpp", [(r"if \(digest != record\.header_digest\)", "if (false)")],
                           "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "checksum of a manifest": ("format/sealed_json.cpp", [(r"if \(text\.substr\(body\.size\(\)\) != checksum_line\(body\)\)",
                                                 "if (false)")],
                               "checkpoint_damage_test", "Damage.OfTheNewest*"),
    "votes of all ranks": ("commit/commit.cpp", [(r"if \(!\*receipt\) return [^;]*;", "if (!*receipt) continue;")],
                           "checkpoint_zombie_test", "Ranks.*"),
    "sync of a manifest": ("disk/durable.cpp", [(r"if \(lasts == Durability::kSurvivesPowerCuts\) \{", "if (false) {")],
                           "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of a name": ("disk/durable.cpp", [(r"(renamed\) return renamed;\n  )return disk\.sync_folder\(folder_of\(path\)\);",
                                             r"\1return {};")],
                       "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of folders": ("disk/durable.cpp",
                        [(r"return lasts == Durability::kSurvivesPowerCuts \? disk\.sync_folder\(above\) : ", "return ")],
                        "checkpoint_crash_test", "*SeveralBlocks"),
    "sync of a pack": ("saver/pack_writer.cpp",
                       [(r"if \(auto synced = \(\*file\)->sync\(\); !synced\) return synced\.error\(\);", "")],
                       "checkpoint_crash_test", "*SeveralBlocks"),
    "rename of a manifest": ("disk/durable.cpp", [(r"(save_durably\([^{]*\{\n[^\n]* = )temporary_path\(path, mark\)", r"\1path"),
                                                  (r"(save_without_sync\([^{]*\{\n[^\n]* = )temporary_path\(path, mark\)",
                                                   r"\1path"),
                                                  (r"saved = rename_durably\(disk, temporary, path\)",
                                                   "saved = disk.sync_folder(folder_of(path))"),
                                                  (r"saved = disk\.rename_no_replace\(temporary, path\)",
                                                   "saved = Result<void>()")],
                             "checkpoint_crash_test", "*SeveralBlocks"),
    "owners of packs": ("commit/commit.cpp", [(r"if \(const auto mixture = find_two_owners\(receipts\)\)\s+return [^;]*;", "")],
                        "two_owners_test", "*MixNoCheckpoint"),
    "sync of a claim": ("tiers/claim.cpp", [(r"save_durably\(disk, claim_path", "save_without_sync(disk, claim_path")],
                        "two_owners_test", "*LoseAndMixNothing"),
}


def mutants():
    return [Mutant(f"without {what}", ENGINE + file, tuple(changes), program, tests)
            for what, (file, changes, program, tests) in MUTANTS.items()]


class Mutants(MutantTest):
    def test_each_is_caught(self):
        self.check_each(mutants())

    def test_what_is_left_as_it_is_passes(self):
        self.check_sound([mutant for mutant in mutants() if mutant.source.endswith("durable.cpp")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
