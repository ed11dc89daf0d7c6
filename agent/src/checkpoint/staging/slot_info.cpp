#include "agent/src/checkpoint/staging/slot_info.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/core/crc32c.h"
#include "base/core/utf8.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kSlotInfoMagic = 0x38746f6c736e7472;  // "rtnslot8": a new layout needs a new number
constexpr std::size_t kChecksummedBytes = kSlotInfoBytes - 4;

// Encodes numbers in little-endian order, and each text as its length followed by its bytes.
class SlotInfoEncoder {
 public:
  explicit SlotInfoEncoder(SlotInfoBytes& bytes) : bytes_(bytes) {}
  void put(std::uint64_t number, std::size_t width = 8) {
    for (std::size_t i = 0; i < width; ++i) bytes_[at_++] = static_cast<std::byte>(number >> (8 * i));
  }
  void put(std::string text, std::size_t bytes_max) {
    text = cut_text(std::move(text), bytes_max);
    put(text.size());
    for (const char c : text) bytes_[at_++] = static_cast<std::byte>(c);
  }

 private:
  SlotInfoBytes& bytes_;
  std::size_t at_ = 0;
};

// Reads numbers and texts in the form in which SlotInfoEncoder writes them. Checks every value even if the
// checksum is right, because other programs can write to the folder. The length of each text has a limit, so
// that no read goes beyond the end of the bytes.
class SlotInfoDecoder {
 public:
  explicit SlotInfoDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t get(std::size_t width = 8) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < width; ++i)
      number |= std::to_integer<std::uint64_t>(bytes_[at_++]) << (8 * i);
    return number;
  }
  std::uint64_t get_at_most(std::uint64_t max) {
    const std::uint64_t number = get();
    is_sound_ = is_sound_ && number <= max;
    return number;
  }
  std::string get_text(std::size_t bytes_max) {
    const std::uint64_t length = get_at_most(bytes_max);
    if (!is_sound_) return {};
    const auto text = bytes_.subspan(at_, length);
    at_ += length;
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  [[nodiscard]] bool is_sound() const { return is_sound_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool is_sound_ = true;
};

void put_early_end(SlotInfoEncoder& to, const std::optional<EarlyEnd>& end) {
  to.put(end.has_value() ? 1 : 0);
  if (!end) return;
  to.put(end->reason, kReasonBytesMax);
  to.put(end->until, kUntilBytesMax);
}

void put_numerics(SlotInfoEncoder& to, const std::optional<Numerics>& numerics) {
  to.put(numerics.has_value() ? 1 : 0);
  if (!numerics) return;
  for (const std::string* text : {&numerics->library, &numerics->device, &numerics->cpu_capability})
    to.put(*text, kNumericsTextBytesMax);
  to.put(numerics->threads, 4);
  to.put(numerics->is_deterministic ? 1 : 0, 4);
}

void put_seed(SlotInfoEncoder& to, const std::optional<std::uint64_t>& seed) {
  to.put(seed.has_value() ? 1 : 0);
  to.put(seed.value_or(0));
}

void put_pending_requests(SlotInfoEncoder& to, const PendingRequests& requests) {
  to.put(requests.save ? 1 : 0);
  to.put(requests.keep, kReasonBytesMax);
  to.put(requests.finish, kReasonBytesMax);
}

void put_unpinned(SlotInfoEncoder& to, const std::vector<UnpinnedStep>& unpinned) {
  const std::size_t count = std::min(unpinned.size(), kUnpinnedOfRankMax);
  to.put(count);
  for (const UnpinnedStep& one : std::span(unpinned).last(count))
    for (const std::uint64_t number : {one.step, one.since.attempt.value(), one.since.step.value()})
      to.put(number);
}

std::optional<EarlyEnd> get_early_end(SlotInfoDecoder& from) {
  if (from.get() == 0) return std::nullopt;
  EarlyEnd end;
  end.reason = from.get_text(kReasonBytesMax);
  end.until = from.get_text(kUntilBytesMax);
  return end;
}

std::optional<Numerics> get_numerics(SlotInfoDecoder& from) {
  if (from.get() == 0) return std::nullopt;
  Numerics numerics;
  for (std::string* text : {&numerics.library, &numerics.device, &numerics.cpu_capability})
    *text = from.get_text(kNumericsTextBytesMax);
  numerics.threads = static_cast<std::uint32_t>(from.get(4));
  numerics.is_deterministic = from.get(4) != 0;
  return numerics;
}

PendingRequests get_pending_requests(SlotInfoDecoder& from) {
  PendingRequests requests{.save = from.get() != 0};
  requests.keep = from.get_text(kReasonBytesMax);
  requests.finish = from.get_text(kReasonBytesMax);
  return requests;
}

std::vector<UnpinnedStep> get_unpinned(SlotInfoDecoder& from) {
  const std::uint64_t count = from.get_at_most(kUnpinnedOfRankMax);
  std::vector<UnpinnedStep> unpinned;
  for (std::uint64_t i = 0; i < count && from.is_sound(); ++i) {
    UnpinnedStep one{.step = from.get_at_most(kNumberMax)};
    one.since.attempt = Attempt(from.get_at_most(kAttemptMax));
    one.since.step = Step(from.get_at_most(kNumberMax));
    unpinned.push_back(one);
  }
  return unpinned;
}

std::optional<std::uint64_t> get_seed(SlotInfoDecoder& from) {
  const bool is_there = from.get() != 0;
  const std::uint64_t seed = from.get();
  return is_there ? std::optional(seed) : std::nullopt;
}

}  // namespace

SlotInfoBytes encode_slot_info(const SlotInfo& info, std::uint64_t home) {
  SlotInfoBytes bytes{};
  SlotInfoEncoder to(bytes);
  to.put(kSlotInfoMagic);
  to.put(home);
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
  put_early_end(to, run.early_end);
  put_numerics(to, run.numerics);
  put_seed(to, run.seed);
  to.put(run.keep, kReasonBytesMax);
  put_pending_requests(to, run.requests);
  put_unpinned(to, run.unpinned);
  to.put(run.begins_epoch ? 1 : 0);
  const std::uint32_t sum = crc32c(std::span(bytes).first(kChecksummedBytes));
  for (std::size_t i = 0; i < 4; ++i) bytes[kChecksummedBytes + i] = static_cast<std::byte>(sum >> (8 * i));
  return bytes;
}

std::optional<SlotInfo> decode_slot_info(std::span<const std::byte> bytes, std::uint64_t home) {
  if (bytes.size() < kSlotInfoBytes) return std::nullopt;
  if (SlotInfoDecoder(bytes.subspan(kChecksummedBytes)).get(4) != crc32c(bytes.first(kChecksummedBytes)))
    return std::nullopt;
  SlotInfoDecoder from(bytes);
  if (from.get() != kSlotInfoMagic || from.get() != home) return std::nullopt;
  SlotInfo info;
  info.generation = from.get();
  info.pack.id.attempt = Attempt(from.get_at_most(kAttemptMax));
  info.pack.id.step = Step(from.get_at_most(kNumberMax));
  info.pack.image_bytes = from.get();
  info.pack.rank = Rank(static_cast<std::uint32_t>(from.get(4)));
  info.pack.world_size = static_cast<std::uint32_t>(from.get(4));
  info.state = static_cast<SlotState>(from.get_at_most(static_cast<std::uint64_t>(SlotState::kWriting)));
  const bool has_run = from.get() != 0;
  if (!from.is_sound()) return std::nullopt;
  if (!has_run) return info;
  RunRecord run;
  for (std::uint64_t* number : {&run.batches, &run.samples, &run.epoch_samples, &run.trained_nanoseconds,
                                &run.history_attempt, &run.history_bytes})
    *number = from.get();
  run.early_end = get_early_end(from);
  run.numerics = get_numerics(from);
  run.seed = get_seed(from);
  run.keep = from.get_text(kReasonBytesMax);
  run.requests = get_pending_requests(from);
  run.unpinned = get_unpinned(from);
  run.begins_epoch = from.get() != 0;
  if (!from.is_sound()) return std::nullopt;
  info.pack.run = std::move(run);
  return info;
}

}  // namespace ratoon::checkpoint
