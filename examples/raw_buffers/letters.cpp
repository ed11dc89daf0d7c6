#include "letters.h"

#include <numeric>
#include <string_view>
#include <utility>

namespace {

constexpr std::string_view kText =
    "this is the house that jack built this is the malt that lay in the house that jack built this is the "
    "rat "
    "that ate the malt that lay in the house that jack built this is the cat that killed the rat that ate "
    "the "
    "malt that lay in the house that jack built this is the dog that worried the cat that killed the rat "
    "that "
    "ate the malt that lay in the house that jack built this is the cow with the crumpled horn that tossed "
    "the "
    "dog that worried the cat that killed the rat that ate the malt that lay in the house that jack built "
    "this "
    "is the maiden all forlorn that milked the cow with the crumpled horn that tossed the dog that worried "
    "the "
    "cat that killed the rat that ate the malt that lay in the house that jack built";

// A linear congruential generator of 64 bits, of which the upper 32 are used.
std::uint64_t draw(std::uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state >> 32;
}

}  // namespace

Letters::Letters() {
  for (const char c : kText)
    letters_.push_back(c == ' ' ? kAlphabet - 1 : static_cast<std::uint8_t>(c - 'a'));
}

std::size_t Loader::next() {
  if (rest.empty()) {
    rest.resize(places);
    std::iota(rest.begin(), rest.end(), 0U);
    for (std::size_t i = places - 1; i > 0; --i) std::swap(rest[i], rest[draw(random) % (i + 1)]);
  }
  const std::size_t place = rest.back();
  rest.pop_back();
  return place;
}
