// SlotInfo: the state of a slot (memory for one pack file), and its encoding as the first bytes of the slot.
// A process that dies leaves its slots as files in a memory file system. The next process reads the state of
// each slot from these files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/run_record.h"

namespace ratoon::checkpoint {

// The states of a slot follow in this order: kFree, kFilling, kStaged, kWriting, kFree. If a write fails and
// is tried again, the slot goes from kWriting back to kStaged.
enum class SlotState : std::uint8_t { kFree, kFilling, kStaged, kWriting };

struct StagedPack {
  CheckpointId id{};
  Rank rank{0};
  std::uint32_t world_size = 1;
  std::uint64_t image_bytes = 0;   // size of its file, header included
  std::optional<RunRecord> run{};  // as in its receipt

  friend bool operator==(const StagedPack&, const StagedPack&) = default;
};

struct SlotInfo {
  SlotState state = SlotState::kFree;
  std::uint64_t generation = 0;  // of its copy; later copies into any slot have greater ones
  StagedPack pack{};

  // Returns true if the image of the pack in the slot is complete.
  [[nodiscard]] bool is_complete() const {
    return state == SlotState::kStaged || state == SlotState::kWriting;
  }

  friend bool operator==(const SlotInfo&, const SlotInfo&) = default;
};

// The size of the longest slot info. Most of its bytes are 16 lists of save_best() with 110 checkpoints each.
inline constexpr std::size_t kSlotInfoBytesMax = 256 * 1024;

// `home` identifies the folder to which the pack is written (SaverOptions::location_hash).
[[nodiscard]] std::string encode_slot_info(const SlotInfo& info, std::uint64_t home = 0);
// Decodes the slot info at the beginning of `bytes`. Returns nothing if the bytes are damaged, or were
// written by another program, by another version of Ratoon or for another folder.
[[nodiscard]] std::optional<SlotInfo> decode_slot_info(std::span<const std::byte> bytes,
                                                       std::uint64_t home = 0);

}  // namespace ratoon::checkpoint
