#include "agent/src/checkpoint/format/manifest.h"

#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/format/rollback.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint::manifest_test {
namespace {

using testing::HasSubstr;

PackRecord record(std::uint32_t rank) {
  return {.rank = Rank(rank),
          .size_bytes = 4104,
          .header_bytes = 4096,
          .header_digest = "0123456789abcdef0123456789abcdef"};
}

Manifest manifest() {
  return {.id = {.attempt = Attempt(3), .step = Step(1200)},
          .writer = "ratoon 0.1.0",
          .packs = {record(0), record(1)}};
}

// A body with a correct checksum line.
std::string sealed(const std::string& body) {
  char line[24];
  std::snprintf(line, sizeof line, "crc32c:%08x\n", crc32c(std::as_bytes(std::span(body))));
  return body + line;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), with);
  return sealed(text.substr(0, text.rfind("crc32c:")));
}

TEST(Manifest, SurvivesARoundTrip) {
  EXPECT_EQ(decode_manifest(encode_manifest(manifest())).value(), manifest());
  EXPECT_EQ(decode_receipt(encode_receipt(record(7))).value(), record(7));
}

TEST(Manifest, KeepsWhatRankZeroSaysOfTheRun) {
  const RunRecord run{.batches = 1201,
                      .samples = 1ULL << 40,
                      .epoch_samples = 60000,
                      .trained_nanoseconds = 1ULL << 62,
                      .history_attempt = 3,
                      .history_bytes = 4711,
                      .early_end = EarlyEnd{.reason = "done \"enough\"", .until = "90ep"},
                      .numerics = Numerics{.library = "LibTorch 2.11.0",
                                           .device = "cpu",
                                           .cpu_capability = "AVX2",
                                           .threads = 4,
                                           .is_deterministic = true},
                      .seed = ~std::uint64_t{0},
                      .keep = "the lowest loss",
                      .requests = {.save = true, .keep = "a low loss", .finish = "enough"},
                      .best = {{.name = "loss",
                                .keep = 3,
                                .kept = {{.id = {Attempt(2), Step(40)}, .value = -0.1},
                                         {.id = {Attempt(3), Step(80)}, .value = 1e300}}}},
                      .unpinned = {{.step = 40, .since = {Attempt(2), Step(60)}},
                                   {.step = 0, .since = {Attempt(3), Step(70)}}},
                      .begins_epoch = true};
  auto receipt = record(0);
  receipt.run = run;
  EXPECT_EQ(decode_receipt(encode_receipt(receipt)).value(), receipt);
  auto whole = manifest();
  whole.run = run;
  EXPECT_EQ(decode_manifest(encode_manifest(whole)).value(), whole);
  EXPECT_THAT(encode_manifest(whole), HasSubstr("\"trained_nanoseconds\": 4611686018427387904"));
  const auto bad = decode_manifest(replaced(encode_manifest(whole), "1201", "\"many\""));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message(), HasSubstr("manifest.run.batches"));
}

// A process that resumed from it would count beyond it, and its own receipts could not be read any more.
TEST(Manifest, ATimeThatNoRunCanHaveIsDamage) {
  auto whole = manifest();
  whole.run = RunRecord{.trained_nanoseconds = kTrainedNanosecondsMax};
  auto receipt = record(0);
  receipt.run = whole.run;
  const std::string most = std::to_string(kTrainedNanosecondsMax);
  for (const char* more : {"4611686018427387905", "9223372036854775807", "18446744073709551615"}) {
    const auto decoded = decode_manifest(replaced(encode_manifest(whole), most, more));
    ASSERT_FALSE(decoded) << more;
    EXPECT_EQ(decoded.error().kind(), ErrorKind::kCorrupted) << more;
    EXPECT_EQ(decoded.error().message(), std::string("manifest.run.trained_nanoseconds is ") + more +
                                             ", and no run has trained for more than 146 years");
    EXPECT_EQ(decode_receipt(replaced(encode_receipt(receipt), most, more)).error().kind(),
              ErrorKind::kCorrupted);
  }
}

TEST(Manifest, WhatIsCountedOnFromTheMostIsSaidAsTheMost) {
  const std::uint64_t most = ~std::uint64_t{0};
  auto receipt = record(0);
  receipt.run = RunRecord{.batches = most,
                          .samples = most,
                          .epoch_samples = most,
                          .trained_nanoseconds = kTrainedNanosecondsMax + 1,
                          .history_attempt = most,
                          .history_bytes = most};
  const auto read = decode_receipt(encode_receipt(receipt));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->run, (RunRecord{.batches = kNumberMax,
                                  .samples = kNumberMax,
                                  .epoch_samples = kNumberMax,
                                  .trained_nanoseconds = kTrainedNanosecondsMax,
                                  .history_attempt = kNumberMax,
                                  .history_bytes = kNumberMax}));
}

TEST(Manifest, NamesWhatBitsDependOnAndWhyTheRunEnded) {
  auto whole = manifest();
  whole.run = RunRecord{.early_end = EarlyEnd{.reason = "enough", .until = "90ep"},
                        .numerics = Numerics{.library = "L 1", .device = "cpu", .threads = 4},
                        .seed = 17};
  EXPECT_THAT(encode_manifest(whole), HasSubstr("  \"finished\": {\n"
                                                "   \"reason\": \"enough\",\n"
                                                "   \"until\": \"90ep\"\n"
                                                "  },\n"
                                                "  \"numerics\": {\n"
                                                "   \"cpu_capability\": \"\",\n"
                                                "   \"deterministic\": false,\n"
                                                "   \"device\": \"cpu\",\n"
                                                "   \"library\": \"L 1\",\n"
                                                "   \"threads\": 4\n"
                                                "  },\n"
                                                "  \"samples\": 0,\n"
                                                "  \"seed\": 17,\n"));
  whole.run->early_end->reason =
      std::string(kReasonBytesMax, '\xff');  // each becomes a character of three bytes
  EXPECT_EQ(decode_manifest(encode_manifest(whole)).value().run->early_end->reason.size(),
            3 * kReasonBytesMax);
}

// Users who wrote checkpoints in this format want to read them for ever.
TEST(Manifest, IsWrittenAsInFormat2) {
  EXPECT_EQ(encode_receipt(record(1)), sealed("{\n"
                                              " \"format\": 2,\n"
                                              " \"pack\": {\n"
                                              "  \"header_bytes\": 4096,\n"
                                              "  \"header_digest\": \"0123456789abcdef0123456789abcdef\",\n"
                                              "  \"rank\": 1,\n"
                                              "  \"size_bytes\": 4104\n"
                                              " }\n"
                                              "}\n"));
}

template <class Decode>
void expect_every_flip_is_seen(const std::string& text, Decode decode) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(static_cast<unsigned char>(flipped[i]) ^ (1U << bit));
      EXPECT_FALSE(decode(flipped)) << "byte " << i << ", bit " << bit;
    }
    EXPECT_FALSE(decode(text.substr(0, i))) << "cut after " << i;
  }
  EXPECT_FALSE(decode(text + "\n"));
  EXPECT_FALSE(decode(text + text));
}

TEST(Manifest, EveryFlippedBitAndEveryCutIsSeen) {
  expect_every_flip_is_seen(encode_manifest(manifest()), decode_manifest);
  expect_every_flip_is_seen(encode_receipt(record(1)), decode_receipt);
}

TEST(Manifest, AWebPageInItsPlaceSaysNothingOfIt) {
  for (const char* const page :
       {"<html>", "\xef\xbb\xbf<!DOCTYPE html>\n<p>Sign in", "\r\n <?xml version=\"1.0\"?><Error/>"}) {
    EXPECT_EQ(decode_manifest(page).error().kind(), ErrorKind::kIo) << page;
    EXPECT_EQ(decode_receipt(page).error().kind(), ErrorKind::kIo) << page;
    EXPECT_EQ(decode_rollback(page).error().kind(), ErrorKind::kIo) << page;
  }
  EXPECT_EQ(decode_manifest("a page <html>").error().kind(), ErrorKind::kCorrupted);
}

TEST(Manifest, WhatNobodyWouldWriteIsRefused) {
  const std::string text = encode_manifest(manifest());
  const struct {
    std::string what;
    std::string with;
    const char* sentence;
  } cases[] = {
      {"\"format\": 2", "\"format\": 3",
       "manifest.format must be 2, the format of this version; use the Ratoon that wrote it, found 3"},
      {"\"attempt\": 3", "\"attempt\": -3", "manifest.attempt must be a whole number"},
      {"\"step\": 1200", "\"step\": \"1200\"", "manifest.step must be a whole number"},
      {"\"rank\": 1", "\"rank\": 0", "manifest.packs must be one pack for each rank, in order"},
      {"\"rank\": 1", "\"rank\": 65536", "manifest.packs[].rank must be a whole number from 0 to 65535"},
      {"\"header_digest\": \"0", "\"header_digest\": \"00",
       "manifest.packs[].header_digest must be a text of at most 32 bytes"},
      {"\"size_bytes\": 4104", "\"size_bytes\": 1e9", "manifest.packs[].size_bytes must be a whole number"},
      {"{\n", "[\n", "not valid JSON"},
  };
  for (const auto& c : cases) {
    const auto decoded = decode_manifest(replaced(text, c.what, c.with));
    ASSERT_FALSE(decoded) << c.with;
    EXPECT_THAT(decoded.error().message(), HasSubstr(c.sentence));
  }
  EXPECT_THAT(decode_manifest(sealed("{\"format\":2,\"attempt\":1,\"step\":1,\"writer\":\"w\",\"packs\":[]}"))
                  .error()
                  .message(),
              HasSubstr("manifest.packs must be at least one pack"));
  EXPECT_FALSE(decode_manifest(sealed("[]")));
  EXPECT_FALSE(decode_manifest(sealed(std::string(5000, '['))));
}

TEST(Manifest, SaysWhoseItsPacksAre) {
  Manifest owned = manifest();
  owned.packs[1].owner = "6f1c";
  EXPECT_EQ(decode_manifest(encode_manifest(owned)).value(), owned) << "one of them from an older Ratoon";
  EXPECT_EQ(owner_of(owned.packs), "6f1c");
  EXPECT_EQ(owner_of(manifest().packs), "");
  PackRecord receipt = record(7);
  receipt.owner = "6f1c";
  EXPECT_EQ(decode_receipt(encode_receipt(receipt)).value(), receipt);
}

TEST(Manifest, OfPacksOfTwoJobsIsDamaged) {
  Manifest mixed = manifest();
  mixed.packs[0].owner = "6f1c";
  mixed.packs[1].owner = "77aa";
  const auto decoded = decode_manifest(encode_manifest(mixed));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(decoded.error().message(),
              HasSubstr("the pack of rank 0 was written by 6f1c and that of rank 1 by 77aa"));
}

// Each rank's receipt has its own steps.
TEST(RunRecord, HasTheStepsToUnpinOfAllRanks) {
  const auto of = [](std::uint64_t step, std::uint64_t since) {
    return UnpinnedStep{.step = step, .since = {Attempt(1), Step(since)}};
  };
  RunRecord run{.unpinned = {of(5, 20), of(10, 20)}};
  run.merge_requests({.unpinned = {of(10, 30), of(15, 30)}});
  run.merge_requests({.unpinned = {of(10, 20), of(25, 30)}});
  EXPECT_EQ(run.unpinned, (std::vector{of(5, 20), of(10, 30), of(15, 30), of(25, 30)}));
  for (std::uint64_t step = 0; step <= kUnpinnedMax; ++step) run.merge_requests({.unpinned = {of(step, 40)}});
  EXPECT_EQ(run.unpinned.size(), kUnpinnedMax) << "a manifest has a limit";
}

}  // namespace
}  // namespace ratoon::checkpoint::manifest_test
