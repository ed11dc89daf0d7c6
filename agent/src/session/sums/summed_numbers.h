// session/sums/: sums of numbers over the ranks of an attempt, for Session::sum(), mean() and agree().
//
// SummedNumbers: the numbers of one call, of one of the types that Session::sum() accepts. NumberSums adds
// the numbers of the other ranks to those of rank 0, in the order of the ranks. SummedNumbers and NumberSums
// do no I/O.
//
//   NumberSums sums(rank_0_numbers);
//   for (const auto& message : messages) sums.add(rank, message);    // as encode_call() wrote it
//   if (const std::string refusal = sums.finish(); !refusal.empty()) ...;  // else rank_0_numbers has the
//   sums
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ratoon::session {

using SummedNumbers =
    std::variant<std::span<double>, std::span<float>, std::span<std::int32_t>, std::span<std::int64_t>,
                 std::span<std::uint32_t>, std::span<std::uint64_t>>;

[[nodiscard]] std::size_t count_of(const SummedNumbers& numbers);
// Returns a text such as "2 numbers of type double".
[[nodiscard]] std::string describe(const SummedNumbers& numbers);

// Returns the message of one rank: the name of the call, the type of the numbers, and their bytes. `call` has
// no line break.
[[nodiscard]] std::string encode_call(const std::string& call, const SummedNumbers& numbers);
// Returns the name of the call in the message of a rank.
[[nodiscard]] std::string call_name_in(std::string_view message);

// Returns the answer of rank 0 to all ranks: `refusal`, or the sums if `refusal` is empty.
[[nodiscard]] std::string encode_answer(const std::string& refusal, const SummedNumbers& sums);
// Reads the sums of an answer into `numbers`. Returns the refusal in the answer; empty if there is none.
[[nodiscard]] std::string read_answer(std::string_view answer, const SummedNumbers& numbers);

// Returns a text such as "rank 1", "ranks 1 and 4" or "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 92 more".
[[nodiscard]] std::string describe_ranks(const std::vector<std::uint32_t>& ranks);

class NumberSums {
 public:
  // `own` refers to the numbers of rank 0. These numbers must outlive the NumberSums.
  NumberSums(std::string call, SummedNumbers own);

  void add(std::uint32_t rank, std::string_view message);
  // Writes the sums into the numbers of rank 0. Returns an error text if the ranks made different calls, or
  // if the type of the numbers cannot hold a sum; the numbers then stay unchanged.
  [[nodiscard]] std::string finish();

 private:
  // Integers are added as 128-bit integers, so that no number of ranks makes the sum overflow. Floating-point
  // numbers are added as double.
  __extension__ using Wide = __int128;
  using Sums = std::variant<std::vector<double>, std::vector<Wide>>;
  struct Difference {
    std::string call{};  // of other ranks
    std::string numbers{};
    std::vector<std::uint32_t> ranks{};
  };

  [[nodiscard]] std::string describe_difference() const;

  const std::string call_name_;
  const SummedNumbers own_numbers_;
  Sums sums_;
  Difference difference_;  // the first one, with all ranks that differ in the same way
};

}  // namespace ratoon::session
