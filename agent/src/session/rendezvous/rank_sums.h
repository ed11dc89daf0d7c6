// RankSums: sums a few numbers over all ranks of an attempt, through the key-value store (board) that rank 0
// serves. Rank 0 adds the numbers in the order of the ranks, so all ranks get the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ratoon/session.h>

#include "agent/src/board/client.h"
#include "base/core/clock.h"

namespace ratoon::session {

class RankSums {
 public:
  struct Plan {
    Rendezvous rendezvous;
    std::uint64_t attempt = 0;
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::function<void()> look;  // called while this rank waits; may throw
    std::function<void(const std::string& sentence)> say;
  };
  explicit RankSums(Plan plan);
  RankSums(const RankSums&) = delete;
  RankSums& operator=(const RankSums&) = delete;

  // Replaces each number by its sum over all ranks. All ranks make the same calls in the same order, with
  // equally many numbers. `what` is the name of the call in messages, equal on all ranks. Throws Failure and
  // all exceptions of `look`.
  void add_up(const std::string& what, std::span<double> numbers);

 private:
  // On rank 0, adds the numbers of the other ranks to its own. Returns an error text if the ranks made
  // different calls, otherwise an empty text.
  [[nodiscard]] std::string gather(const std::string& what, std::span<double> numbers);
  [[nodiscard]] std::string take(const std::string& key, std::uint32_t from);
  void put(const std::string& key, std::string value);
  std::vector<std::string> ask(board::Op op, std::vector<std::string> words);
  // After an error of the key-value store, a rank is probably lost: waits until the loss is reported, and
  // throws.
  [[noreturn]] void wait_for_news(const std::string& why);
  [[nodiscard]] std::string part_key(std::uint32_t rank) const;

  const Plan plan_;
  const SystemClock clock_{};
  std::string what_;             // of the current call
  std::uint32_t waits_for_ = 0;  // the rank whose value is awaited
  std::uint64_t number_ = 0;     // of the current call in this attempt
  board::Client client_;
};

}  // namespace ratoon::session
