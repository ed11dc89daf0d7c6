// Bytes that change on the disk: every damage of the newest checkpoint's files is noticed, and the checkpoint
// before is taken; no wrong byte is ever accepted, and no damage makes a run look new.
#include <cstdio>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::checkpoint_damage_test {
namespace {

using test::DiskImage;
using test::Life;
using test::ModelDisk;

constexpr CheckpointId kOlder{.attempt = Attempt(1), .step = Step(10)};
constexpr CheckpointId kNewest{.attempt = Attempt(1), .step = Step(20)};

std::vector<std::string> files_of(const CheckpointId& id) {
  return {manifest_path(id), pack_path(id, Rank(0)), pack_path(id, Rank(1))};
}

std::string damage(std::string bytes, const std::string& of_another, std::mt19937_64& chance) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(chance() % limit); };
  switch (below(7)) {
    case 0:  // a block of zeros
      bytes.replace(below(bytes.size()), 1 + below(512), 1 + below(512), '\0');
      return bytes;
    case 1:
      bytes.resize(below(bytes.size()));
      return bytes;
    case 2:
      bytes.append(1 + below(5000), '\0');
      return bytes;
    case 3:
      return of_another;
    case 4: {  // two blocks that changed places
      const std::size_t size = 1 + below(bytes.size() / 2);
      return bytes.substr(size) + bytes.substr(0, size);
    }
    default:
      bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
      return bytes;
  }
}

DiskImage two_checkpoints() {
  Life life{.disk = std::make_shared<ModelDisk>()};
  EXPECT_TRUE(life.save(kOlder));
  EXPECT_TRUE(life.save(kNewest));
  return life.disk->image();
}

std::optional<CheckpointId> recovered_from(const std::shared_ptr<ModelDisk>& disk) {
  const auto store = RunStore::open(disk, "next");
  std::optional<CheckpointId> recovered;
  EXPECT_EQ(test::recover(*store, recovered), std::nullopt);
  const auto left = store->inventory();
  EXPECT_TRUE(left);
  if (left) {
    EXPECT_FALSE(left->complete.empty() && left->damaged.empty()) << "a damaged run looks new";
  }
  return recovered;
}

TEST(Damage, OfTheNewestIsNoticedAndTheOneBeforeIsTaken) {
  constexpr std::uint64_t kDamages = test::afforded(100'000);
  const DiskImage sound = two_checkpoints();
  ASSERT_EQ(recovered_from(std::make_shared<ModelDisk>(sound)), kNewest);
  std::mt19937_64 chance(20261121);
  const auto files = files_of(kNewest);
  std::uint64_t damaged = 0;
  for (std::uint64_t trial = 0; damaged < kDamages && !HasFailure(); ++trial) {
    const auto disk = std::make_shared<ModelDisk>(sound);
    const std::string& path = files[chance() % files.size()];
    std::string& bytes = *disk->bytes_of(path);
    const std::string before = bytes;
    bytes = damage(bytes, *disk->bytes_of(files[chance() % files.size()]), chance);
    if (bytes == before) continue;
    ++damaged;
    EXPECT_EQ(recovered_from(disk), kOlder) << "trial " << trial << ", " << path;
  }
  std::printf("%llu damaged, all of them noticed\n", static_cast<unsigned long long>(damaged));
  EXPECT_EQ(damaged, kDamages);
}

TEST(Damage, OfEveryCheckpointIsNoFreshStart) {
  const DiskImage sound = two_checkpoints();
  std::mt19937_64 chance(7);
  for (int trial = 0; trial < static_cast<int>(test::afforded(3'000)) && !HasFailure(); ++trial) {
    const auto disk = std::make_shared<ModelDisk>(sound);
    for (const CheckpointId& id : {kOlder, kNewest}) {
      const std::string path = files_of(id)[chance() % 3];
      if (chance() % 4 == 0) {
        EXPECT_TRUE(disk->remove(path));
      } else {
        std::string& bytes = *disk->bytes_of(path);
        bytes[chance() % bytes.size()] ^= 1;
      }
    }
    const bool has_manifest =
        disk->bytes_of(manifest_path(kOlder)) != nullptr || disk->bytes_of(manifest_path(kNewest)) != nullptr;
    if (!has_manifest) continue;  // somebody deleted it all
    EXPECT_EQ(recovered_from(disk), std::nullopt) << "trial " << trial;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_damage_test
