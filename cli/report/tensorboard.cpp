#include "cli/report/tensorboard.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/core/crc32c.h"

namespace ratoon::cli {
namespace {

// The kinds of fields in the encoding of protocol buffers.
enum class WireType : std::uint8_t { kVarint = 0, kEightBytes = 1, kText = 2, kFourBytes = 5 };

// The numbers of the fields in TensorFlow's event.proto and summary.proto.
namespace field {
constexpr std::uint32_t kWallTime = 1;     // Event
constexpr std::uint32_t kStep = 2;         // Event
constexpr std::uint32_t kFileVersion = 3;  // Event
constexpr std::uint32_t kSummary = 5;      // Event
constexpr std::uint32_t kSessionLog = 7;   // Event
constexpr std::uint32_t kValue = 1;        // Summary
constexpr std::uint32_t kTag = 1;          // Summary.Value
constexpr std::uint32_t kSimpleValue = 2;  // Summary.Value
constexpr std::uint32_t kStatus = 1;       // SessionLog
}  // namespace field

constexpr std::uint64_t kSessionStart = 1;  // SessionLog.START

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U) bytes += static_cast<char>((number & 0x7fU) | 0x80U);
  return bytes + static_cast<char>(number);
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(number); ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xffU);
  return bytes;
}

std::string field_key(std::uint32_t number, WireType wire) {
  return varint((std::uint64_t{number} << 3U) | static_cast<std::uint64_t>(wire));
}

std::string text_field(std::uint32_t number, const std::string& content) {
  return field_key(number, WireType::kText) + varint(content.size()) + content;
}

std::string number_field(std::uint32_t number, std::uint64_t content) {
  return field_key(number, WireType::kVarint) + varint(content);
}

std::string encode_event_time(double at) {
  return field_key(field::kWallTime, WireType::kEightBytes) + little_endian(std::bit_cast<std::uint64_t>(at));
}

std::string encode_restart_event(const HistoryRow& row) {
  return encode_event_time(row.at) + number_field(field::kStep, row.step) +
         text_field(field::kSessionLog, number_field(field::kStatus, kSessionStart));
}

std::string encode_value_event(const HistoryRow& row, const std::string& name) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(row.value));
  const std::string value = text_field(field::kTag, name) +
                            field_key(field::kSimpleValue, WireType::kFourBytes) + little_endian(bits);
  return encode_event_time(row.at) + number_field(field::kStep, row.step) +
         text_field(field::kSummary, text_field(field::kValue, value));
}

// Returns the CRC32C with TensorFlow's mask. TensorFlow masks each CRC32C, because the data itself may
// contain CRC32Cs.
std::uint32_t masked_checksum(const std::string& bytes) {
  constexpr std::uint32_t kOffset = 0xa282ead8U;
  const std::uint32_t sum = crc32c(std::as_bytes(std::span(bytes)));
  return std::rotr(sum, 15) + kOffset;
}

struct NamedRow {
  HistoryRow row;
  const std::string* name;
};

}  // namespace

std::string tensorboard_record(const std::string& event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  return length + little_endian(masked_checksum(length)) + event + little_endian(masked_checksum(event));
}

std::string TensorboardEvents::take(const AttemptHistory& history) {
  std::vector<NamedRow> rows;
  for (const auto& [name, values] : history.values) {
    std::map<std::uint64_t, std::size_t> seen;  // by attempt
    for (const HistoryRow& row : values) {
      std::size_t& taken = taken_row_counts_[{name, row.attempt}];
      if (++seen[row.attempt] <= taken) continue;
      ++taken;
      if (row.is_kept) rows.push_back({row, &name});
    }
  }
  std::ranges::stable_sort(rows, {},
                           [](const NamedRow& one) { return std::pair(one.row.attempt, one.row.step); });
  std::string records;
  if (!has_begun_ && !rows.empty())
    records += tensorboard_record(encode_event_time(rows.front().row.at) +
                                  text_field(field::kFileVersion, "brain.Event:2"));
  for (const auto& [row, name] : rows) {
    if (has_begun_ && row.attempt > newest_attempt_) records += tensorboard_record(encode_restart_event(row));
    newest_attempt_ = std::max(newest_attempt_, row.attempt);
    records += tensorboard_record(encode_value_event(row, *name));
  }
  has_begun_ = has_begun_ || !rows.empty();
  return records;
}

}  // namespace ratoon::cli
