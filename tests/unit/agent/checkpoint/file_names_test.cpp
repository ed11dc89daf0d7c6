#include "agent/src/checkpoint/format/file_names.h"

#include <gtest/gtest.h>

namespace ratoon::checkpoint::file_names_test {
namespace {

constexpr CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

TEST(FileNames, AreThoseOfTheFormat) {
  EXPECT_EQ(manifest_path(id(3, 1200)), "manifests/s0000001200.a0003.json");
  EXPECT_EQ(packs_folder(id(3, 1200)), "packs/a0003/s0000001200");
  EXPECT_EQ(receipts_folder(id(3, 1200)), "receipts/a0003/s0000001200");
  EXPECT_EQ(pack_path(id(3, 1200), Rank(2)), "packs/a0003/s0000001200/r0002.safetensors");
  EXPECT_EQ(receipt_path(id(3, 1200), Rank(65535)), "receipts/a0003/s0000001200/r65535.json");
  EXPECT_EQ(history_path(Attempt(3)), "history/a0003.jsonl");
  EXPECT_EQ(rollback_path(Attempt(3)), "rollbacks/a0003.json");
}

TEST(FileNames, GrowWhereTheirDigitsDoNotSuffice) {
  EXPECT_EQ(name_in(manifest_path(id(123456, 12345678901))), "s12345678901.a123456.json");
}

TEST(ParseHistoryName, ReadsWhatWeGiveOurselvesAndNothingElse) {
  for (const std::uint64_t attempt : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{123456}, kAttemptMax})
    EXPECT_EQ(parse_history_name(name_in(history_path(Attempt(attempt)))), Attempt(attempt));
  for (const char* name :
       {"", "a0003", ".jsonl", "a3.jsonl", "a00003.jsonl", "a0003.jsonl.bak", "s0003.jsonl"})
    EXPECT_EQ(parse_history_name(name), std::nullopt) << name;
}

TEST(ParseRollbackName, ReadsWhatWeGiveOurselvesAndNothingElse) {
  for (const std::uint64_t attempt : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{123456}, kAttemptMax})
    EXPECT_EQ(parse_rollback_name(name_in(rollback_path(Attempt(attempt)))), Attempt(attempt));
  for (const char* name : {"", "a0003", ".json", "a3.json", "a0003.jsonl", "s0000000010.a0003.json"})
    EXPECT_EQ(parse_rollback_name(name), std::nullopt) << name;
  const std::string temporary = temporary_path(rollback_path(Attempt(3)), "0123");
  EXPECT_EQ(parse_temporary_rollback_name(name_in(temporary)), Attempt(3));
  EXPECT_EQ(parse_temporary_manifest_name(name_in(temporary)), std::nullopt);
  EXPECT_EQ(parse_temporary_rollback_name(name_in(temporary_path(manifest_path(id(3, 10)), "0123"))),
            std::nullopt);
}

TEST(ParseManifestName, ReadsWhatWeGiveOurselves) {
  for (const auto& known :
       {id(0, 0), id(3, 1200), id(9999, 9999999999), id(123456, 12345678901), id(kAttemptMax, kNumberMax)}) {
    EXPECT_EQ(parse_manifest_name(name_in(manifest_path(known))), known);
  }
}

TEST(ParseManifestName, ReadsNothingElse) {
  for (const char* name : {"",
                           ".",
                           "s",
                           "s.a",
                           "s.a.json",
                           "latest",
                           "HEAD",
                           "s0000001200.a0003",
                           "s0000001200.a0003.json.bak",
                           ".s0000001200.a0003.json.tmp-0123456789abcdef",
                           "s0000001200.a0003.JSON",
                           "S0000001200.a0003.json",
                           "s0000001200.A0003.json",
                           "s1200.a3.json",
                           "s00000001200.a0003.json",
                           "s0000001200.a00003.json",
                           "s+000001200.a0003.json",
                           "s-000001200.a0003.json",
                           "s0000001200.a-003.json",
                           "s 000001200.a0003.json",
                           "s0x00001200.a0003.json",
                           "s0000001200..a0003.json",
                           "s0000001200.a0003.a0004.json",
                           "s0000001200a0003.json",
                           "s99999999999999999999.a0003.json",
                           "s0000001200.a18446744073709551616.json",
                           "a0003.s0000001200.json",
                           "s0000001200.a0003.json\n",
                           "x0000001200.a0003.json",
                           "s0000001200.a",
                           "s0000001200.a.json"}) {
    EXPECT_EQ(parse_manifest_name(name), std::nullopt) << name;
  }
  EXPECT_EQ(parse_manifest_name(std::string_view("s0000001200.a0003.json\0", 23)), std::nullopt);
}

// The next attempt's number would be one that no manifest can hold, or 0 again.
TEST(FileNames, AreSomebodyElsesWhereTheirNumberIsTooGreat) {
  for (const std::uint64_t number : {kAttemptMax + 1, kNumberMax, ~std::uint64_t{0}}) {
    const std::string attempt = std::string(name_in(history_path(Attempt(number))));
    EXPECT_EQ(parse_history_name(attempt), std::nullopt);
    EXPECT_EQ(parse_attempt_name(attempt.substr(0, attempt.find('.'))), std::nullopt);
    EXPECT_EQ(parse_rollback_name(name_in(rollback_path(Attempt(number)))), std::nullopt);
    EXPECT_EQ(parse_manifest_name(name_in(manifest_path(id(number, 1)))), std::nullopt);
    EXPECT_TRUE(has_number_above_limit(attempt.substr(0, attempt.find('.'))));
    EXPECT_TRUE(has_number_above_limit(attempt));
    EXPECT_TRUE(has_number_above_limit(name_in(manifest_path(id(number, 1)))));
  }
  for (const std::uint64_t number : {kNumberMax + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(parse_step_name(name_in(packs_folder(id(1, number)))), std::nullopt);
    EXPECT_EQ(parse_manifest_name(name_in(manifest_path(id(1, number)))), std::nullopt);
    EXPECT_TRUE(has_number_above_limit(name_in(manifest_path(id(1, number)))));
  }
  EXPECT_TRUE(has_number_above_limit("a99999999999999999999"));
}

TEST(FileNames, AreNotBeyondCountingWhereTheyAreOursOrNothingLikeOurs) {
  for (const std::string& name :
       {manifest_path(id(kAttemptMax, kNumberMax)), history_path(Attempt(3)), std::string()})
    EXPECT_FALSE(has_number_above_limit(name_in(name))) << name;
  for (const char* name : {"a", "s", ".", "..", "a1", "a00000000000000000001", "a99999999999999999999x",
                           "x99999999999999999999", "notes.txt", "s0000000010.a0001.json.bak"})
    EXPECT_FALSE(has_number_above_limit(name)) << name;
}

TEST(CheckpointId, NewerAttemptsComeLaterWhateverTheirStep) {
  EXPECT_LT(id(1, 500), id(2, 40));
  EXPECT_LT(id(2, 40), id(2, 41));
}

}  // namespace
}  // namespace ratoon::checkpoint::file_names_test
