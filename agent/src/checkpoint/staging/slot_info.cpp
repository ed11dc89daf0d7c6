#include "agent/src/checkpoint/staging/slot_info.h"

#include <string_view>
#include <utility>

#include "agent/src/checkpoint/format/manifest.h"
#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kSlotInfoMagic = 0x39746f6c736e7472;  // "rtnslot9": a new layout needs a new number
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint64_t kRankMax = 0xffffffff;

// An encoded slot info begins with the following numbers in little-endian order, 8 bytes each. If the pack
// has a run record, the receipt of the pack comes next. The CRC32C of all these bytes comes last.
enum NumberPosition : std::size_t {
  kMagic,
  kHome,
  kGeneration,
  kAttempt,
  kStep,
  kImageBytes,
  kRank,
  kWorldSize,
  kState,
  kReceiptBytes,
  kNumbers
};
constexpr std::size_t kNumbersBytes = kNumbers * 8;

void append_number(std::string& bytes, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

std::uint64_t read_number(std::span<const std::byte> bytes, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < width; ++i) number |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return number;
}

std::uint64_t number_at(std::span<const std::byte> bytes, NumberPosition which) {
  return read_number(bytes.subspan(std::size_t{which} * 8), 8);
}

}  // namespace

std::string encode_slot_info(const SlotInfo& info, std::uint64_t home) {
  const StagedPack& pack = info.pack;
  std::string receipt;
  if (pack.run) {
    const std::string no_digest_yet(32, '0');
    receipt = encode_receipt({.rank = pack.rank, .header_digest = no_digest_yet, .run = pack.run});
  }
  std::string bytes;
  for (const std::uint64_t number :
       {kSlotInfoMagic, home, info.generation, pack.id.attempt.value(), pack.id.step.value(),
        pack.image_bytes, std::uint64_t{pack.rank.value()}, std::uint64_t{pack.world_size},
        static_cast<std::uint64_t>(info.state), std::uint64_t{receipt.size()}})
    append_number(bytes, number, 8);
  bytes += receipt;
  append_number(bytes, crc32c(std::as_bytes(std::span(bytes))), kChecksumBytes);
  return bytes;
}

std::optional<SlotInfo> decode_slot_info(std::span<const std::byte> bytes, std::uint64_t home) {
  // Check every value even if the checksum is right, because other programs can write to the folder.
  if (bytes.size() < kNumbersBytes + kChecksumBytes) return std::nullopt;
  if (number_at(bytes, kMagic) != kSlotInfoMagic || number_at(bytes, kHome) != home) return std::nullopt;
  const std::uint64_t receipt_bytes = number_at(bytes, kReceiptBytes);
  if (receipt_bytes > bytes.size() - kNumbersBytes - kChecksumBytes) return std::nullopt;
  const auto checked = bytes.first(kNumbersBytes + receipt_bytes);
  if (read_number(bytes.subspan(checked.size()), kChecksumBytes) != crc32c(checked)) return std::nullopt;
  const bool is_sound = number_at(bytes, kAttempt) <= kAttemptMax && number_at(bytes, kStep) <= kNumberMax &&
                        number_at(bytes, kRank) <= kRankMax && number_at(bytes, kWorldSize) <= kRankMax &&
                        number_at(bytes, kState) <= static_cast<std::uint64_t>(SlotState::kWriting);
  if (!is_sound) return std::nullopt;
  SlotInfo info;
  info.state = static_cast<SlotState>(number_at(bytes, kState));
  info.generation = number_at(bytes, kGeneration);
  info.pack.id = {.attempt = Attempt(number_at(bytes, kAttempt)), .step = Step(number_at(bytes, kStep))};
  info.pack.image_bytes = number_at(bytes, kImageBytes);
  info.pack.rank = Rank(static_cast<std::uint32_t>(number_at(bytes, kRank)));
  info.pack.world_size = static_cast<std::uint32_t>(number_at(bytes, kWorldSize));
  if (receipt_bytes == 0) return info;
  const auto text = checked.subspan(kNumbersBytes);
  auto receipt = decode_receipt({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!receipt || !receipt->run) return std::nullopt;
  info.pack.run = std::move(receipt->run);
  return info;
}

}  // namespace ratoon::checkpoint
