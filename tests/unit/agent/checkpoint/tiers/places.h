// Places of a run for tests of tiers: a folder, and a folder that acts as a store.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "base/core/random_name.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::test {

// Declared in a header whose source file is compiled after it.
using ratoon::test::read_text;
using ratoon::test::TemporaryFolder;
using ratoon::test::write_text;

inline CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

inline std::shared_ptr<Disk> folder_at(const std::filesystem::path& path) {
  return *RealDisk::open_folder(path);
}

inline std::shared_ptr<ObjectStoreDisk> store_at(const std::filesystem::path& path) {
  return std::make_shared<ObjectStoreDisk>(*objects::open_store("file://" + path.string(), {}));
}

inline RunStore run_in(const std::shared_ptr<Disk>& disk) {
  return *RunStore::open(disk, random_hex_name());
}

// One rank, one tensor, whose bytes identify the checkpoint.
inline std::string digest_of_commit(const std::shared_ptr<Disk>& disk, const CheckpointId& which,
                                    std::size_t bytes = 100) {
  const std::string text(bytes, static_cast<char>('a' + which.step.value() % 26));
  const TensorView view{.name = "w", .shape = {text.size()}, .bytes = std::as_bytes(std::span(text))};
  const RunStore run = run_in(disk);
  EXPECT_TRUE(run.write_pack(which, Rank(0), std::span(&view, 1)));
  const auto committed = run.try_commit(which, 1);
  EXPECT_TRUE(committed && *committed);
  return (*committed)->digest;
}

inline std::vector<CheckpointId> complete_in(const Disk& disk) {
  std::vector<CheckpointId> ids;
  const auto found = take_inventory(disk);
  EXPECT_TRUE(found) << (found ? "" : found.error().message());
  for (const auto& entry : found->complete) ids.push_back(id_of(entry));
  return ids;
}

}  // namespace ratoon::checkpoint::test
