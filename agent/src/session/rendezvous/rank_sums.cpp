#include "agent/src/session/rendezvous/rank_sums.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "agent/src/board/served_board.h"
#include "agent/src/session/shutdown/fail.h"
#include "base/contract/exit_code.h"
#include "base/core/pause.h"

namespace ratoon::session {
namespace {

// If rank 0, which serves the key-value store (board), is lost, the coordinator reports this within 60
// seconds.
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::milliseconds(2);

// Each rank may pass 2 MiB of numbers. The key-value store (board) of the ranks keeps at most 256 MiB for all
// ranks together.
constexpr std::size_t kNumbersMax = 1U << 18;

// Returns the message of a rank: the name of the call, then the numbers.
std::string labelled(const std::string& what, std::span<const double> numbers) {
  std::string text = what;
  text += '\n';
  const auto bytes = std::as_bytes(numbers);
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

std::string label_in(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool read_numbers(const std::string& text, std::span<double> numbers) {
  const std::size_t begin = text.find('\n') + 1;
  if (begin == 0 || text.size() - begin != numbers.size_bytes()) return false;
  std::memcpy(numbers.data(), text.data() + begin, numbers.size_bytes());
  return true;
}

std::string count_of(std::size_t numbers) {
  return std::to_string(numbers) + (numbers == 1 ? " number" : " numbers");
}

std::string total_key(std::uint64_t number) {
  return "total " + std::to_string(number);
}

}  // namespace

std::string RankSums::part_key(std::uint32_t rank) const {
  return "part " + std::to_string(number_) + " " + std::to_string(rank);
}

RankSums::RankSums(Plan plan)
    : plan_(std::move(plan)),
      client_({.host = plan_.rendezvous.host,
               .port = plan_.rendezvous.port,
               .attempt = plan_.attempt,
               .rank = plan_.rank,
               .secret = plan_.rendezvous.secret,
               .is_given_up = nullptr,
               .tell =
                   [this](const std::string& of_board) {
                     plan_.say("rank " + std::to_string(plan_.rank) + " waits in " + what_ + ": rank " +
                               std::to_string(waits_for_) + " has not called it (" + of_board + ")");
                   },
               .look = [this] { plan_.look(); }}) {
  if (plan_.rank != 0) return;
  const board::Opening opening{
      .attempt = plan_.attempt, .world_size = plan_.world_size, .secret = plan_.rendezvous.secret};
  const auto served =
      board::serve_board(plan_.rendezvous.port, plan_.rendezvous.listening_fd, opening, plan_.say);
  if (!served) fail(exit_code_of(served.error()), served.error().message());
}

void RankSums::add_up(const std::string& what, std::span<double> numbers) {
  what_ = what;
  if (numbers.size() > kNumbersMax) {
    fail(ExitCode::kConfiguration, what + " was called with " + count_of(numbers.size()) + ", and at most " +
                                       count_of(kNumbersMax) + " are summed at once");
  }
  ++number_;
  std::string refusal;
  if (plan_.rank == 0) {
    refusal = gather(what, numbers);
    put(total_key(number_), labelled(refusal, numbers));
    if (number_ > 1) ask(board::Op::kErase, {total_key(number_ - 1)});  // each rank has read it
  } else {
    put(part_key(plan_.rank), labelled(what, numbers));
    const std::string total = take(total_key(number_), 0);
    ask(board::Op::kErase, {part_key(plan_.rank)});
    refusal = label_in(total);
    if (refusal.empty() && !read_numbers(total, numbers))
      refusal = what + " received a sum with another count of numbers";
  }
  if (!refusal.empty()) fail(ExitCode::kConfiguration, refusal);
}

std::string RankSums::gather(const std::string& what, std::span<double> numbers) {
  std::vector<double> of_rank(numbers.size());
  std::string refusal;
  for (std::uint32_t rank = 1; rank < plan_.world_size; ++rank) {
    const std::string text = take(part_key(rank), rank);
    if (!refusal.empty()) continue;
    if (label_in(text) != what) {
      refusal = "rank 0 called " + what + " and rank " + std::to_string(rank) + " called " + label_in(text) +
                " at its place: call the same sums and means on all ranks, in the same order";
    } else if (!read_numbers(text, of_rank)) {
      refusal = what + " was called with " + count_of(numbers.size()) + " on rank 0 and with " +
                count_of((text.size() - text.find('\n') - 1) / sizeof(double)) + " on rank " +
                std::to_string(rank) + ": give as many on all ranks";
    }
    for (std::size_t at = 0; at < numbers.size(); ++at) numbers[at] += of_rank[at];
  }
  return refusal;
}

std::string RankSums::take(const std::string& key, std::uint32_t from) {
  waits_for_ = from;
  auto value = ask(board::Op::kGet, {key});
  if (value.size() != 1)
    wait_for_news("the key-value store of rank 0 answered with " + std::to_string(value.size()) + " values");
  return std::move(value.front());
}

void RankSums::put(const std::string& key, std::string value) {
  waits_for_ = 0;
  ask(board::Op::kSet, {key, std::move(value)});
}

std::vector<std::string> RankSums::ask(board::Op op, std::vector<std::string> words) {
  auto answer = client_.ask(op, std::move(words), board::Client::kNoDeadline);
  if (!answer && answer.error().kind() == ErrorKind::kInvalid)
    fail(ExitCode::kConfiguration, what_ + ": " + answer.error().message());
  if (!answer) wait_for_news(answer.error().message());
  return *std::move(answer);
}

void RankSums::wait_for_news(const std::string& why) {
  for (const auto end = clock_.now() + kPatience; clock_.now() < end;) {
    plan_.look();
    static_cast<void>(pause_for(kPause, {}));
  }
  fail(ExitCode::kStartAgain, what_ + " failed, but no lost process was reported for 60 s: " + why);
}

}  // namespace ratoon::session
