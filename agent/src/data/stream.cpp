#include <algorithm>
#include <stdexcept>

#include <ratoon/stream.h>

#include "agent/src/data/stream_state.h"
#include "base/core/philox.h"

namespace ratoon {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kSourceBytesMax = 4096;

}  // namespace

Stream::Stream(StreamOptions options) : options_(std::move(options)) {
  if (options_.samples == 0 || options_.samples > Permutation::kSizeMax) {
    throw std::invalid_argument("a Stream needs 1 to 2^62 samples, and got " +
                                std::to_string(options_.samples));
  }
  if (options_.global_batch == 0) throw std::invalid_argument("a Stream needs a global batch of at least 1");
  const bool is_printable = std::all_of(options_.source.begin(), options_.source.end(),
                                        [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (!is_printable || options_.source.size() > kSourceBytesMax) {
    throw std::invalid_argument("a Stream's source is a text of up to " + std::to_string(kSourceBytesMax) +
                                " printable ASCII characters, such as a digest of the data");
  }
}

std::pair<std::uint64_t, std::uint64_t> Stream::share(std::uint64_t start, std::uint64_t global_batch,
                                                      std::uint32_t rank, std::uint32_t world_size) {
  if (rank >= world_size) {
    throw std::invalid_argument("rank " + std::to_string(rank) + " is not in a world of " +
                                std::to_string(world_size));
  }
  const auto before = [&](std::uint64_t ranks) {
    return start + static_cast<std::uint64_t>(Wide{global_batch} * ranks / world_size);
  };
  return {before(rank), before(std::uint64_t{rank} + 1)};
}

std::vector<Slot> Stream::take(std::uint32_t rank, std::uint32_t world_size) {
  const auto [first, last] = share(cursor_, options_.global_batch, rank, world_size);
  std::vector<Slot> mine;
  mine.reserve(last - first);
  for (std::uint64_t number = cursor_; number != cursor_ + options_.global_batch; ++number) {
    const Slot slot = at(number);
    digest_ = mix_into(digest_, slot.sample);
    if (number >= first && number < last) mine.push_back(slot);
  }
  cursor_ += options_.global_batch;
  return mine;
}

const Permutation& Stream::order_of(std::uint64_t epoch) const {
  if (!order_ || order_->first != epoch) {
    order_.emplace(epoch,
                   Permutation(options_.samples, permutation_key(options_.seed, options_.source, epoch)));
  }
  return order_->second;
}

Slot Stream::at(std::uint64_t number) const {
  const std::uint64_t epoch = number / options_.samples;
  return {.number = number, .epoch = epoch, .sample = order_of(epoch)(number % options_.samples)};
}

std::uint64_t Stream::slot_of(std::uint64_t epoch, std::uint64_t sample) const {
  return epoch * options_.samples + order_of(epoch).inverse(sample);
}

std::string Stream::save_state() const {
  return data::encode_stream_state({.options = options_, .cursor = cursor_, .digest = digest_});
}

void Stream::load_state(std::string_view state) {
  const data::StreamState read = data::read_stream_state(state, options_);
  cursor_ = read.cursor;
  digest_ = read.digest;
}

}  // namespace ratoon
