#include "operator/core/loss/last_failure.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/core/utf8.h"
#include "operator/core/loss/fault/repeated_fault.h"

namespace ratoon::core {
namespace {

constexpr int kSignalCodeBase = 128;
constexpr int kSignalMax = 64;

// Returns the attempt of the newest world in which this incarnation was, as its processes reported; 0 if it
// was in no world.
Attempt attempt_of(const Observation& seen, const api::MemberStatus& member) {
  Attempt newest{0};
  for (const auto& process : seen.processes) {
    if (!is_process_of(process.identity, member)) continue;
    if (process.beat) newest = std::max(newest, process.beat->attempt);
    if (process.join_request) newest = std::max(newest, process.join_request->left_attempt);
  }
  return newest;
}

bool is_failure(const Loss& loss) {
  return loss.cause == EndCause::kApplication || loss.cause == EndCause::kHung ||
         loss.cause == EndCause::kFatal || loss.is_storage_fault;
}

// Returns the earliest of the failures that the operator observed together, by the times in the platform's
// reports.
std::optional<api::MemberFailure> find_first_failure(const Observation& seen, const RosterChange& change) {
  std::optional<api::MemberFailure> first;
  for (const auto* losses : {&change.losses, &change.outside_losses}) {
    for (const auto& loss : *losses) {
      if (!is_failure(loss)) continue;
      api::MemberFailure failure = describe_failure(seen, loss);
      if (!first || failure.time < first->time) first = std::move(failure);
    }
  }
  return first;
}

std::string cut_to_first_line(std::string_view text) {
  constexpr std::size_t kBytesMax = 1000;
  return cut_text(std::string(text.substr(0, text.find('\n'))), kBytesMax);
}

// Returns the line after the indented lines of the last traceback. PyTorch may begin each line with the rank.
std::string find_python_exception(std::string_view text) {
  const std::size_t at = text.rfind("Traceback (most recent call last):");
  if (at == std::string_view::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  const std::string_view prefix = text.substr(begin, at - begin);
  for (std::size_t end = text.find('\n', at); end != std::string_view::npos; end = text.find('\n', end + 1)) {
    std::string_view line = text.substr(end + 1);
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    const bool is_of_trace = line.empty() || line.starts_with(' ') || line.starts_with('\n');
    if (!is_of_trace) return cut_to_first_line(line);
  }
  return "";
}

// Returns whether a member that is not the recorded one failed in the same way while it started. If another
// member failed in the same way, keep the record of the first failure, because the recorded member will fail
// again, too.
bool fails_like_first(const api::MemberFailure& failure, const api::MemberFailure& first) {
  const auto place_of = [](const std::string& name) { return name.substr(0, name.rfind("-i")); };
  if (place_of(failure.member) == place_of(first.member)) return false;
  const std::string fault = find_fault(failure.last_lines);
  return !fault.empty() && fault == find_fault(first.last_lines);
}

}  // namespace

api::MemberFailure describe_failure(const Observation& seen, const Loss& loss) {
  api::MemberFailure failure{.member = display_name(seen, loss.member),
                             .node = loss.member.node,
                             .time = seen.wall_now,
                             .attempt = attempt_of(seen, loss.member),
                             .reason = loss.reason,
                             .exit_code = std::nullopt,
                             .signal = std::nullopt,
                             .exception = {},
                             .last_lines = {}};
  const api::Pod* pod = find_pod(seen, loss.member);
  if (pod == nullptr) return failure;
  failure.node = pod->node;
  failure.time = pod->ended_at.value_or(seen.wall_now);
  failure.last_lines = pod->last_lines;
  failure.exception = find_exception(pod->last_lines);
  if (!pod->exit_code || *pod->exit_code < 0) return failure;
  failure.exit_code = static_cast<std::uint32_t>(*pod->exit_code);
  const int signal = *pod->exit_code - kSignalCodeBase;
  if (signal > 0 && signal <= kSignalMax) failure.signal = static_cast<std::uint32_t>(signal);
  return failure;
}

void record_first_failure(const Observation& seen, const RosterChange& change,
                          api::TrainingJobStatus& status) {
  auto failure = find_first_failure(seen, change);
  if (!failure) return;
  const auto& first = status.last_failure;
  const bool is_of_one_attempt = first && first->attempt == failure->attempt;
  const bool follows =
      is_of_one_attempt && (failure->attempt.value() != 0 || fails_like_first(*failure, *first));
  if (!follows) status.last_failure = std::move(failure);
}

std::string find_exception(std::string_view last_lines) {
  // Texts before an exception's message, written by the C++ runtime and by Ratoon's agent.
  constexpr std::array<std::string_view, 2> kMarks = {"  what():  ", "ratoon: "};
  for (const auto mark : kMarks) {
    std::size_t at = last_lines.rfind(mark);
    while (at != std::string_view::npos && at != 0 && last_lines[at - 1] != '\n')
      at = last_lines.rfind(mark, at - 1);
    if (at != std::string_view::npos) return cut_to_first_line(last_lines.substr(at + mark.size()));
  }
  return find_python_exception(last_lines);
}

}  // namespace ratoon::core
