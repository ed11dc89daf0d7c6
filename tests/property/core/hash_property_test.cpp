// CRC32C and XXH3 against references and under every way of cutting the input.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/counter_random.h>

#include "base/core/crc32c.h"
#include "base/core/xxh3.h"

namespace ratoon::hash_property_test {
namespace {

using Bytes = std::span<const std::byte>;

// The definition of the CRC, a bit at a time.
std::uint32_t reference(Bytes data) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : data) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

// Long enough for three long blocks and more, at any alignment.
struct Input {
  std::vector<std::byte> storage;
  std::size_t offset = 0;

  [[nodiscard]] Bytes bytes() const { return Bytes(storage).subspan(offset); }
};

Input any_input() {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto max_size = *rc::gen::element<std::size_t>(16, 300, 2000, 60'000);
  const auto size = *rc::gen::inRange<std::size_t>(0, max_size);
  const auto offset = *rc::gen::inRange<std::size_t>(0, 17);
  CounterRandom random(seed, "input");
  Input input{.storage = std::vector<std::byte>(offset + size), .offset = offset};
  for (std::byte& byte : input.storage) byte = static_cast<std::byte>(random.next_u32());
  return input;
}

// The pieces of `data` between random cuts, empty ones among them.
std::vector<Bytes> any_pieces(Bytes data) {
  auto cuts =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, data.size() + 1));
  cuts.push_back(0);
  cuts.push_back(data.size());
  std::sort(cuts.begin(), cuts.end());
  std::vector<Bytes> pieces;
  for (std::size_t i = 1; i < cuts.size(); ++i)
    pieces.push_back(data.subspan(cuts[i - 1], cuts[i] - cuts[i - 1]));
  return pieces;
}

RC_GTEST_PROP(Crc32c, EqualsTheBitwiseReference, ()) {
  const Input input = any_input();
  const std::uint32_t expected = reference(input.bytes());
  RC_ASSERT(crc32c(input.bytes()) == expected);
  RC_ASSERT(crc32c_ways::portable(input.bytes()) == expected);
  if (crc32c_ways::has_hardware()) RC_ASSERT(crc32c_ways::hardware(input.bytes()) == expected);
}

RC_GTEST_PROP(Crc32c, ExtendsAndCombinesOverAnyPieces, ()) {
  const Input input = any_input();
  std::uint32_t portable = 0;
  std::uint32_t chosen = 0;
  std::uint32_t combined = 0;
  for (const Bytes piece : any_pieces(input.bytes())) {
    portable = crc32c_ways::portable(piece, portable);
    chosen = crc32c(piece, chosen);
    combined = crc32c_combine(combined, crc32c(piece), piece.size());
  }
  const std::uint32_t whole = reference(input.bytes());
  RC_ASSERT(portable == whole);
  RC_ASSERT(chosen == whole);
  RC_ASSERT(combined == whole);
}

RC_GTEST_PROP(Crc32c, SeesEveryFlippedBit, ()) {
  Input input = any_input();
  RC_PRE(!input.bytes().empty());
  const std::uint32_t before = crc32c(input.bytes());
  const auto bit = *rc::gen::inRange<std::size_t>(0, input.bytes().size() * 8);
  input.storage.at(input.offset + bit / 8) ^= std::byte{1} << (bit % 8);
  RC_ASSERT(crc32c(input.bytes()) != before);
}

RC_GTEST_PROP(Crc32cCombine, IsAssociative, (std::uint32_t a, std::uint32_t b, std::uint32_t c)) {
  const auto length_b = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62);
  const auto length_c = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62);
  RC_ASSERT(crc32c_combine(crc32c_combine(a, b, length_b), c, length_c) ==
            crc32c_combine(a, crc32c_combine(b, c, length_c), length_b + length_c));
}

// The polynomial is x + 1 times a primitive one of degree 31, so lengths count modulo 2^31 - 1: an
// independent check of lengths that no memory holds.
RC_GTEST_PROP(Crc32cCombine, LengthsRepeat, (std::uint32_t a, std::uint32_t b)) {
  constexpr std::uint64_t kOrder = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t length = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 64);
  RC_ASSERT(crc32c_combine(a, b, length) == crc32c_combine(a, b, length % kOrder));
}

RC_GTEST_PROP(Xxh3, StreamsAsInOneShotOverAnyPieces, ()) {
  const Input input = any_input();
  Xxh3Stream stream;
  for (const Bytes piece : any_pieces(input.bytes())) stream.update(piece);
  RC_ASSERT(stream.digest64() == xxh3_64(input.bytes()));
  RC_ASSERT(stream.digest128() == xxh3_128(input.bytes()));
}

RC_GTEST_PROP(Xxh3, DoesNotDependOnAlignment, ()) {
  const Input input = any_input();
  const std::vector<std::byte> aligned(input.bytes().begin(), input.bytes().end());
  RC_ASSERT(xxh3_128(input.bytes()) == xxh3_128(aligned));
}

RC_GTEST_PROP(Hash128, SurvivesItsTextAndKeepsItsOrder,
              (std::uint64_t h1, std::uint64_t l1, std::uint64_t l2)) {
  const auto h2 = *rc::gen::element(h1, ~h1);
  const Hash128 a{.high = h1, .low = l1};
  const Hash128 b{.high = h2, .low = l2};
  RC_ASSERT(*parse_hash128(to_hex(a)) == a);
  RC_ASSERT((a < b) == (to_hex(a) < to_hex(b)));
}

}  // namespace
}  // namespace ratoon::hash_property_test
