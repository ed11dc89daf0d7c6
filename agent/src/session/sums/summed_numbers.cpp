#include "agent/src/session/sums/summed_numbers.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/core/count_with_noun.h"
#include "base/core/split_join.h"

namespace ratoon::session {
namespace {

constexpr std::size_t kNamedRanksMax = 8;

template <class Number>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<Number, double>) return "double";
  if constexpr (std::is_same_v<Number, float>) return "float";
  if constexpr (std::is_same_v<Number, std::int32_t>) return "std::int32_t";
  if constexpr (std::is_same_v<Number, std::int64_t>) return "std::int64_t";
  if constexpr (std::is_same_v<Number, std::uint32_t>) return "std::uint32_t";
  if constexpr (std::is_same_v<Number, std::uint64_t>) return "std::uint64_t";
}

std::string name_of_type(const SummedNumbers& numbers) {
  return std::visit([]<class Number>(std::span<Number>) { return std::string(type_name<Number>()); },
                    numbers);
}

std::span<std::byte> bytes_of(const SummedNumbers& numbers) {
  return std::visit([](const auto& all) { return std::as_writable_bytes(all); }, numbers);
}

std::string describe(std::size_t count, const std::string& type) {
  return count_with_noun(count, "number") + " of type " + type;
}

// The message of a rank: lines with the name of the call and the type, then the bytes of the numbers.
struct CallMessage {
  std::string_view name{};
  std::string_view type{};
  std::string_view bytes{};
};

CallMessage parse_call(std::string_view message) {
  const auto take_line = [&message] {
    const std::string_view line = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), line.size() + 1));
    return line;
  };
  const std::string_view name = take_line();
  const std::string_view type = take_line();
  return {.name = name, .type = type, .bytes = message};
}

std::size_t size_of_type(std::string_view type) {
  const bool has_four_bytes = type == "float" || type == "std::int32_t" || type == "std::uint32_t";
  return has_four_bytes ? 4 : 8;
}

}  // namespace

std::size_t count_of(const SummedNumbers& numbers) {
  return std::visit([](const auto& all) { return all.size(); }, numbers);
}

std::string describe(const SummedNumbers& numbers) {
  return describe(count_of(numbers), name_of_type(numbers));
}

std::string encode_call(const std::string& call, const SummedNumbers& numbers) {
  std::string message = call + '\n' + name_of_type(numbers) + '\n';
  const auto bytes = bytes_of(numbers);
  message.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return message;
}

std::string call_name_in(std::string_view message) {
  return std::string(parse_call(message).name);
}

std::string encode_answer(const std::string& refusal, const SummedNumbers& sums) {
  std::string answer = refusal + '\n';
  if (!refusal.empty()) return answer;
  const auto bytes = bytes_of(sums);
  answer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return answer;
}

std::string read_answer(std::string_view answer, const SummedNumbers& numbers) {
  const std::string_view refusal = answer.substr(0, answer.find('\n'));
  if (!refusal.empty()) return std::string(refusal);
  const auto into = bytes_of(numbers);
  if (answer.size() != into.size() + 1)
    return "rank 0 answered with " + std::to_string(answer.size()) + " bytes to " + describe(numbers);
  if (!into.empty()) std::memcpy(into.data(), answer.data() + 1, into.size());
  return "";
}

std::string describe_ranks(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
  std::vector<std::string> names;
  for (const std::uint32_t rank : ranks) {
    if (names.size() == kNamedRanksMax) break;
    names.push_back(std::to_string(rank));
  }
  const std::size_t more = ranks.size() - names.size();
  std::string last = std::to_string(more) + " more";
  if (more == 0) {
    last = names.back();
    names.pop_back();
  }
  return "ranks " + join(names, ", ") + " and " + last;
}

NumberSums::NumberSums(std::string call, SummedNumbers own) : call_name_(std::move(call)), own_numbers_(own) {
  std::visit(
      [this]<class Number>(std::span<Number> numbers) {
        using Sum = std::conditional_t<std::is_floating_point_v<Number>, double, Wide>;
        sums_ = std::vector<Sum>(numbers.begin(), numbers.end());
      },
      own_numbers_);
}

void NumberSums::add(std::uint32_t rank, std::string_view message) {
  const CallMessage call = parse_call(message);
  const std::size_t count = call.bytes.size() / size_of_type(call.type);
  const bool is_same_call = call.name == call_name_;
  if (!is_same_call || call.type != name_of_type(own_numbers_) || count != count_of(own_numbers_)) {
    const Difference found{.call = std::string(call.name),
                           .numbers = is_same_call ? describe(count, std::string(call.type)) : ""};
    if (difference_.ranks.empty()) difference_ = found;
    if (difference_.call == found.call && difference_.numbers == found.numbers)
      difference_.ranks.push_back(rank);
    return;
  }
  std::visit(
      [&]<class Number, class Sum>(std::span<Number>, std::vector<Sum>& sums) {
        for (std::size_t at = 0; at < sums.size(); ++at) {
          Number number{};
          std::memcpy(&number, call.bytes.data() + at * sizeof(Number), sizeof number);
          sums[at] += static_cast<Sum>(number);
        }
      },
      own_numbers_, sums_);
}

std::string NumberSums::describe_difference() const {
  if (difference_.call != call_name_) {
    return "rank 0 called " + call_name_ + " and " + describe_ranks(difference_.ranks) + " called " +
           difference_.call + " instead: call the same sums and means on all ranks, in the same order";
  }
  return call_name_ + " was called with " + describe(own_numbers_) + " on rank 0 and with " +
         difference_.numbers + " on " + describe_ranks(difference_.ranks) +
         ": pass equally many numbers of one type on all ranks";
}

std::string NumberSums::finish() {
  if (!difference_.ranks.empty()) return describe_difference();
  return std::visit(
      [this]<class Number, class Sum>(std::span<Number> numbers, const std::vector<Sum>& sums) {
        if constexpr (std::is_integral_v<Number>) {
          const auto is_too_large = [](Sum sum) {
            return sum < static_cast<Sum>(std::numeric_limits<Number>::min()) ||
                   sum > static_cast<Sum>(std::numeric_limits<Number>::max());
          };
          const auto bad = std::ranges::find_if(sums, is_too_large);
          if (bad != sums.end()) {
            return call_name_ + ": the sum over all ranks of number " + std::to_string(bad - sums.begin()) +
                   " of " + std::to_string(sums.size()) + " (counted from 0) is " +
                   (*bad < 0 ? "below the least " : "above the greatest ") + type_name<Number>() +
                   ": sum numbers of a larger type, such as " +
                   (sizeof(Number) == sizeof(std::int32_t) ? "std::int64_t" : "double");
          }
        }
        std::ranges::transform(sums, numbers.begin(), [](Sum sum) { return static_cast<Number>(sum); });
        return std::string();
      },
      own_numbers_, sums_);
}

}  // namespace ratoon::session
