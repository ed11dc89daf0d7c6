// A text as numbers, and a loader with a state of its own, which deals out places of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

class Letters {
 public:
  static constexpr std::size_t kAlphabet = 27;  // a to z, and a space
  static constexpr std::size_t kContext = 4;    // letters from which the next one is predicted

  Letters();
  // The context that begins at this place, and the letter after it.
  [[nodiscard]] const std::uint8_t* at(std::size_t place) const { return &letters_[place]; }
  // Places before this one are trained with, the others are for the validation.
  [[nodiscard]] std::size_t first_of_validation() const { return places() * 4 / 5; }
  [[nodiscard]] std::size_t places() const { return letters_.size() - kContext; }

 private:
  std::vector<std::uint8_t> letters_;
};

struct Loader {
  Loader(std::size_t places, std::uint64_t seed) : places(places), random(seed) {}
  // Deals out each place once before it deals out any place again.
  std::size_t next();

  const std::size_t places;
  std::vector<std::uint32_t> rest{};  // the places that are not dealt out yet, the next one last
  std::uint64_t random;               // the state of the generator that shuffles
};
