// checkpoint/load/: Reading checkpoints: one pack, or all packs for any number of ranks.
//
// CheckpointReader: reads the tensors of a checkpoint, or parts of them, for one rank of a world of any size.
//
//   auto reader = CheckpointReader::open(disk, packs, Rank(2));
//   std::vector<float> rows(2 * 16);
//   const TensorSpec wanted{"w", ElementType::kFloat32, {2, 16}, TensorBox{{4, 0}, {8, 16}}};
//   reader->load(std::span(&wanted, 1), std::array{std::as_writable_bytes(std::span(rows))});
//
// A tensor that was saved with a box is shared by all ranks: the reader searches all packs for its parts. A
// tensor without a box belongs to the rank that saved it: rank r reads it from pack r modulo the number of
// packs. The headers of the other packs are read only when a shared tensor is requested.
//
// Thread contract: one thread; load() starts threads of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/load/execute_plan.h"
#include "agent/src/checkpoint/load/pack_reader.h"
#include "agent/src/checkpoint/pack/part_index.h"

namespace ratoon::checkpoint {

struct NamedPack {
  std::string path;
  PackRecord record;
};

class CheckpointReader {
 public:
  // `packs` are in the order of their ranks; at least one is required. Reads the
  // header of the rank's own pack.
  [[nodiscard]] static Result<CheckpointReader> open(std::shared_ptr<const Disk> disk,
                                                     std::vector<NamedPack> packs, Rank rank,
                                                     const ReadOptions& options = {});

  // The run record of the manifest; empty if the manifest has no record, or if the packs have no
  // manifest.
  [[nodiscard]] const std::optional<RunRecord>& run() const { return run_; }
  void set_run(const std::optional<RunRecord>& run) { run_ = run; }

  // Whether this rank saved one of the packs. A new rank's tensors come from another rank's pack.
  [[nodiscard]] bool has_saved() const { return rank_.value() < packs_.size(); }
  // The ranks of the saved world, beyond the new world's size, whose packs this rank takes over. Use
  // as_read_by() to read the packs that are taken over.
  [[nodiscard]] std::vector<Rank> ranks_taken_over(std::uint32_t world_size) const;
  [[nodiscard]] Result<CheckpointReader> as_read_by(Rank rank) const {
    return open(disk_, packs_, rank, options_);
  }

  // The tensors in the rank's own pack, also parts of shared tensors, in the order of the pack's data.
  [[nodiscard]] std::span<const PackedTensor> own() const;

  // The names of all tensors that this rank can read: its own and the shared tensors.
  [[nodiscard]] Result<std::vector<std::string>> names();

  struct Form {
    ElementType type = ElementType::kUint8;  // kUint8 for bytes and text
    TensorShape shape{};                     // of the whole tensor
  };
  // Returns nothing if the checkpoint has no tensor of this name for this rank.
  [[nodiscard]] Result<std::optional<Form>> find(std::string_view name);

  struct Amount {
    std::uint64_t bytes_wanted = 0;
    std::uint64_t bytes_read = 0;  // headers not counted
  };
  // Fills `into`, which has one destination of the right size for each wanted tensor. Before the first byte
  // is read, checks that every wanted tensor exists with this type and shape and has no holes. After a read
  // error some destinations may be filled. Returns kCorrupted if saved bytes have changed.
  [[nodiscard]] Result<Amount> load(std::span<const TensorSpec> wanted,
                                    std::span<const std::span<std::byte>> into);

 private:
  CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                   const ReadOptions& options);
  [[nodiscard]] Result<void> open_one(std::size_t pack);
  [[nodiscard]] Result<void> index_own();
  [[nodiscard]] Result<void> index_all();  // once
  // Finds a tensor in the index, which then contains all parts of the tensor.
  [[nodiscard]] Result<const IndexedTensor*> look_up(std::string_view name);

  std::shared_ptr<const Disk> disk_;
  std::vector<NamedPack> packs_;
  Rank rank_;
  ReadOptions options_;
  std::size_t own_;
  std::optional<RunRecord> run_;
  std::vector<std::optional<KnownPack>> opened_;  // by pack number
  std::optional<PartIndex> index_;
  std::vector<std::size_t> indexed_;  // pack number, by the number in the index
};

}  // namespace ratoon::checkpoint
