// CheckpointReader: what a rank of any world takes out of a checkpoint: tensors, parts of them, one alone.
//
//   auto reader = CheckpointReader::open(disk, packs, Rank(2));
//   std::vector<float> rows(2 * 16);
//   const TensorSpec wanted{"w", ElementType::kFloat32, {2, 16}, TensorBox{{4, 0}, {8, 16}}};
//   reader->load(std::span(&wanted, 1), std::array{std::as_writable_bytes(std::span(rows))});
//
// A tensor that was saved with a box is shared by all ranks: its parts are looked for in all packs. One that
// was saved without belongs to the rank that saved it: rank r finds it in the pack of r modulo their number.
// Headers of the other packs are read only when something shared is asked for.
//
// Thread contract: one thread; load() uses some of its own.
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
#include "agent/src/checkpoint/load/carry_out.h"
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "agent/src/checkpoint/pack_reader.h"

namespace ratoon::checkpoint {

struct NamedPack {
  std::string path;
  PackRecord record;
};

class CheckpointReader {
 public:
  // `packs` in the order of their ranks, one at least. Reads the header of the rank's own one.
  [[nodiscard]] static Result<CheckpointReader> open(std::shared_ptr<const Disk> disk,
                                                     std::vector<NamedPack> packs, Rank rank,
                                                     const ReadOptions& options = {});

  // What the manifest says of the run; nothing where it says nothing, or where there was none.
  [[nodiscard]] const std::optional<RunRecord>& run() const { return run_; }
  void set_run(const std::optional<RunRecord>& run) { run_ = run; }

  // Whether this rank saved one of the packs; what it finds as its own is another rank's where it did not.
  [[nodiscard]] bool has_saved() const { return rank_.value() < packs_.size(); }
  // Of these ranks, whose packs are opened anew.
  [[nodiscard]] std::vector<Rank> ranks_gone_to_this(std::uint32_t world_size) const;
  [[nodiscard]] Result<CheckpointReader> as_read_by(Rank rank) const {
    return open(disk_, packs_, rank, options_);
  }

  // What lies in the rank's own pack, parts of shared tensors included, in the order of its data.
  [[nodiscard]] std::span<const PackedTensor> own() const;

  // Of all that this rank finds: its own, and what any ranks share.
  [[nodiscard]] Result<std::vector<std::string>> names();

  struct Form {
    ElementType type = ElementType::kUint8;  // kUint8 for bytes and text
    TensorShape shape{};                     // of the whole
  };
  // None: this rank has no such tensor in the checkpoint.
  [[nodiscard]] Result<std::optional<Form>> find(std::string_view name);

  struct Amount {
    std::uint64_t bytes_wanted = 0;
    std::uint64_t bytes_read = 0;  // headers not counted
  };
  // Fills `into`, which has as many bytes as each wanted tensor. Before the first byte is read, all that is
  // wanted is known to be there, in this form and without a hole. After an error of reading, some of it may
  // be filled: kCorrupted where bytes are not those that were saved.
  [[nodiscard]] Result<Amount> load(std::span<const TensorSpec> wanted,
                                    std::span<const std::span<std::byte>> into);

 private:
  CheckpointReader(std::shared_ptr<const Disk> disk, std::vector<NamedPack> packs, Rank rank,
                   const ReadOptions& options);
  [[nodiscard]] Result<void> open_one(std::size_t pack);
  [[nodiscard]] Result<void> index_own();
  [[nodiscard]] Result<void> index_all();  // once
  // After this the index knows all parts of it that there are.
  [[nodiscard]] Result<const IndexedTensor*> look_up(std::string_view name);

  std::shared_ptr<const Disk> disk_;
  std::vector<NamedPack> packs_;
  Rank rank_;
  ReadOptions options_;
  std::size_t own_;
  std::optional<RunRecord> run_;
  std::vector<std::optional<KnownPack>> opened_;  // by number of the pack
  std::optional<PartIndex> index_;
  std::vector<std::size_t> indexed_;  // number of the pack, by that of the index
};

}  // namespace ratoon::checkpoint
