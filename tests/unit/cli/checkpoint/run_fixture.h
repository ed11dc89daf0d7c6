// A run's folder with checkpoints of several ranks, made by the engine itself.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/interop/byte_sink.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "base/contract/exit_code.h"
#include "cli/checkpoint/run_folder.h"
#include "cli/checkpoint/survey.h"
#include "tests/support/sharded_checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::cli {

inline checkpoint::CheckpointId id(std::uint64_t attempt, std::uint64_t step) {
  return {.attempt = Attempt(attempt), .step = Step(step)};
}

// The exit code of a command.
inline int code_of(const Error& error) {
  return static_cast<int>(exit_code_of(error.kind()));
}

// The bytes that a tensor writes, and the size of the largest piece.
class StringSink final : public checkpoint::ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override {
    largest = std::max(largest, bytes.size());
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  std::string text;
  std::size_t largest = 0;
};

class RunFixture : public testing::Test {
 protected:
  using Parts = std::vector<std::pair<test::WholeTensor, test::Box>>;  // of one rank

  RunFixture() : store_(*checkpoint::RunStore::open(run_)), disk_(*open_run_folder(run_)) {}

  static test::WholeTensor tensor(std::string name, TensorShape shape, std::uint64_t seed = 1,
                                  ElementType type = ElementType::kFloat32) {
    std::uint64_t count = size_of(type);
    for (const std::uint64_t length : shape) count *= length;
    return {std::move(name), type, std::move(shape), test::any_bytes(count, seed)};
  }
  static std::pair<test::WholeTensor, test::Box> whole(const test::WholeTensor& of) {
    return {of, {TensorShape(of.shape.size()), of.shape}};
  }
  void write_rank(const checkpoint::CheckpointId& which, std::uint32_t rank, const Parts& parts) {
    std::vector<std::string> bytes;
    std::vector<TensorView> views;
    for (const auto& [of, box] : parts) bytes.push_back(test::bytes_of_box(of, box.begin, box.shape));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [of, box] = parts[i];
      views.push_back(
          {.name = of.name, .type = of.type, .shape = box.shape, .bytes = test::bytes_of(bytes[i])});
      if (box.shape != of.shape) views.back().box = TensorBox{box.begin, of.shape};
    }
    ASSERT_TRUE(store_.write_pack(which, Rank(rank), views));
  }
  void commit(const checkpoint::CheckpointId& which, const std::vector<Parts>& ranks) {
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) write_rank(which, rank, ranks[rank]);
    const auto committed = store_.try_commit(which, static_cast<std::uint32_t>(ranks.size()));
    ASSERT_TRUE(committed && *committed);
  }
  // Reads as a program that does not check whether the parts make up the whole.
  void commit_blindly(const checkpoint::CheckpointId& which, const std::vector<Parts>& ranks) {
    checkpoint::Manifest manifest{.id = which, .writer = "another writer", .packs = {}};
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      write_rank(which, rank, ranks[rank]);
      const auto receipt = test::read_text(run_ / checkpoint::receipt_path(which, Rank(rank)));
      manifest.packs.push_back(checkpoint::decode_receipt(receipt).value());
    }
    test::write_text(run_ / checkpoint::manifest_path(which), checkpoint::encode_manifest(manifest));
  }
  // Two ranks with a tensor each of `bytes` bytes.
  void commit_plain(const checkpoint::CheckpointId& which, std::uint64_t bytes = 40'000) {
    const auto one = tensor("w", {bytes}, which.step.value(), ElementType::kUint8);
    commit(which, {{whole(one)}, {whole(one)}});
  }
  // The same run in a store, whose files are opened anew for each read.
  std::unique_ptr<checkpoint::Disk> as_store() {
    return std::make_unique<checkpoint::ObjectStoreDisk>(*objects::open_store("file://" + run_.string(), {}));
  }
  Survey survey() { return take_survey(*disk_).value(); }
  std::filesystem::path pack(const checkpoint::CheckpointId& which, std::uint32_t rank) {
    return run_ / checkpoint::pack_path(which, Rank(rank));
  }
  static void flip(const std::filesystem::path& path, std::size_t from_end) {
    std::string text = test::read_text(path);
    ASSERT_GT(text.size(), from_end);
    char& byte = text[text.size() - 1 - from_end];
    byte = static_cast<char>(byte ^ 4);
    test::write_text(path, text);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path run_ = folder_ / "run";
  checkpoint::RunStore store_;
  std::unique_ptr<checkpoint::Disk> disk_;
};

}  // namespace ratoon::cli
