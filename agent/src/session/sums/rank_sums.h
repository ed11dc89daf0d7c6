// RankSums: sums a few numbers over all ranks of an attempt, through the key-value store (board) that rank 0
// serves. Rank 0 adds the numbers in the order of the ranks, so all ranks get the same bits.
//
//   RankSums sums({.rendezvous = rendezvous, .attempt = 3, .rank = 1, .world_size = 4, ...});
//   sums.add_up("sum()", std::span(numbers));
//
// While a call of add_up() waits for other ranks, it prints after ten seconds, and then every minute, which
// ranks have not made the same call. Thread contract: only one thread uses a RankSums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/session.h>

#include "agent/src/board/client.h"
#include "agent/src/session/rendezvous/wait_reporter.h"
#include "agent/src/session/sums/summed_numbers.h"
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
    std::function<std::uint64_t()> steps_done;  // for messages
    const Clock* clock;                         // outlives the RankSums; decides when a wait is reported
    std::size_t bytes_of_all_ranks_max = std::size_t{64} << 20;  // of the numbers in one exchange
  };
  explicit RankSums(Plan plan);
  ~RankSums();
  RankSums(const RankSums&) = delete;
  RankSums& operator=(const RankSums&) = delete;

  // Replaces each number by its sum over all ranks. All ranks make the same calls in the same order, with
  // equally many numbers of one type. `what` is the name of the call in messages, equal on all ranks. Throws
  // Failure if the numbers cannot be summed, and passes on all exceptions of the function Plan::look.
  void add_up(const std::string& what, const SummedNumbers& numbers);

 private:
  template <class Number>
  void add_up_in_parts(const std::string& what, std::span<Number> numbers, std::size_t each);
  void add_up_part(const std::string& what, const SummedNumbers& numbers);
  // On rank 0, adds the numbers of the other ranks to its own. Returns an error text if the ranks made
  // different calls or a sum overflows, otherwise an empty text.
  [[nodiscard]] std::string sum_on_rank_0(const std::string& what, const SummedNumbers& numbers);
  void wait_until_total_is_read();
  void check_while_waiting();
  // Returns the ranks that have not made the current call. Returns nullopt if the key-value store does not
  // answer, or if the sum is complete.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> find_missing_ranks();
  [[nodiscard]] std::optional<std::string> send_on_second_client(board::Op op, const std::string& key);
  [[nodiscard]] std::string take(const std::string& key);
  void put(const std::string& key, std::string value);
  std::vector<std::string> ask(board::Op op, std::vector<std::string> words);
  // Call wait_for_loss_report() after an error of the key-value store, which usually means that a rank was
  // lost. Waits up to 60 s until the coordinator reports the loss, and throws in any case.
  [[noreturn]] void wait_for_loss_report(const std::string& why);
  [[nodiscard]] std::string part_key(std::uint32_t rank) const;

  const Plan plan_;
  const SystemClock clock_{};
  std::string call_name_;                      // of the current call
  std::uint64_t call_number_ = 0;              // of the current call in this attempt
  bool has_unread_total_ = false;              // on rank 0: a rank may not have read the last total yet
  std::optional<WaitReporter> wait_reporter_;  // of the current call
  board::Client client_;
  board::Client second_client_;  // asks while client_ waits for its answer
};

}  // namespace ratoon::session
