#include "operator/core/loss/fault/repeated_fault.h"

#include <cctype>
#include <charconv>

#include "operator/core/loss/fault/external_cause.h"
#include "operator/core/loss/fault/missing_path.h"
#include "operator/core/loss/fault/program_fault.h"
#include "operator/core/loss/last_failure.h"
#include "operator/core/policy/failure_policy.h"
#include "operator/core/policy/restart_rules.h"

namespace ratoon::core {
namespace {

constexpr int kSigAbort = 6;
constexpr int kSignalExitCodesFrom = 128;
constexpr int kRatoonExitCodesFrom = 80;  // codes from here on have their own meaning
constexpr int kRatoonExitCodesTo = 99;
constexpr std::string_view kTraceback = "Traceback (most recent call last):";
// Two equal exceptions count only if they are this far apart, or if a phrase shows a fault of the program.
constexpr Duration kRepeatedFaultIntervalMin = std::chrono::seconds(10);

// Returns the type X from the line "terminate called after throwing an instance of 'X'".
std::string_view find_terminate_type(std::string_view last_lines) {
  constexpr std::string_view kBefore = "terminate called after throwing an instance of '";
  const std::size_t at = last_lines.rfind(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = last_lines.substr(at + kBefore.size());
  return rest.substr(0, rest.find('\''));
}

bool contains_exception(std::string_view last_lines, std::string_view text) {
  const bool is_python = last_lines.find(kTraceback) != std::string_view::npos;
  return text.find(" threw ") != std::string_view::npos || !find_terminate_type(last_lines).empty() ||
         is_python;
}

// Replaces each decimal or hexadecimal number by one "#", so that messages can be compared.
std::string without_numbers(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      plain += text[i++];
      continue;
    }
    plain += '#';
    while (i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i] == 'x' ? '0' : text[i])) != 0)
      ++i;
  }
  return plain;
}

bool was_ended_by_program(const Observation& seen, const api::Pod& pod) {
  if (!pod.exit_code || !pod.failed_init_container.empty() ||
      match_restart_rule(seen.job.spec.restart_policy, pod))
    return false;
  const int code = *pod.exit_code;
  const bool has_thrown =
      code > 0 && code < kSignalExitCodesFrom && (code < kRatoonExitCodesFrom || code > kRatoonExitCodesTo);
  return has_thrown || code == kSignalExitCodesFrom + kSigAbort;
}

// Returns the program's output after the line that names the exception.
std::string_view output_after(std::string_view last_lines, std::string_view exception) {
  const std::size_t at = last_lines.rfind(exception);
  return at == std::string_view::npos ? std::string_view() : last_lines.substr(at + exception.size());
}

// If output follows a traceback, the program continued after the exception, so this exception did not end the
// program.
bool did_exception_end_program(std::string_view last_lines) {
  if (last_lines.find(kTraceback) == std::string_view::npos) return true;
  const auto after = output_after(last_lines, find_exception(last_lines));
  return after.find_first_not_of(" \r\n") == std::string_view::npos;
}

}  // namespace

std::string find_fault(std::string_view last_lines) {
  const std::string text = find_exception(last_lines);
  if (text.empty() || !contains_exception(last_lines, text)) return "";
  const std::string fault = std::string(find_terminate_type(last_lines)) + ": " + text;
  if (may_have_external_cause(output_after(last_lines, text))) return "";
  if (is_missing_path(fault)) return fault;  // numbers are kept: another shard is another file
  return may_have_external_cause(fault) ? "" : without_numbers(fault);
}

bool is_newer_incarnation(const Observation& seen, const api::MemberStatus& member,
                          std::string_view name_before) {
  std::string name = member_name(api::key_of(seen.job), member.role, member.index, 0);
  name.pop_back();  // removes the incarnation's number
  if (!name_before.starts_with(name)) return false;
  name_before.remove_prefix(name.size());
  std::uint32_t before = 0;
  const char* const end = name_before.data() + name_before.size();
  const auto [at, problem] = std::from_chars(name_before.data(), end, before);
  return problem == std::errc() && at == end && before < member.incarnation;
}

std::string find_repeated_fault(const Observation& seen, const RosterChange& change) {
  const auto& last = seen.job.status.last_failure;
  const std::string before = last ? find_fault(last->last_lines) : "";
  if (before.empty() || seen.job.status.last_step_at || !api::reports_steps(seen.job.spec)) return "";
  for (const auto* losses : {&change.losses, &change.outside_losses}) {
    // Ignore losses of members outside of the world, because the world trains without these members.
    if (losses == &change.outside_losses && seen.job.status.is_world_formed) continue;
    for (const auto& loss : *losses) {
      const api::Pod* pod = find_pod(seen, loss.member);
      if (pod == nullptr || loss.cause != EndCause::kApplication || !was_ended_by_program(seen, *pod))
        continue;
      if (!can_fail_job(seen.job.spec, loss.member.role) || find_fault(pod->last_lines) != before) continue;
      const api::MemberFailure failure = describe_failure(seen, loss);
      const Duration apart = failure.time.since_epoch - last->time.since_epoch;
      const bool is_clear = is_program_fault(before) && !is_missing_path(before) &&
                            did_exception_end_program(pod->last_lines) &&
                            did_exception_end_program(last->last_lines);
      if (!is_clear && apart < kRepeatedFaultIntervalMin) continue;
      // If several members of one world failed together with the first member, that counts as one failure.
      if (failure.attempt <= last->attempt && !is_newer_incarnation(seen, loss.member, last->member))
        continue;
      return failure.member + " failed as " + last->member +
             " did, before any step of the job was made: " + failure.exception +
             ": the same start would fail again; correct the program and start the job anew";
    }
  }
  return "";
}

}  // namespace ratoon::core
