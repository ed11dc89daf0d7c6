#include "agent/src/checkpoint/staging/slot_info.h"

#include <algorithm>

#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kMark = 0x32746f6c736e7472;  // "rtnslot2": another layout gets another number
constexpr std::size_t kSummedBytes = kSlotInfoBytes - 4;

// Numbers one after the other, little-endian.
class Putter {
 public:
  explicit Putter(SlotInfoBytes& bytes) : bytes_(bytes) {}
  void put(std::uint64_t number, std::size_t width = 8) {
    for (std::size_t i = 0; i < width; ++i) bytes_[at_++] = static_cast<std::byte>(number >> (8 * i));
  }

 private:
  SlotInfoBytes& bytes_;
  std::size_t at_ = 0;
};

class Getter {
 public:
  explicit Getter(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t get(std::size_t width = 8) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < width; ++i)
      number |= std::to_integer<std::uint64_t>(bytes_[at_++]) << (8 * i);
    return number;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

SlotInfoBytes encode_slot_info(const SlotInfo& info) {
  SlotInfoBytes bytes{};
  Putter to(bytes);
  to.put(kMark);
  to.put(info.generation);
  to.put(info.pack.id.attempt.value());
  to.put(info.pack.id.step.value());
  to.put(info.pack.image_bytes);
  to.put(info.pack.rank.value(), 4);
  to.put(info.pack.world_size, 4);
  to.put(static_cast<std::uint64_t>(info.state));
  to.put(info.pack.run.has_value() ? 1 : 0);
  const RunRecord run = info.pack.run.value_or(RunRecord());
  for (const std::uint64_t number : {run.batches, run.samples, run.epoch_samples, run.trained_nanoseconds,
                                     run.history_attempt, run.history_bytes})
    to.put(number);
  const std::uint32_t sum = crc32c(std::span(bytes).first(kSummedBytes));
  for (std::size_t i = 0; i < 4; ++i) bytes[kSummedBytes + i] = static_cast<std::byte>(sum >> (8 * i));
  return bytes;
}

std::optional<SlotInfo> decode_slot_info(std::span<const std::byte> bytes) {
  if (bytes.size() < kSlotInfoBytes) return std::nullopt;
  if (Getter(bytes.subspan(kSummedBytes)).get(4) != crc32c(bytes.first(kSummedBytes))) return std::nullopt;
  Getter from(bytes);
  if (from.get() != kMark) return std::nullopt;
  SlotInfo info;
  info.generation = from.get();
  info.pack.id.attempt = Attempt(from.get());
  info.pack.id.step = Step(from.get());
  info.pack.image_bytes = from.get();
  info.pack.rank = Rank(static_cast<std::uint32_t>(from.get(4)));
  info.pack.world_size = static_cast<std::uint32_t>(from.get(4));
  const std::uint64_t state = from.get();
  if (state > static_cast<std::uint64_t>(SlotState::kWriting)) return std::nullopt;
  info.state = static_cast<SlotState>(state);
  if (from.get() == 0) return info;
  RunRecord run;
  for (std::uint64_t* number : {&run.batches, &run.samples, &run.epoch_samples, &run.trained_nanoseconds,
                                &run.history_attempt, &run.history_bytes})
    *number = from.get();
  info.pack.run = run;
  return info;
}

}  // namespace ratoon::checkpoint
