// The events of a simulated world: drawn from a seed, or read from a story. Each choice has a name, and the
// simplest choice is 0: a choice that a story does not name is the simplest one. A story therefore has only
// its relevant choices, and keeps its meaning when the simulator gets new choices.
//
//   0 members 2             moment, name, value
//   37 kills node-2 1       the name may say of whom
//   41 trouble uid-3 #2 1   the second choice of that name at that moment
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "tests/property/operator/dice.h"

namespace ratoon::sim {

class Moves {
 public:
  enum class Keeps { kNothing, kAll };
  explicit Moves(std::uint64_t seed, Keeps keeps = Keeps::kNothing);
  // Lines as above; empty lines and lines that begin with # are ignored.
  [[nodiscard]] static Result<Moves> read(std::string_view story);

  // Later choices are made at this moment.
  void begin_moment();

  std::uint64_t below(const char* what, const std::string& whom, std::uint64_t end);
  std::uint64_t below(const char* what, std::uint64_t end) { return below(what, kNobody, end); }
  bool percent(const char* what, const std::string& whom, std::uint64_t chance);
  bool percent(const char* what, std::uint64_t chance) { return percent(what, kNobody, chance); }
  Duration ticks(const char* what, const std::string& whom, std::uint64_t from, std::uint64_t end) {
    return kTick * (from + below(what, whom, end - from));
  }
  Duration ticks(const char* what, std::uint64_t from, std::uint64_t end) {
    return ticks(what, kNobody, from, end);
  }
  template <class T>
  T pick(const char* what, std::initializer_list<T> from) {
    return *(from.begin() + below(what, from.size()));
  }

  [[nodiscard]] bool is_told() const { return is_told_; }  // and not drawn
  [[nodiscard]] std::string story() const;

 private:
  static const std::string kNobody;
  struct Move {
    std::uint64_t moment;
    std::string name;
    std::uint64_t value;
  };
  [[nodiscard]] std::string name_of_next(const char* what, const std::string& whom);
  void keep(std::string name, std::uint64_t value);

  Dice dice_;
  bool is_told_ = false;
  bool is_kept_ = false;
  std::uint64_t moment_ = 0;
  std::map<std::string, std::uint64_t> turns_;  // of names, at this moment
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> told_;
  std::vector<Move> kept_;
};

}  // namespace ratoon::sim
