#include "agent/src/data/sets/folder/content_digest.h"

#include <array>

namespace ratoon::data {

ContentDigest::ContentDigest(std::string_view kind) : kind_(kind) {
  add(kind);
}

void ContentDigest::add(std::uint64_t number) {
  std::array<std::byte, sizeof number> little_endian{};
  for (std::size_t i = 0; i < sizeof number; ++i)
    little_endian[i] = static_cast<std::byte>(number >> (8 * i));
  hash_.update(little_endian);
}

void ContentDigest::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

void ContentDigest::add(std::span<const std::byte> bytes) {
  add(std::uint64_t{bytes.size()});
  hash_.update(bytes);
}

void ContentDigest::add(Hash128 hash) {
  add(hash.high);
  add(hash.low);
}

void ContentDigest::add(std::span<const Column> columns) {
  add(std::uint64_t{columns.size()});
  for (const Column& column : columns) {
    add(column.name);
    add(name_of(column.type));
    add(std::uint64_t{column.shape.has_value()});
    if (!column.shape) continue;
    add(std::uint64_t{column.shape->size()});
    for (const std::uint64_t dimension : *column.shape) add(dimension);
  }
}

std::string ContentDigest::text() const {
  return kind_ + ":" + to_hex(hash_.digest128());
}

}  // namespace ratoon::data
