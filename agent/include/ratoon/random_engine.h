// Makes session.track() accept the random number engines of the standard library.
//
//   std::mt19937_64 noise;
//   session.track("noise", noise);  // seeds it from --seed, the name and this rank, or restores it from a
//                                   // checkpoint
//
// A checkpoint stores an engine as one text, in the form that the C++ standard defines. Engines give the same
// numbers with every standard library. Distributions such as std::normal_distribution give different numbers
// with different libraries, and their state is not saved. CounterRandom (<ratoon/counter_random.h>) has no
// state beyond its counter and gives equal numbers on every platform.
#pragma once

#include <array>
#include <cstdint>
#include <istream>
#include <locale>
#include <ostream>
#include <random>
#include <sstream>
#include <string>

#include <ratoon/session.h>

namespace ratoon {

template <class E>
concept RandomEngine = std::uniform_random_bit_generator<E> &&
                       requires(E& engine, std::seed_seq& words, std::ostream& out, std::istream& in) {
                         engine.seed(words);
                         out << engine;
                         in >> engine;
                       };

template <RandomEngine E>
struct TrackAdapter<E> {
  static void check(E&, const std::string&) {}
  static void seed(E& engine, std::uint64_t seed) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    engine.seed(words);
  }
  static void save(E& engine, StateWriter& out) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << engine;
    out.bytes("", text.str());
  }
  static void load(E& engine, StateReader& in) {
    if (const auto seed_of_new = in.new_seed("")) {
      in.after_all([&engine, seed = *seed_of_new] { TrackAdapter::seed(engine, seed); });
      return;
    }
    in.bytes("", [&engine, &in](const std::string& state) {
      in.after_all([&engine, &in, state] {
        std::istringstream text(state);
        text.imbue(std::locale::classic());
        if (!(text >> engine) || !(text >> std::ws).eof())
          in.refuse("the checkpoint has another kind of random number engine under this name");
      });
    });
  }
};

}  // namespace ratoon
