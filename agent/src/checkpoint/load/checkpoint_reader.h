// checkpoint/load/: Reads checkpoints. A pack is the file that holds the tensors of one rank. Any number of
// ranks may read a checkpoint, and each of them reads one pack or all packs.
//
// CheckpointReader: reads the tensors of a checkpoint, or parts of them, for one rank. The number of ranks
// that read may differ from the number of ranks that saved.
//
//   auto reader = CheckpointReader::open(disk, packs, Rank(2));
//   std::vector<float> rows(2 * 16);
//   const TensorSpec wanted{"w", ElementType::kFloat32, {2, 16}, TensorBox{{4, 0}, {8, 16}}};
//   reader->load(std::span(&wanted, 1), std::array{std::as_writable_bytes(std::span(rows))});
//
// A box is the position of a part in the whole tensor. A tensor that was saved with boxes is shared: every
// rank can read it, and the reader searches all packs for the parts of the tensor. A tensor that was saved
// without a box belongs to the rank that saved it. Rank r reads tensors without boxes from pack number r
// modulo the number of packs. Headers of packs of other ranks are read only when a shared tensor is
// requested. A tensor that was saved in parts is like any other tensor without a box; the headers of its part
// files are read when it is requested.
//
// Thread contract: only one thread may use a CheckpointReader; load() starts threads of its own.
#pragma once

#include <cstddef>
#include <deque>
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
  [[nodiscard]] const std::optional<RunRecord>& run() const { return run_record_; }
  void set_run_record(const std::optional<RunRecord>& run) { run_record_ = run; }

  // Returns true if this rank existed at the save, so that it has a pack of its own. A rank that did not
  // exist at the save reads the pack of another rank.
  [[nodiscard]] bool has_own_pack() const { return rank_.value() < packs_.size(); }
  // If more ranks saved the checkpoint than now read it, this rank also reads packs of ranks that no longer
  // exist. Returns these ranks. reader_for_rank() returns a reader of the pack of another rank.
  [[nodiscard]] std::vector<Rank> ranks_taken_over(std::uint32_t world_size) const;
  [[nodiscard]] Result<CheckpointReader> reader_for_rank(Rank rank) const {
    return open(disk_, packs_, rank, options_);
  }

  // The tensors in the rank's own pack, in the order in which the pack stores them. They include the rank's
  // parts of shared tensors. The rank's tensors that were saved in parts come after them.
  [[nodiscard]] std::span<const PackedTensor> own() const { return own_tensors_; }
  // The PackRecord with which open() received the rank's own pack.
  [[nodiscard]] const PackRecord& own_pack_record() const { return packs_[own_pack_].record; }

  // Returns the names of all tensors that this rank can read: the tensors of its own pack and all shared
  // tensors.
  [[nodiscard]] Result<std::vector<std::string>> names();

  struct TensorForm {
    ElementType type = ElementType::kUint8;  // kUint8 for bytes and text
    TensorShape shape{};                     // of the whole tensor
  };
  // Returns nothing if the checkpoint has no tensor of this name for this rank.
  [[nodiscard]] Result<std::optional<TensorForm>> find(std::string_view name);

  struct LoadedBytes {
    std::uint64_t bytes_wanted = 0;
    std::uint64_t bytes_read = 0;  // headers not counted
  };
  // Reads the wanted tensors into `into`, which has one destination of the right size for each wanted tensor.
  // Before it reads the first byte, load() checks that every wanted tensor exists with the wanted type and
  // shape and that its saved parts cover it completely. After a read error some destinations may be filled.
  // Returns kCorrupted if bytes of the checkpoint have changed since the save.
  [[nodiscard]] Result<LoadedBytes> load(std::span<const TensorSpec> wanted,
                                         std::span<const std::span<std::byte>> into);

 private:
  CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                   const ReadOptions& options);
  [[nodiscard]] Result<void> open_pack(std::size_t pack);
  [[nodiscard]] Result<void> open_parts();  // once
  [[nodiscard]] Result<void> open_all();    // once
  [[nodiscard]] Result<void> index_opened_packs();
  [[nodiscard]] const TensorInParts* find_in_parts(std::string_view name) const;
  // Finds a tensor in the index of parts, after adding all parts of this tensor to the index.
  [[nodiscard]] Result<const IndexedTensor*> find_in_index(std::string_view name);

  std::shared_ptr<const Disk> disk_;
  std::vector<NamedPack> packs_;
  Rank rank_;
  ReadOptions options_;
  std::size_t own_pack_;
  std::optional<RunRecord> run_record_;
  std::vector<std::optional<NamedPackHeader>> opened_packs_;  // by pack number
  struct OpenedPart {
    std::string path;
    NamedPackHeader pack;
  };
  std::vector<OpenedPart> opened_parts_;  // of the tensors of the own pack that were saved in parts
  std::vector<PackedTensor> own_tensors_;
  std::optional<PartIndex> index_;
  std::vector<PlannedPack> indexed_packs_;  // by the number in the index
  bool are_all_packs_open_ = false;
};

}  // namespace ratoon::checkpoint
