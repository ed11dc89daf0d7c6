// The same power cuts over the saves of other libraries, as docs/design/0004 describes: a checker that found
// no fault here would be too weak to test our engine.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/crash/crash_checker.h"

namespace ratoon::test::other_protocols_test {
namespace {

std::string payload(int step) {
  return std::string(9'000, static_cast<char>('a' + step)) + std::to_string(step);
}

Result<void> write(ModelDisk& disk, const std::string& path, const std::string& bytes, bool syncs) {
  auto file = disk.create(path);
  if (!file) return file.error();
  if (auto written = (*file)->write(0, std::as_bytes(std::span(bytes))); !written) return written;
  if (!syncs) return (*file)->close();
  return (*file)->sync();
}

// torch.save(state, name): the old file is emptied, then written.
Result<void> save_to_one_name(ModelDisk& disk, int step) {
  static_cast<void>(disk.remove("model.pt"));
  return write(disk, "model.pt", payload(step), false);
}
// A temporary file and a rename, as cycling_utils and Lightning do.
Result<void> rename_without_sync(ModelDisk& disk, int step) {
  if (auto written = write(disk, "model.pt.tmp", payload(step), false); !written) return written;
  return disk.rename_over("model.pt.tmp", "model.pt");
}
// The same with fsync of the file, but not of its folder.
Result<void> rename_without_folder(ModelDisk& disk, int step) {
  if (auto written = write(disk, "model.pt.tmp", payload(step), true); !written) return written;
  return disk.rename_over("model.pt.tmp", "model.pt");
}
Result<void> rename_with_all(ModelDisk& disk, int step) {
  if (auto renamed = rename_without_folder(disk, step); !renamed) return renamed;
  return disk.sync_folder("");
}

struct Tally {
  std::uint64_t lost = 0;   // acknowledged, and there is neither it nor a later one
  std::uint64_t wrong = 0;  // a file under the name whose bytes nobody wrote, and nothing that tells
};

std::optional<std::string> judge(const CrashState& state, Tally& tally) {
  ModelDisk disk(state.image);
  const int promised = state.acknowledged.empty() ? 0 : std::stoi(state.acknowledged.back());
  const std::string* const bytes = disk.bytes_of("model.pt");
  for (int step = promised; step <= 4; ++step) {
    if (bytes != nullptr && step > 0 && *bytes == payload(step)) return std::nullopt;
  }
  bool is_older = false;
  for (int step = 1; step < promised; ++step)
    is_older = is_older || (bytes != nullptr && *bytes == payload(step));
  if (bytes != nullptr && !is_older) ++tally.wrong;
  if (promised == 0 && (bytes == nullptr || is_older)) return std::nullopt;
  if (promised > 0) ++tally.lost;
  return "lost or wrong";
}

Tally cut_everywhere(const char* name, Result<void> (*save)(ModelDisk&, int)) {
  ModelDisk disk;
  for (int step = 1; step <= 4; ++step) {
    EXPECT_TRUE(save(disk, step));
    disk.acknowledge(std::to_string(step));
  }
  Tally tally;
  const CrashReport report = check_crashes({.ops = disk.log(), .chances_a_cut = 500},
                                           [&](const CrashState& state) { return judge(state, tally); });
  std::printf(
      "%-34s %6llu states, %5llu different: %4llu lose what was acknowledged, %4llu leave wrong bytes\n",
      name, static_cast<unsigned long long>(report.states), static_cast<unsigned long long>(report.distinct),
      static_cast<unsigned long long>(tally.lost), static_cast<unsigned long long>(tally.wrong));
  return tally;
}

TEST(OtherProtocols, LoseWhatTheyAcknowledged) {
  for (const Tally tally : {cut_everywhere("torch.save to one name", save_to_one_name),
                            cut_everywhere("rename without fsync", rename_without_sync)}) {
    EXPECT_GT(tally.lost, 0u);
    EXPECT_GT(tally.wrong, 0u);
  }
  EXPECT_GT(cut_everywhere("rename, fsync of the file alone", rename_without_folder).lost, 0u);
  const Tally sound = cut_everywhere("rename, fsync of file and folder", rename_with_all);
  EXPECT_EQ(sound.lost + sound.wrong, 0u);
}

}  // namespace
}  // namespace ratoon::test::other_protocols_test
