#include <algorithm>
#include <array>
#include <utility>

#include "base/contract/exit_code.h"
#include "operator/api/spec_fields.h"
#include "operator/api/training_job_codec.h"

namespace ratoon::api {
namespace {

constexpr std::uint32_t kSecondsMax = 3600;
constexpr std::uint32_t kStepsMax = 1'000'000'000;
constexpr std::size_t kNoticeTaintsMax = 32;
constexpr std::size_t kTaintKeyLengthMax = 316;  // prefix of 253, '/', name of 63
constexpr std::uint32_t kAvoidSecondsMax = 24 * 3600;
constexpr std::size_t kRulesMax = 20;
constexpr std::size_t kRuleItemsMax = 32;
constexpr std::size_t kReasonLengthMax = 128;
constexpr std::uint32_t kExitCodeMax = 255;
constexpr std::uint32_t kSignalMax = 64;
constexpr std::uint32_t kGraceSecondsMax = 3600;
constexpr std::size_t kRoleNamesMax = 8;
constexpr std::size_t kRoleNameLengthMax = 12;
constexpr std::array<std::string_view, 3> kCleanPodPolicies = {"None", "Running",
                                                               "All"};  // as CleanPodPolicy
constexpr std::array<std::string_view, 3> kRuleActionNames = {"Restart", "Fail", "Ignore"};  // as RuleAction
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLoadParts = {
    {{"Weights", "weights"}, {"State", "state"}, {"All", "all"}}};  // values as --load-parts names them
constexpr std::size_t kStoresMax = 8;
constexpr std::size_t kUriLengthMax = 1024;         // characters, as the definition counts them
constexpr std::size_t kUriBytesMax = 4 * 1024;      // the most bytes of that many characters
constexpr std::size_t kEndpointBytesMax = 4 * 512;  // likewise for 512 characters
constexpr std::size_t kRegionBytesMax = 64;         // the agent's limit
constexpr std::uint32_t kKeepLastMin = 2;           // if the newest one is damaged, there is another one
constexpr std::uint32_t kKeepLastMax = 1000;
constexpr std::size_t kQuantityBytesMax = 8;
constexpr std::uint64_t kSeedMax = (1ULL << 53) - 1;    // all JSON readers keep numbers up to here exactly
constexpr std::uint32_t kGlobalBatchMax = 268'435'456;  // the limit of a Stream

// The trainer gets the URIs of all stores in one variable, separated by commas, so a URI must not contain a
// comma.
bool is_uri(std::string_view text, bool may_be_read_only) {
  if (text.find_first_of(", \t\r\n") != std::string_view::npos) return false;
  const auto begins = [&](std::string_view scheme) {
    return text.starts_with(scheme) && text.size() > scheme.size();
  };
  const bool is_writable = begins("s3://") || begins("file:///") || begins("/");
  return is_writable || (may_be_read_only && (begins("https://") || begins("http://")));
}

void read_numbers(Fields& f, const char* name, std::size_t numbers_max, std::uint32_t max,
                  std::vector<std::uint32_t>& numbers) {
  for (const auto& number : f.list(name, numbers_max)) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() == 0 ||
        number.get<std::uint64_t>() > max) {
      f.complain(name, "a list of whole numbers from 1 to " + std::to_string(max));
      return;
    }
    numbers.push_back(number.get<std::uint32_t>());
  }
}

// Exit codes that mean the same in all programs, such as 80 (left on request) and 82 (can never start).
bool is_reserved_exit_code(std::uint32_t exit_code) {
  return exit_code >= static_cast<std::uint32_t>(ExitCode::kPreempted) &&
         exit_code <= static_cast<std::uint32_t>(ExitCode::kAbortOverdue);
}

RestartRule read_rule(Fields f) {
  RestartRule rule;
  read_numbers(f, "exitCodes", kRuleItemsMax, kExitCodeMax, rule.exit_codes);
  if (std::any_of(rule.exit_codes.begin(), rule.exit_codes.end(), is_reserved_exit_code))
    f.complain("exitCodes", "exit codes other than 80 to 86, whose meaning is fixed");
  read_numbers(f, "signals", kRuleItemsMax, kSignalMax, rule.signals);
  read_string_list(f, "reasons", kRuleItemsMax, kReasonLengthMax, rule.reasons);
  read_string_list(f, "roles", kRoleNamesMax, kRoleNameLengthMax, rule.roles);
  if (rule.exit_codes.empty() && rule.signals.empty() && rule.reasons.empty())
    f.complain("exitCodes", "given (or signals or reasons): a rule needs at least one of them");
  const std::string action = f.text("action", 16);
  const auto known = std::find(kRuleActionNames.begin(), kRuleActionNames.end(), action);
  if (known == kRuleActionNames.end())
    f.complain("action", "Restart, Fail or Ignore");
  else
    rule.action = static_cast<RuleAction>(known - kRuleActionNames.begin());
  return rule;
}

std::string read_load_parts(Fields& f) {
  const std::string parts = f.optional_text("loadParts", 16);
  if (parts.empty()) return "";
  for (const auto& [name, option] : kLoadParts)
    if (parts == name) return std::string(option);
  f.complain("loadParts", "Weights, State or All");
  return "";
}

std::string read_keep_last(Fields& f, bool has_stores) {
  const nlohmann::json* said = f.find("keepLast");
  if (said == nullptr) return "";
  if (*said == "All") return "all";
  if (!said->is_number_unsigned()) {
    f.complain("keepLast", "All, 0 if there are stores, or a whole number from 2 to 1000");
    return "";
  }
  const auto kept = said->get<std::uint64_t>();
  if (kept == 0 && !has_stores)
    f.complain("keepLast", "0 only if there are stores, which then keep the checkpoints");
  if (kept != 0 && (kept < kKeepLastMin || kept > kKeepLastMax))
    f.complain("keepLast", "All, 0 if there are stores, or a whole number from 2 to 1000");
  return std::to_string(kept);
}

// All s3:// URIs of a job share one endpoint, because a process has one set of AWS variables.
void read_s3(Fields f, CheckpointPolicy& policy) {
  policy.s3_endpoint = f.optional_text("endpoint", kEndpointBytesMax);
  std::string_view rest = policy.s3_endpoint;
  for (const std::string_view scheme : {"https://", "http://"})
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  const bool is_url = rest.size() < policy.s3_endpoint.size() && !rest.empty() && rest.front() != '/' &&
                      rest.find_first_of("?#@ \t\r\n") == std::string_view::npos;
  if (!policy.s3_endpoint.empty() && !is_url)
    f.complain("endpoint", "https://host:port or http://host:port, with or without a path");
  policy.s3_region = f.optional_text("region", kRegionBytesMax);
  const auto is_of_regions = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!std::ranges::all_of(policy.s3_region, is_of_regions)) f.complain("region", "a name like eu-central-1");
}

}  // namespace

CheckpointPolicy read_checkpoint_policy(Fields f) {
  CheckpointPolicy policy;
  policy.run_name = f.optional_text("runName", 63);
  if (!policy.run_name.empty() && !is_dns_label(policy.run_name))
    f.complain("runName", "lower-case letters, digits and '-', beginning with a letter");
  policy.volume_claim_name = f.optional_text("volumeClaimName", 253);
  policy.home = f.optional_text("home", kUriBytesMax);
  if (!policy.home.empty() && (!is_uri(policy.home, false) || !policy.home.starts_with("s3://")))
    f.complain("home",
               "s3://bucket/prefix, without commas: a folder needs a volume, which volumeClaimName names");
  if (!policy.home.empty() && !policy.volume_claim_name.empty())
    f.complain("home",
               "absent if volumeClaimName is given: name the bucket in stores to copy checkpoints to it");
  policy.interval_steps = read_count(f, "intervalSteps", 1, kStepsMax, 0);
  read_string_list(f, "stores", kStoresMax, kUriLengthMax, policy.stores);
  if (!std::all_of(policy.stores.begin(), policy.stores.end(),
                   [](const auto& s) { return is_uri(s, false); }))
    f.complain("stores", "a list of s3://bucket/prefix, file:///folder or /folder, without commas");
  policy.keep_last = read_keep_last(f, !policy.stores.empty());
  if (f.find("s3") != nullptr) read_s3(f.object("s3"), policy);
  policy.load_from = f.optional_text("loadFrom", kUriBytesMax);
  if (!policy.load_from.empty() && !is_uri(policy.load_from, true))
    f.complain("loadFrom",
               "s3://bucket/prefix, https://host/path, file:///folder or /folder, without commas");
  policy.load_parts = read_load_parts(f);
  policy.overwrites = f.flag("overwrite");
  const std::string staging_memory = f.optional_text("stagingMemory", kQuantityBytesMax);
  if (!staging_memory.empty()) {
    const auto mib = parse_mebibytes(staging_memory);
    if (!mib) f.complain("stagingMemory", "a size like 512Mi, 8Gi or 1Ti");
    policy.staging_memory_mib = mib.value_or(0);
  }
  policy.grace_seconds = read_count(f, "graceSeconds", 0, kGraceSecondsMax, 0);
  return policy;
}

DataPolicy read_data_policy(Fields f) {
  DataPolicy policy;
  if (f.find("seed") != nullptr) policy.seed = f.whole("seed", kSeedMax);
  if (f.find("globalBatchSize") != nullptr)
    policy.global_batch_size = read_count(f, "globalBatchSize", 1, kGlobalBatchMax, 1);
  return policy;
}

TopologyPolicy read_topology(Fields f) {
  return {.pack_by = f.optional_text("packBy", kTaintKeyLengthMax)};
}

DisruptionPolicy read_disruption_policy(Fields f) {
  DisruptionPolicy policy;
  policy.heartbeat_seconds = read_count(f, "heartbeatSeconds", 1, kSecondsMax, 1);
  policy.suspect_after_seconds = read_count(f, "suspectAfterSeconds", 2, kSecondsMax, 3);
  if (policy.suspect_after_seconds <= policy.heartbeat_seconds)
    f.complain("suspectAfterSeconds", "more than heartbeatSeconds");
  read_string_list(f, "noticeTaints", kNoticeTaintsMax, kTaintKeyLengthMax, policy.notice_taints);
  policy.avoid_node_seconds = read_count(f, "avoidNodeSeconds", 0, kAvoidSecondsMax, 300);
  return policy;
}

RestartPolicy read_restart_policy(Fields f) {
  RestartPolicy policy;
  policy.restarts_max = read_count(f, "maxRestarts", 0, 1'000'000, 10);
  for (const auto& item : f.list("rules", kRulesMax))
    policy.rules.push_back(read_rule(f.child(item, item_name("rules", policy.rules.size()))));
  policy.is_losses_without_step_max_set = f.find("maxLossesWithoutStep") != nullptr;
  policy.losses_without_step_max = read_count(f, "maxLossesWithoutStep", 1, 1000, 10);
  policy.backoff_seconds = read_count(f, "backoffSeconds", 0, kSecondsMax, 1);
  policy.backoff_max_seconds = read_count(f, "backoffMaxSeconds", 0, kSecondsMax, 300);
  if (policy.backoff_max_seconds < policy.backoff_seconds)
    f.complain("backoffMaxSeconds", "at least backoffSeconds");
  return policy;
}

DecidingRoles read_success_policy(Fields f) {
  DecidingRoles policy;
  read_string_list(f, "roles", kRoleNamesMax, kRoleNameLengthMax, policy.roles);
  if (policy.roles.empty()) f.complain("roles", "a list of the roles that decide");
  return policy;
}

DecidingRoles read_failure_policy(Fields f) {
  DecidingRoles policy;
  read_string_list(f, "roles", kRoleNamesMax, kRoleNameLengthMax, policy.roles);
  if (policy.roles.empty()) f.complain("roles", "a list of the roles that decide");
  return policy;
}

CleanPodPolicy read_clean_pod_policy(Fields f) {
  const std::string policy = f.text("cleanPodPolicy", 16);
  const auto known = std::find(kCleanPodPolicies.begin(), kCleanPodPolicies.end(), policy);
  if (known != kCleanPodPolicies.end()) return static_cast<CleanPodPolicy>(known - kCleanPodPolicies.begin());
  f.complain("cleanPodPolicy", "None, Running or All");
  return CleanPodPolicy::kRunning;
}

}  // namespace ratoon::api
