// A disk that fails, at every single call of a run: full, broken, short, or broken after the call took
// effect. A failed save is reported as failed; training goes on, the next save works, and no later power cut
// loses an acknowledged checkpoint.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::checkpoint_faults_test {
namespace {

using test::DiskCall;
using test::Fault;
using test::Life;
using test::ModelDisk;

const Error kBroken(ErrorKind::kIo, "model: input/output error");
const Error kFull(ErrorKind::kNoSpace, "model: no space left");

struct Kind {
  const char* name;
  Fault fault;
  bool (*concerns)(DiskCall);
};

bool any(DiskCall) {
  return true;
}
bool takes_room(DiskCall call) {
  return call == DiskCall::kCreate || call == DiskCall::kReserve || call == DiskCall::kWrite ||
         call == DiskCall::kMakeFolder;
}
bool is_write(DiskCall call) {
  return call == DiskCall::kWrite;
}
bool is_sync(DiskCall call) {
  return call == DiskCall::kSync;
}
bool is_read(DiskCall call) {
  return call == DiskCall::kRead;
}

// The fault comes once, at the n-th call of its kind.
struct Plan {
  Kind kind;
  std::uint64_t at = 0;
  std::uint64_t seen = 0;
  bool has_come = false;

  Fault operator()(DiskCall call) {
    if (!kind.concerns(call) || seen++ != at) return {};
    has_come = true;
    return kind.fault;
  }
};

std::optional<std::string> judge(const test::CrashState& state) {
  const auto store = RunStore::open(std::make_shared<ModelDisk>(state.image), "next");
  if (!store) return store.error().message();
  std::optional<CheckpointId> recovered;
  if (auto problem = test::recover(*store, recovered)) return problem;
  if (state.acknowledged.empty()) return std::nullopt;
  const CheckpointId promised = test::parse_id(state.acknowledged.back());
  if (!recovered || *recovered < promised) return "lost " + test::text_of(promised);
  return std::nullopt;
}

// Whether the fault came; false once there are fewer calls of this kind.
bool survives(const Kind& kind, std::uint64_t at, test::CrashReport& sum) {
  const auto plan = std::make_shared<Plan>(Plan{.kind = kind, .at = at});
  Life life{.disk = std::make_shared<ModelDisk>()};
  life.disk->set_faults([plan](DiskCall call, const std::string&) { return (*plan)(call); });
  std::uint64_t failed = 0;
  for (const std::uint64_t step : {10, 20, 30})
    failed += life.save({.attempt = Attempt(1), .step = Step(step)}) ? 0 : 1;
  EXPECT_LE(failed, 1u) << kind.name << " at " << at << ": one fault, and more than one save failed";
  const auto report = test::check_crashes({.ops = life.disk->log(), .chances_a_cut = 2}, judge);
  EXPECT_EQ(report.bad, 0u) << kind.name << " at " << at << ": " << report.first_bad;
  add(sum, report);
  return plan->has_come;
}

TEST(Faults, AtEveryCall) {
  constexpr std::uint64_t kStride = 100 / test::kEffortPercent;
  test::CrashReport sum;
  std::uint64_t faults = 0;
  for (const Kind& kind :
       {Kind{"broken", {.error = kBroken}, any}, Kind{"full", {.error = kFull}, takes_room},
        Kind{"broken after the deed", {.error = kBroken, .does_it_all_the_same = true}, any},
        Kind{"short write", {.error = kBroken, .short_write = 100}, is_write},
        Kind{"a sync fails and its pages are gone", {.error = kBroken, .loses_pages = true}, is_sync},
        Kind{"a bit flips on its way", {.flip_bit = 12345}, is_read}}) {
    std::uint64_t at = 0;
    while (survives(kind, at, sum)) at += kStride;
    faults += at / kStride;
    EXPECT_GT(at, 3u) << kind.name;
  }
  std::printf("%llu faults, %llu states after them\n", static_cast<unsigned long long>(faults),
              static_cast<unsigned long long>(sum.states));
}

// The engine must never try a failed sync again and believe the second answer.
class AskingAgain : public WriteFile {
 public:
  explicit AskingAgain(std::unique_ptr<WriteFile> file) : file_(std::move(file)) {}
  Result<void> reserve(std::uint64_t bytes) override { return file_->reserve(bytes); }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    return file_->write(at, bytes);
  }
  Result<void> sync() override {
    auto synced = file_->sync();
    return synced ? std::move(synced) : file_->sync();
  }
  Result<void> close() override { return file_->close(); }

 private:
  const std::unique_ptr<WriteFile> file_;
};
class DiskThatIsAskedAgain : public ModelDisk {
 public:
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    auto file = ModelDisk::create(path);
    if (!file) return file.error();
    return std::unique_ptr<WriteFile>(std::make_unique<AskingAgain>(*std::move(file)));
  }
};

TEST(Faults, ASyncThatIsTriedAgainWouldLoseWhatItPromised) {
  const auto plan = std::make_shared<Plan>(
      Plan{.kind = {"a sync fails", {.error = kBroken, .loses_pages = true}, is_sync}, .at = 1});
  Life life{.disk = std::make_shared<DiskThatIsAskedAgain>()};
  life.disk->set_faults([plan](DiskCall call, const std::string&) { return (*plan)(call); });
  EXPECT_TRUE(life.save({.attempt = Attempt(1), .step = Step(10)})) << "the second answer is yes";
  EXPECT_GT(test::check_crashes({.ops = life.disk->log(), .chances_a_cut = 2}, judge).bad, 0u);
}

TEST(Faults, AManifestThatTheDiskNeverReadsIsPassedOver) {
  Life life{.disk = std::make_shared<ModelDisk>()};
  ASSERT_TRUE(life.save({.attempt = Attempt(1), .step = Step(10)}));
  ASSERT_TRUE(life.save({.attempt = Attempt(1), .step = Step(20)}));
  life.disk->set_faults([](DiskCall call, const std::string& path) {
    return Fault{.error = call == DiskCall::kRead && path == "manifests/s0000000010.a0001.json"
                              ? std::optional(kBroken)
                              : std::nullopt};
  });
  const auto store = RunStore::open(life.disk, "next");
  const auto inventory = store->inventory();
  ASSERT_TRUE(inventory);
  EXPECT_EQ(inventory->complete.size(), 1u);
  ASSERT_EQ(inventory->damaged.size(), 1u);
  EXPECT_EQ(inventory->damaged.front().digest, kUnreadable);
  std::optional<CheckpointId> recovered;
  EXPECT_EQ(test::recover(*store, recovered), std::nullopt);
  EXPECT_EQ(recovered->step, Step(20));
}

TEST(Faults, AFullDiskIsKnownBeforeTheFirstByte) {
  Life life{.disk = std::make_shared<ModelDisk>()};
  bool has_written = false;
  life.disk->set_faults([&](DiskCall call, const std::string& path) {
    has_written = has_written || (call == DiskCall::kWrite && path.starts_with("packs/"));
    return call == DiskCall::kReserve ? Fault{.error = kFull} : Fault{};
  });
  const auto saved = life.save({.attempt = Attempt(1), .step = Step(10)});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind(), ErrorKind::kNoSpace);
  EXPECT_FALSE(has_written);
  EXPECT_THAT(life.disk->all_paths(), testing::IsEmpty()) << "nothing half-written stays on a full disk";
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_faults_test
