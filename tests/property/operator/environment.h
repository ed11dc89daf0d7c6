// The environment's settings for a run of laws: the number of seeds, and the first one.
//   RATOON_SEED=1234                     one
//   RATOON_FIRST_SEED=9 RATOON_SEEDS=50  so many from that one on; without the first, the commit says it:
//   RATOON_COMMIT=0a1b2c3d...            so that no two commits look at the same worlds; otherwise from 1
//   RATOON_SHARD=2 RATOON_SHARDS=4       a share of them
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace ratoon::sim {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// The beginning of the commit's name, which is as good as random.
inline std::uint64_t seed_of_commit(std::string_view commit) {
  constexpr std::size_t kDigits = 8;
  std::uint64_t seed = 0;
  const std::string_view begin = commit.substr(0, kDigits);
  const auto read = std::from_chars(begin.data(), begin.data() + begin.size(), seed, 16);
  return read.ec == std::errc() && read.ptr == begin.data() + begin.size() && seed != 0 ? seed : 1;
}

// A law counts how often something happened only over at least so many worlds: in fewer worlds, for example
// the few that a build with sanitizers affords, the count depends on chance.
inline constexpr std::uint64_t kEnoughToCount = 50;

class Seeds {
 public:
  class Iterator {
   public:
    Iterator(std::uint64_t seed, std::uint64_t stride) : seed_(seed), stride_(stride) {}
    std::uint64_t operator*() const { return seed_; }
    Iterator& operator++() {
      seed_ += stride_;
      return *this;
    }
    bool operator!=(const Iterator& end) const { return seed_ < end.seed_; }

   private:
    std::uint64_t seed_;
    std::uint64_t stride_;
  };

  Seeds(std::uint64_t first, std::uint64_t all, std::uint64_t shard, std::uint64_t shards, bool is_one,
        std::string program)
      : first_(first + shard),
        end_(first + all),
        stride_(shards),
        is_one_(is_one),
        program_(std::move(program)) {}

  [[nodiscard]] Iterator begin() const { return {first_, stride_}; }
  [[nodiscard]] Iterator end() const { return {end_, stride_}; }
  [[nodiscard]] std::uint64_t count() const {
    return end_ <= first_ ? 0 : (end_ - first_ + stride_ - 1) / stride_;
  }
  [[nodiscard]] bool is_one() const { return is_one_; }
  // The command that replays that story, and its events.
  [[nodiscard]] std::string replay(std::uint64_t seed) const {
    return "replay it: RATOON_SEED=" + std::to_string(seed) + " " + program_;
  }

 private:
  std::uint64_t first_;
  std::uint64_t end_;
  std::uint64_t stride_;
  bool is_one_;
  std::string program_;
};

// Prints the tested seeds.
inline Seeds seeds_of_this_run(std::uint64_t all, const std::string& program) {
  if (const std::uint64_t one = number_from_environment("RATOON_SEED", 0); one != 0)
    return {one, 1, 0, 1, true, program};
  const char* value = std::getenv("RATOON_COMMIT");
  const std::string commit = value == nullptr ? "" : value;
  const std::uint64_t first = number_from_environment("RATOON_FIRST_SEED", seed_of_commit(commit));
  all = number_from_environment("RATOON_SEEDS", all);
  const bool is_of_commit = std::getenv("RATOON_FIRST_SEED") == nullptr && !commit.empty();
  std::cout << "seeds from " << first << (is_of_commit ? " on, as commit " + commit + " has it" : " on")
            << "; the same again: RATOON_FIRST_SEED=" << first << " RATOON_SEEDS=" << all << " " << program
            << std::endl;
  return {
      first, all,    number_from_environment("RATOON_SHARD", 0), number_from_environment("RATOON_SHARDS", 1),
      false, program};
}

}  // namespace ratoon::sim
