// checkpoint/load/: Reads checkpoints: one pack file, or all packs of a checkpoint, by any number of ranks.
//
// CheckpointReader: reads the tensors of a checkpoint, or parts of them, for one rank. The number of ranks
// may differ from that at the save.
//
//   auto reader = CheckpointReader::open(disk, packs, Rank(2));
//   std::vector<float> rows(2 * 16);
//   const TensorSpec wanted{"w", ElementType::kFloat32, {2, 16}, TensorBox{{4, 0}, {8, 16}}};
//   reader->load(std::span(&wanted, 1), std::array{std::as_writable_bytes(std::span(rows))});
//
// A tensor that was saved with a box (the position of a part in the whole tensor) is shared by all ranks, and
// the reader searches all packs for its parts. A tensor that was saved without a box belongs to the rank that
// saved it. Rank r reads tensors without boxes from pack number r modulo the number of packs. The headers of
// the other packs are read only when a shared tensor is requested.
//
// Thread contract: only one thread may use a CheckpointReader; load() starts threads of its own.
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
  // `packs` must be in the order of their ranks, and there must be at least one. Reads the header of the
  // rank's own pack.
  [[nodiscard]] static Result<CheckpointReader> open(std::shared_ptr<const Disk> disk,
                                                     std::vector<NamedPack> packs, Rank rank,
                                                     const ReadOptions& options = {});

  // The run record (progress, counts and times) of the manifest; empty if there is no manifest or it has no
  // run record.
  [[nodiscard]] const std::optional<RunRecord>& run() const { return run_; }
  void set_run(const std::optional<RunRecord>& run) { run_ = run; }

  // Returns true if the saved world had this rank, so that one of the packs is its own. A rank that did not
  // exist at the save reads the pack of another rank.
  [[nodiscard]] bool has_saved() const { return rank_.value() < packs_.size(); }
  // Returns the ranks whose packs this rank reads besides its own if the saved world had more ranks than the
  // new one. as_read_by() returns a reader of the pack of another rank.
  [[nodiscard]] std::vector<Rank> ranks_taken_over(std::uint32_t world_size) const;
  [[nodiscard]] Result<CheckpointReader> as_read_by(Rank rank) const {
    return open(disk_, packs_, rank, options_);
  }

  // The tensors in the rank's own pack, including its parts of shared tensors, in the order in which the pack
  // stores them.
  [[nodiscard]] std::span<const PackedTensor> own() const;

  // Returns the names of all tensors that this rank can read: the tensors of its own pack and all shared
  // tensors.
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
  // Reads the wanted tensors into `into`, which has one destination of the right size for each wanted tensor.
  // Before it reads the first byte, load() checks that every wanted tensor exists with the wanted type and
  // shape and that its saved parts cover it completely. After a read error some destinations may be filled.
  // Returns kCorrupted if bytes of the checkpoint have changed since the save.
  [[nodiscard]] Result<Amount> load(std::span<const TensorSpec> wanted,
                                    std::span<const std::span<std::byte>> into);

 private:
  CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                   const ReadOptions& options);
  [[nodiscard]] Result<void> open_one(std::size_t pack);
  [[nodiscard]] Result<void> index_own();
  [[nodiscard]] Result<void> index_all();  // once
  // Finds a tensor in the index of parts, after adding all parts of this tensor to the index.
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
