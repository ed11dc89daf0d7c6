// A real file system whose power is cut under the engine, at each operation in turn, by FS_IOC_SHUTDOWN: with
// its journal written out and with all data lost that was not on the disk. After the next mount no
// acknowledged checkpoint is lost, no byte is wrong, and the next attempt saves and cleans up. The lives
// follow each other on the same disk. RATOON_FILE_SYSTEM names the file system (ext4), RATOON_CUTS the number
// of cuts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/loop_mount.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/crash/run_life.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::checkpoint_power_test {
namespace {

using test::DiskCall;
using test::LoopMount;
using test::Moment;
using test::PowerCut;
using test::save_world;

constexpr std::size_t kWeightBytes = 40'000;  // two blocks
constexpr int kSavesALife = 3;

std::filesystem::path scratch() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

// The n-th moment of a call that changes the disk: before the call, or in the middle of a write.
class Countdown {
 public:
  Countdown(std::uint64_t at, std::function<void()> act) : at_(at), act_(std::move(act)) {}

  void operator()(DiskCall call, Moment moment) {
    const bool only_looks = call == DiskCall::kOpen || call == DiskCall::kRead || call == DiskCall::kList;
    if (only_looks || moment == Moment::kAfter) return;
    if (++seen_ == at_) act_();
  }
  [[nodiscard]] bool has_come() const { return seen_ >= at_; }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  const std::uint64_t at_;
  std::uint64_t seen_ = 0;
  std::function<void()> act_;
};

// A disk of an engine that forgets to sync the folder of manifests.
class Forgetful : public test::ObservedDisk {
 public:
  using ObservedDisk::ObservedDisk;
  [[nodiscard]] Result<void> sync_folder(const std::string& path) override {
    return path == kManifests ? Result<void>() : ObservedDisk::sync_folder(path);
  }
};

class Lives {
 public:
  explicit Lives(LoopMount& mount) : mount_(mount) {}

  // A life that ends at its n-th change of the disk, or after its last. The number of changes that it made.
  template <class SomeDisk = test::ObservedDisk>
  std::uint64_t live(std::uint64_t cut_at, PowerCut how) {
    ++attempt_;
    Countdown countdown(cut_at, [&] { EXPECT_TRUE(mount_.cut_power(how)); });
    {
      auto real = RealDisk::open_folder(mount_.folder());
      if (!real) ADD_FAILURE() << real.error().message();
      const auto disk = std::make_shared<SomeDisk>(
          std::shared_ptr<Disk>(*std::move(real)),
          [&](DiskCall call, const std::string&, Moment moment) { countdown(call, moment); });
      auto claim = take_claim(disk);
      EXPECT_TRUE(claim || countdown.has_come()) << claim.error().message();
      const auto store = RunStore::open(disk, "mark");
      for (int save = 1; store && save <= kSavesALife && !countdown.has_come(); ++save) {
        const CheckpointId id{.attempt = Attempt(attempt_), .step = Step(static_cast<std::uint64_t>(save))};
        const auto saved = save_world(*store, {.id = id, .weight_bytes = kWeightBytes, .acknowledge = [&] {
                                                 promised_ = std::max(promised_, id);
                                               }});
        EXPECT_TRUE(saved || countdown.has_come()) << saved.error().message();
        const auto renewed = claim ? claim->renew() : Result<void>(claim.error());
        EXPECT_TRUE(renewed || countdown.has_come()) << renewed.error().message();
      }
    }
    if (!countdown.has_come()) {  // between two saves
      EXPECT_TRUE(mount_.cut_power(how));
    }
    const auto started = mount_.start_again();
    EXPECT_TRUE(started) << started.error().message();
    return countdown.seen();
  }

  // The fault of the recovered state, or nothing.
  std::optional<std::string> problem() {
    const auto disk = RealDisk::open_folder(mount_.folder());
    const auto claim = disk ? newest_claim(**disk) : Result<std::optional<ClaimRecord>>(disk.error());
    if (!claim) return claim.error().message();
    if (*claim && (*claim)->is_unreadable) return "the newest claim cannot be read";
    const auto store = RunStore::open(mount_.folder());
    if (!store) return store.error().message();
    std::optional<CheckpointId> recovered;
    if (auto wrong = test::recover(*store, recovered, kWeightBytes)) return wrong;
    if (recovered.value_or(CheckpointId()) < promised_)
      return "lost " + test::text_of(promised_) + ", got " +
             test::text_of(recovered.value_or(CheckpointId()));
    const auto inventory = store->inventory();
    if (!inventory->damaged.empty()) return "damaged: " + test::text_of(id_of(inventory->damaged.front()));
    for (const InventoryEntry& entry : inventory->complete) {
      if (const auto there = store->verify(id_of(entry)); !there)
        return "listed as complete and is not: " + there.error().message();
    }
    return std::nullopt;
  }

  // The next attempt saves and leaves no files of earlier attempts.
  std::optional<std::string> litter() {
    const auto store = RunStore::open(mount_.folder());
    const CheckpointId id{.attempt = Attempt(++attempt_), .step = Step(1)};
    const auto saved =
        save_world(*store, {.id = id, .weight_bytes = kWeightBytes, .acknowledge = [&] { promised_ = id; }});
    if (!saved) return "wedged: " + saved.error().message();
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(mount_.folder()))
      if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(mount_.folder()).string());
    std::erase_if(paths, [](const std::string& path) { return path.starts_with(kClaims); });
    return test::find_litter(*store, paths);
  }

 private:
  // All lives are of one job, so that it waits for none of them.
  Result<Claim> take_claim(const std::shared_ptr<Disk>& disk) const {
    SeenClaim seen;
    return Claim::take(
        disk, {.job = "power", .start = std::to_string(attempt_)}, {}, ManualClock(),
        [](Duration) { return false; }, seen);
  }

  LoopMount& mount_;
  std::uint64_t attempt_ = 0;
  CheckpointId promised_{};
};

constexpr std::uint64_t kNever = ~0ULL;

class RealPowerCut : public testing::Test {
 protected:
  void SetUp() override {
    const char* const type = std::getenv("RATOON_FILE_SYSTEM");
    auto made = LoopMount::make(type == nullptr ? "ext4" : type, scratch_.path());
    if (!made && made.error().kind() == ErrorKind::kUnavailable) {
      std::printf("SKIPPED: %s\n", made.error().message().c_str());
      std::filesystem::remove_all(scratch_.path());  // exit() unwinds nothing
      std::exit(77);
    }
    ASSERT_TRUE(made) << made.error().message();
    mount_ = *std::move(made);
  }

  // Returns how many cuts were made.
  std::uint64_t cut(std::uint64_t cuts) {
    Lives lives(*mount_);
    lives.live(kNever, PowerCut::kAllLost);
    changes_ = lives.live(kNever, PowerCut::kLogKept);  // with old ones to remove
    EXPECT_EQ(lives.problem(), std::nullopt);
    std::uint64_t made = 0;
    for (; made < cuts && !HasFailure(); ++made) {
      // The moments are far apart, so that few cuts cover much, and in the end each moment is cut in both
      // ways.
      const std::uint64_t at = 1 + (made / 2) * 61 % (changes_ + 1);
      lives.live(at, made % 2 == 0 ? PowerCut::kAllLost : PowerCut::kLogKept);
      EXPECT_EQ(lives.problem(), std::nullopt) << "power cut at change " << at;
      if (made % 5 == 4) {
        EXPECT_EQ(lives.litter(), std::nullopt) << "after a cut at change " << at;
      }
    }
    return made;
  }

  test::TemporaryFolder scratch_{scratch()};
  std::unique_ptr<LoopMount> mount_;
  std::uint64_t changes_ = 0;
};

TEST_F(RealPowerCut, NothingAcknowledgedIsLost) {
  const char* const wanted = std::getenv("RATOON_CUTS");
  const std::uint64_t cuts = wanted == nullptr ? test::afforded(60) : std::strtoull(wanted, nullptr, 10);
  const std::uint64_t made = cut(cuts);
  std::printf("%llu power cuts in lives of %llu changes\n", static_cast<unsigned long long>(made),
              static_cast<unsigned long long>(changes_));
}

TEST_F(RealPowerCut, SeesAFolderThatIsNotSynced) {
  Lives lives(*mount_);
  bool is_found = false;
  for (std::uint64_t at = 30; at < 150 && !is_found; at += 3) {
    lives.live<Forgetful>(at, PowerCut::kAllLost);
    is_found = lives.problem().has_value();
  }
  EXPECT_TRUE(is_found);
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_power_test
