// The commands of `ratoon checkpoint` on checkpoints that share part files: each checkpoint is as complete as
// one without parts, in a folder and in a store.
#include <map>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "cli/checkpoint/gc.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/tensor_stream.h"
#include "cli/checkpoint/verify.h"
#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::tensors_in_parts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kRows = 1000;
constexpr std::size_t kRowBytes = 64;
constexpr std::size_t kRowsOfPart = 100;
constexpr checkpoint::PartSizes kSizes{.tensor_bytes_min = 1024, .part_bytes_min = kRowsOfPart * kRowBytes};

// Three checkpoints of a buffer: step 20 changes part 2 of step 10, and step 30 changes part 3.
class TensorsInPartsTest : public RunFixture, public testing::WithParamInterface<bool> {
 protected:
  TensorsInPartsTest() {
    buffer_ = test::any_bytes(kRows * kRowBytes, 1);
    save(10);
    change_part(2);
    save(20);
    change_part(3);
    save(30);
    if (GetParam()) disk_ = as_store();
  }
  void change_part(std::size_t part) {
    char& byte = buffer_[part * kRowsOfPart * kRowBytes];
    byte = static_cast<char>(byte + 1);
  }
  void save(std::uint64_t step) {
    const auto which = id(1, step);
    const std::string weights = "weights of step " + std::to_string(step);
    const TensorView views[] = {{.name = "w", .shape = {weights.size()}, .bytes = test::bytes_of(weights)},
                                {.name = "replay",
                                 .shape = {kRows, kRowBytes},
                                 .bytes = test::bytes_of(buffer_),
                                 .is_saved_in_parts = true}};
    ASSERT_TRUE(store_.write_pack(which, Rank(0), views, known_));
    ASSERT_TRUE(store_.try_commit(which, 1));
    const auto sealed = checkpoint::read_manifest(*disk_, which).value();
    tensors_[step] = sealed.manifest.packs.front().tensors_in_parts.front();
    known_ = checkpoint::CommittedParts(which, std::span(&tensors_[step], 1), kSizes);
    contents_[step] = buffer_;
  }
  std::filesystem::path part_of(std::uint64_t step, std::size_t part) {
    return run_ / checkpoint::path_of_part(tensors_[step].parts[part]);
  }
  VerifyResult verify(std::uint64_t step) {
    for (const FoundCheckpoint& found : survey().checkpoints)
      if (found.id.step.value() == step) return verify_checkpoint(*disk_, found, [](std::uint64_t) {});
    return {.id = id(1, step), .verdict = VerifyOutcome::kRetired};
  }
  std::string export_of(std::uint64_t step) {
    const auto opened = open_checkpoint(*disk_, {.step = step});
    if (!opened) return opened.error().message();
    const auto stream = TensorStream::make(opened->packs, {"replay"}, false);
    if (!stream) return stream.error().message();
    StringSink sink;
    for (const auto& source : stream->sources({})) EXPECT_TRUE(source.write(sink));
    return sink.text;
  }

  std::string buffer_;
  checkpoint::CommittedParts known_{{}, {}, kSizes};
  std::map<std::uint64_t, checkpoint::TensorInParts> tensors_;
  std::map<std::uint64_t, std::string> contents_;
};

TEST_P(TensorsInPartsTest, EachCheckpointIsExportedWhole) {
  ASSERT_EQ(tensors_[10].parts.size(), kRows / kRowsOfPart);
  ASSERT_EQ(part_of(30, 0), part_of(10, 0));
  ASSERT_NE(part_of(30, 2), part_of(10, 2));
  for (const auto& [step, content] : contents_) EXPECT_TRUE(export_of(step) == content) << step;
}

TEST_P(TensorsInPartsTest, ADamagedPartMakesExactlyTheCheckpointsBadThatHaveIt) {
  flip(part_of(10, 2), 0);
  EXPECT_EQ(verify(10).verdict, VerifyOutcome::kBad);
  EXPECT_THAT(verify(10).why, HasSubstr(checkpoint::path_of_part(tensors_[10].parts[2])));
  EXPECT_EQ(verify(20).verdict, VerifyOutcome::kGood);
  EXPECT_EQ(verify(30).verdict, VerifyOutcome::kGood);
  flip(part_of(30, 2), 0);
  EXPECT_EQ(verify(20).verdict, VerifyOutcome::kBad);
  EXPECT_EQ(verify(30).verdict, VerifyOutcome::kBad);
}

// A buffer of 1 GiB has more parts than a process may usually open files.
TEST_P(TensorsInPartsTest, VerifyNeedsFewOpenFiles) {
  const Survey now = survey();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next_free = ::dup(0);
  ::close(next_free);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next_free) + 5;
  ASSERT_LT(5u, tensors_[30].parts.size());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto result = verify_checkpoint(*disk_, now.checkpoints.front(), [](std::uint64_t) {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(result.verdict, VerifyOutcome::kGood) << result.why;
}

TEST_P(TensorsInPartsTest, AMissingPartMakesTheCheckpointBad) {
  std::filesystem::remove(part_of(30, 3));
  EXPECT_EQ(verify(20).verdict, VerifyOutcome::kGood);
  EXPECT_EQ(verify(30).verdict, VerifyOutcome::kBad);
}

TEST_P(TensorsInPartsTest, GcKeepsThePartsOfTheCheckpointsThatStay) {
  const Survey now = survey();
  const GcPlan plan = plan_gc(now, {.keep_last = 1});
  EXPECT_EQ(plan.items.size(), 2u);
  ASSERT_TRUE(run_gc(*disk_, now, plan, [](std::uint64_t) {}, [](const GcItem&) {}));
  EXPECT_EQ(verify(30).verdict, VerifyOutcome::kGood);
  EXPECT_TRUE(export_of(30) == contents_[30]);
  std::size_t files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(run_ / "parts"))
    files += file.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, kRows / kRowsOfPart) << "only the parts that step 30 needs";
}

INSTANTIATE_TEST_SUITE_P(Seen, TensorsInPartsTest, testing::Bool(),
                         [](const auto& as) { return as.param ? "AsStore" : "AsFolder"; });

}  // namespace
}  // namespace ratoon::cli::tensors_in_parts_test
