#include "agent/src/checkpoint/saver/background_checksums.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kBackgroundBytesMin = 8 << 20;  // a thread costs as much as the sums of some 100 KiB
constexpr std::size_t kPieceBytes = 256 << 10;        // stays in the cache for the second checksum

}  // namespace

BackgroundChecksums::BackgroundChecksums(PackChecksums& sums, std::vector<std::span<const std::byte>> data)
    : checksums_(sums), data_(std::move(data)), wait_for_([](std::uint64_t) { return true; }) {
  begin();
}

BackgroundChecksums::BackgroundChecksums(PackChecksums& sums, std::span<const std::byte> data,
                                         WaitFunction wait_for)
    : checksums_(sums), data_({data}), wait_for_(std::move(wait_for)) {
  begin();
}

void BackgroundChecksums::begin() {
  std::size_t bytes = 0;
  for (const auto& part : data_) bytes += part.size();
  if (bytes < kBackgroundBytesMin) return;
  try {
    computation_ = std::async(std::launch::async, [this] { add_all(); });
  } catch (const std::system_error&) {
    // Ignore the exception: if the system refuses to start another thread, finish() computes the checksums.
  }
}

BackgroundChecksums::~BackgroundChecksums() {
  is_needed_.store(false, std::memory_order_relaxed);  // the thread ends early
  if (computation_.valid()) computation_.wait();
}

void BackgroundChecksums::finish() {
  if (computation_.valid())
    computation_.get();
  else
    add_all();
}

void BackgroundChecksums::add_all() {
  std::uint64_t end = 0;
  for (const auto& part : data_) {
    for (std::size_t at = 0; at < part.size(); at += kPieceBytes) {
      const auto piece = part.subspan(at, std::min(kPieceBytes, part.size() - at));
      end += piece.size();
      if (!is_needed_.load(std::memory_order_relaxed) || !wait_for_(end)) return;
      checksums_.add(piece);
    }
  }
}

}  // namespace ratoon::checkpoint
