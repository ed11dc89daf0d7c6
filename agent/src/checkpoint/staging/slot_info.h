// What a slot of staged memory holds, as a value and as the bytes at its head: a process that dies leaves its
// slots in a file in memory, and the next one reads there what they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/run_record.h"

namespace ratoon::checkpoint {

// kFree -> kFilling -> kStaged -> kWriting -> kFree; back to kStaged where a write is to be tried again.
enum class SlotState : std::uint8_t { kFree, kFilling, kStaged, kWriting };

struct StagedPack {
  CheckpointId id{};
  Rank rank{0};
  std::uint32_t world_size = 1;
  std::uint64_t image_bytes = 0;   // of the file that it becomes, header included
  std::optional<RunRecord> run{};  // as its receipt has it

  friend bool operator==(const StagedPack&, const StagedPack&) = default;
};

struct SlotInfo {
  SlotState state = SlotState::kFree;
  std::uint64_t generation = 0;  // of its filling; later fillings of any slot have greater ones
  StagedPack pack{};

  // Whether its image is whole.
  [[nodiscard]] bool is_complete() const {
    return state == SlotState::kStaged || state == SlotState::kWriting;
  }

  friend bool operator==(const SlotInfo&, const SlotInfo&) = default;
};

inline constexpr std::size_t kSlotInfoBytes = 2048;
using SlotInfoBytes = std::array<std::byte, kSlotInfoBytes>;

// `home` marks the folder that it is to be written to.
[[nodiscard]] SlotInfoBytes encode_slot_info(const SlotInfo& info, std::uint64_t home = 0);
// Nothing where the bytes are not whole, not ours, of another version or for another folder, or say what no
// run does.
[[nodiscard]] std::optional<SlotInfo> decode_slot_info(std::span<const std::byte> bytes,
                                                       std::uint64_t home = 0);

}  // namespace ratoon::checkpoint
