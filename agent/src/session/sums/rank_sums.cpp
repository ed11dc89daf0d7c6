#include "agent/src/session/sums/rank_sums.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/src/board/served_board.h"
#include "agent/src/session/locations/checkpoint_locations.h"
#include "agent/src/session/shutdown/fail.h"
#include "base/contract/exit_code.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {
namespace {

// If rank 0, which serves the key-value store (board), is lost, the coordinator reports the loss within 60
// seconds.
constexpr auto kLossReportTimeout = std::chrono::seconds(60);
constexpr auto kPollPause = std::chrono::milliseconds(2);
constexpr auto kTotalReadTimeout = std::chrono::seconds(5);

// Each rank passes at most 2 MiB of numbers in one exchange. A call with more numbers is made in parts, and
// in a large world with fewer numbers, too: the key-value store (board) keeps at most 256 MiB for all ranks.
constexpr std::size_t kNumbersMax = 1U << 18;

// The timeout of a request of the second client, which asks for missing ranks while the first client waits.
// The first client is connected at that time, so the key-value store of rank 0 answers at once.
constexpr auto kSecondClientTimeout = std::chrono::seconds(5);

// Under this key, the key-value store (board) has the number of the last call that rank 0 has begun.
constexpr const char* kRank0CallKey = "call of rank 0";

std::string total_key(std::uint64_t number) {
  return "total " + std::to_string(number);
}

}  // namespace

std::string RankSums::part_key(std::uint32_t rank) const {
  return "part " + std::to_string(call_number_) + " " + std::to_string(rank);
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
                     // While client_ is connected, check_while_waiting() prints which ranks are missing.
                     if (client_.is_connected()) return;
                     plan_.say("rank " + std::to_string(plan_.rank) + " waits in " + call_name_ +
                               ": rank 0 has not called it (" + of_board + ")");
                   },
               .look = [this] { check_while_waiting(); }}),
      second_client_({.host = plan_.rendezvous.host,
                      .port = plan_.rendezvous.port,
                      .attempt = plan_.attempt,
                      .rank = plan_.rank,
                      .secret = plan_.rendezvous.secret,
                      .is_given_up = nullptr,
                      .tell = [](const std::string&) {}}) {
  if (plan_.rank != 0) return;
  const board::ServedAttempt served_attempt{
      .attempt = plan_.attempt, .world_size = plan_.world_size, .secret = plan_.rendezvous.secret};
  const auto served =
      board::serve_board(plan_.rendezvous.port, plan_.rendezvous.listening_fd, served_attempt, plan_.say);
  if (!served) fail(exit_code_of(served.error()), served.error().message());
}

RankSums::~RankSums() {
  try {
    wait_until_total_is_read();
  } catch (...) {  // the set of processes changed, or this process must leave
  }
}

// On rank 0, waits until all ranks have read the last total, because the total is gone when this process
// ends. A rank removes its part when it has read the total.
void RankSums::wait_until_total_is_read() {
  if (!has_unread_total_) return;
  for (const auto end = clock_.now() + kTotalReadTimeout; clock_.now() < end;) {
    plan_.look();
    bool is_read = true;
    for (std::uint32_t rank = 1; rank < plan_.world_size && is_read; ++rank)
      is_read = send_on_second_client(board::Op::kCheck, part_key(rank)) == "0";
    if (is_read) return;
    static_cast<void>(pause_for(kPollPause, {}));
  }
}

void RankSums::add_up(const std::string& what, const SummedNumbers& numbers) {
  const std::size_t count = count_of(numbers);
  const std::size_t each = std::clamp<std::size_t>(
      plan_.bytes_of_all_ranks_max / sizeof(double) / plan_.world_size, 1, kNumbersMax);
  if (count <= each) return add_up_part(what, numbers);
  std::visit([&](const auto& all) { add_up_in_parts(what, all, each); }, numbers);
}

// If a later part cannot be summed, the numbers of earlier parts stay unchanged, too.
template <class Number>
void RankSums::add_up_in_parts(const std::string& what, std::span<Number> numbers, std::size_t each) {
  std::vector<Number> sums(numbers.begin(), numbers.end());
  for (std::size_t first = 0; first < sums.size(); first += each) {
    // The text has the number of all numbers, so that ranks with different numbers are told apart.
    add_up_part(what + " with " + describe(numbers) + ", from number " + std::to_string(first) + " on",
                std::span(sums).subspan(first, std::min(each, sums.size() - first)));
  }
  std::ranges::copy(sums, numbers.begin());
}

void RankSums::add_up_part(const std::string& what, const SummedNumbers& numbers) {
  call_name_ = what;
  ++call_number_;
  wait_reporter_.emplace(*plan_.clock);
  std::string refusal;
  if (plan_.rank == 0) {
    has_unread_total_ = false;
    put(kRank0CallKey, std::to_string(call_number_));
    refusal = sum_on_rank_0(what, numbers);
    put(total_key(call_number_), encode_answer(refusal, numbers));
    has_unread_total_ = true;
    if (call_number_ > 1) ask(board::Op::kErase, {total_key(call_number_ - 1)});  // each rank has read it
  } else {
    put(part_key(plan_.rank), encode_call(what, numbers));
    const std::string total = take(total_key(call_number_));
    // Rank 0 may end after its last call: a failure to remove the part loses nothing.
    static_cast<void>(
        client_.send_request(board::Op::kErase, {part_key(plan_.rank)}, board::Client::kNoDeadline));
    refusal = read_answer(total, numbers);
  }
  wait_reporter_.reset();
  if (!refusal.empty()) fail(ExitCode::kConfiguration, refusal);
}

std::string RankSums::sum_on_rank_0(const std::string& what, const SummedNumbers& numbers) {
  NumberSums sums(what, numbers);
  for (std::uint32_t rank = 1; rank < plan_.world_size; ++rank) sums.add(rank, take(part_key(rank)));
  return sums.finish();
}

void RankSums::check_while_waiting() {
  plan_.look();
  if (!wait_reporter_ || !client_.is_connected()) return;
  const auto time = wait_reporter_->due();
  if (!time) return;
  const auto missing = find_missing_ranks();
  if (!missing || missing->empty()) return;
  plan_.say("rank " + std::to_string(plan_.rank) + " has waited for " + *time + " in " + call_name_ +
            " at step " + std::to_string(plan_.steps_done()) + ", which " + describe_ranks(*missing) +
            (missing->size() == 1 ? " has" : " have") +
            " not called: call the same sums and means on all ranks, in the same step");
}

std::optional<std::vector<std::uint32_t>> RankSums::find_missing_ranks() {
  std::vector<std::uint32_t> missing;
  const auto note = [&](std::uint32_t rank, bool has_called) {
    if (!has_called && rank != plan_.rank) missing.push_back(rank);
  };
  if (plan_.rank != 0) {
    const auto is_set = send_on_second_client(board::Op::kCheck, kRank0CallKey);
    if (!is_set) return std::nullopt;
    const auto call = *is_set == "1" ? send_on_second_client(board::Op::kGet, kRank0CallKey)
                                     : std::optional<std::string>("");
    if (!call) return std::nullopt;
    note(0, *call == std::to_string(call_number_));
  }
  for (std::uint32_t rank = 1; rank < plan_.world_size; ++rank) {
    const auto is_there = send_on_second_client(board::Op::kCheck, part_key(rank));
    if (!is_there) return std::nullopt;
    note(rank, *is_there == "1");
  }
  // Ask for the sum last. After the sum, each rank erases its own part, and rank 0 begins the next call. So
  // `missing` is not valid if the sum is complete.
  const auto is_complete = send_on_second_client(board::Op::kCheck, total_key(call_number_));
  return is_complete == "0" ? std::optional(missing) : std::nullopt;
}

std::optional<std::string> RankSums::send_on_second_client(board::Op op, const std::string& key) {
  auto answer =
      second_client_.send_request(op, {key}, std::chrono::steady_clock::now() + kSecondClientTimeout);
  if (!answer || answer->size() != 1) return std::nullopt;
  return std::move(answer->front());
}

std::string RankSums::take(const std::string& key) {
  auto value = ask(board::Op::kGet, {key});
  if (value.size() != 1)
    wait_for_loss_report("the key-value store of rank 0 answered with " + std::to_string(value.size()) +
                         " values");
  return std::move(value.front());
}

void RankSums::put(const std::string& key, std::string value) {
  ask(board::Op::kSet, {key, std::move(value)});
}

std::vector<std::string> RankSums::ask(board::Op op, std::vector<std::string> words) {
  auto answer = client_.send_request(op, std::move(words), board::Client::kNoDeadline);
  if (!answer && answer.error().kind() == ErrorKind::kInvalid)
    fail(ExitCode::kConfiguration, call_name_ + ": " + answer.error().message());
  if (!answer) wait_for_loss_report(answer.error().message());
  return *std::move(answer);
}

void RankSums::wait_for_loss_report(const std::string& why) {
  for (const auto end = clock_.now() + kLossReportTimeout; clock_.now() < end;) {
    plan_.look();
    static_cast<void>(pause_for(kPollPause, {}));
  }
  fail(ExitCode::kStartAgain, call_name_ + " failed, but no lost process was reported for 60 s: " + why);
}

}  // namespace ratoon::session
