#include "agent/src/checkpoint/tiers/stores/buffered_object.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace ratoon::checkpoint {

Result<void> BufferedObject::copy(std::uint64_t at, std::span<const std::byte> bytes) {
  try {
    Piece piece{.own = std::vector<std::byte>(bytes.begin(), bytes.end()), .bytes = {}};
    piece.bytes = piece.own;  // a vector that is moved keeps its memory
    return add(at, std::move(piece));
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::kNoSpace, "there is no memory for " + std::to_string(bytes.size()) + " bytes");
  }
}

Result<void> BufferedObject::borrow(std::uint64_t at, std::span<const std::byte> bytes) {
  return add(at, {.own = {}, .bytes = bytes});
}

Result<void> BufferedObject::add(std::uint64_t at, Piece piece) {
  if (piece.bytes.empty()) return {};
  const auto behind = pieces_.lower_bound(at);
  const bool meets_next = behind != pieces_.end() && behind->first - at < piece.bytes.size();
  const bool meets_last =
      behind != pieces_.begin() && at - std::prev(behind)->first < std::prev(behind)->second.bytes.size();
  if (meets_next || meets_last)
    return Error(ErrorKind::kInvalid,
                 "the bytes from offset " + std::to_string(at) + " on are written twice");
  pieces_.emplace_hint(behind, at, std::move(piece));
  return {};
}

bool BufferedObject::is_whole() const {
  std::uint64_t reached = 0;
  for (const auto& [at, piece] : pieces_) {
    if (at != reached) return false;
    reached += piece.bytes.size();
  }
  return true;
}

std::uint64_t BufferedObject::size_bytes() const {
  return pieces_.empty() ? 0 : pieces_.rbegin()->first + pieces_.rbegin()->second.bytes.size();
}

Result<void> BufferedObject::read(std::uint64_t offset, std::span<char> into) {
  if (into.empty()) return {};
  for (auto piece = std::prev(pieces_.upper_bound(offset)); !into.empty(); ++piece) {
    const auto from = piece->second.bytes.subspan(offset - piece->first);
    const std::size_t count = std::min(from.size(), into.size());
    std::memcpy(into.data(), from.data(), count);
    into = into.subspan(count);
    offset += count;
  }
  return {};
}

}  // namespace ratoon::checkpoint
