#include <algorithm>
#include <array>
#include <charconv>

#include "base/contract/limits.h"
#include "operator/api/status_account.h"
#include "operator/api/status_fields.h"
#include "operator/api/training_job_codec.h"
#include "operator/api/world.h"

namespace ratoon::api {
namespace {

using nlohmann::json;

constexpr std::size_t kConditionsMax = 16;
constexpr std::size_t kImageBytesMax = 512;
constexpr std::size_t kSaveLocationBytesMax = 4096;
static_assert(kSaveLocationBytesMax == contract::kLocationBytesMax);  // members report it

constexpr std::array<std::string_view, 6> kPhases = {"Pending",   "Running",   "Recovering",
                                                     "Suspended", "Succeeded", "Failed"};

ResumePoint read_checkpoint(Fields f) {
  return {.attempt = Attempt(f.whole("attempt", kStatusCountMax)),
          .step = Step(f.whole("step", kStatusCountMax)),
          .digest = f.text("digest", 128)};
}

// A log's last lines may have three times kLastLinesBytesMax bytes, because each byte that was not UTF-8 was
// replaced by the three bytes of U+FFFD.
MemberFailure read_api_failure(Fields f) {
  MemberFailure failure{.member = f.text("member", 253),
                        .node = f.optional_text("node", 253),
                        .time = read_time(f, "time"),
                        .attempt = Attempt(f.optional_whole_number("attempt", kStatusCountMax)),
                        .reason = f.optional_text("reason", kStatusSentenceBytesMax),
                        .exit_code = std::nullopt,
                        .signal = std::nullopt,
                        .exception = f.optional_text("exception", 3 * 1024),
                        .last_lines = f.optional_text("lastLines", 3 * kLastLinesBytesMax)};
  if (f.find("exitCode") != nullptr)
    failure.exit_code = static_cast<std::uint32_t>(f.whole("exitCode", 0xffffffffU));
  if (f.find("signal") != nullptr)
    failure.signal = static_cast<std::uint32_t>(f.whole("signal", 0xffffffffU));
  return failure;
}

Condition read_condition(Fields f) {
  return {.type = f.text("type", 63),
          .is_true = f.text("status", 16) == "True",
          .reason = f.optional_text("reason", 4 * 256),
          .message = f.optional_text("message", kStatusSentenceBytesMax),
          .since = read_time(f, "lastTransitionTime"),
          .observed_generation = f.optional_whole_number("observedGeneration", kStatusCountMax)};
}

ProgressEstimate read_outlook(Fields f) {
  ProgressEstimate outlook{.position = f.optional_whole_number("position", kStatusCountMax),
                           .total = f.optional_whole_number("total", kStatusCountMax),
                           .unit = f.optional_text("unit", 253),
                           .loss = std::nullopt,
                           .best = f.optional_text("best", 253)};
  if (const json* loss = f.find("loss"); loss != nullptr && loss->is_number())
    outlook.loss = loss->get<double>();
  else if (loss != nullptr)
    f.complain("loss", "a number");
  return outlook;
}

Restarts read_restarts(Fields f) {
  return {
      .application = static_cast<std::uint32_t>(f.whole("application", 0xffffffffU)),
      .hung = static_cast<std::uint32_t>(f.optional_whole_number("hung", 0xffffffffU)),
      .ignored = static_cast<std::uint32_t>(f.optional_whole_number("ignored", 0xffffffffU)),
      .disruption = static_cast<std::uint32_t>(f.whole("disruption", 0xffffffffU)),
      .losses_without_step = static_cast<std::uint32_t>(f.optional_whole_number("withoutStep", 0xffffffffU)),
      .consecutive_crashes =
          static_cast<std::uint32_t>(f.optional_whole_number("crashesInARow", 0xffffffffU))};
}

// Reads one bit for each local rank from a hexadecimal text, because some JSON readers do not keep 64-bit
// numbers exactly.
std::uint64_t read_local_ranks(Fields& f) {
  const std::string text = f.optional_text("done", kProcessesPerNodeMax / 4);
  std::uint64_t bits = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (!text.empty() && (read.ec != std::errc() || read.ptr != text.data() + text.size()))
    f.complain("done", "a hexadecimal number like 0f");
  return bits;
}

std::string encode_local_ranks(std::uint64_t bits) {
  std::array<char, kProcessesPerNodeMax / 4> text{};
  const auto written = std::to_chars(text.begin(), text.end(), bits, 16);
  return {text.begin(), written.ptr};
}

MemberStatus read_member(Fields f) {
  MemberStatus member{
      .role = f.text("role", 63),
      .index = static_cast<std::uint32_t>(f.whole("index", kMembersMax)),
      .incarnation = static_cast<std::uint32_t>(f.whole("incarnation", 0xffffffffU)),
      .uid = f.optional_text("uid", 253),
      .node = f.optional_text("node", 253),
      .is_completed = f.flag("completed"),
      .successor = static_cast<std::uint32_t>(f.optional_whole_number("successor", 0xffffffffU)),
      .successor_uid = f.optional_text("successorUid", 253),
      .is_absent = f.flag("absent")};
  if (f.find("nodeEndsAt") != nullptr) member.node_ends_at = read_time(f, "nodeEndsAt");
  if (f.find("notBefore") != nullptr) member.next_pod_not_before = read_time(f, "notBefore");
  if (f.find("awaitedSince") != nullptr) member.first_message_awaited_since = read_time(f, "awaitedSince");
  member.done = read_local_ranks(f);
  return member;
}

json encode_member(const MemberStatus& m) {
  json out = {{"role", m.role}, {"index", m.index}, {"incarnation", m.incarnation}, {"uid", m.uid}};
  if (!m.node.empty()) out["node"] = m.node;
  if (m.is_completed) out["completed"] = true;
  if (m.successor != 0) out["successor"] = m.successor;
  if (!m.successor_uid.empty()) out["successorUid"] = m.successor_uid;
  if (m.node_ends_at) out["nodeEndsAt"] = format_rfc3339(*m.node_ends_at);
  if (m.is_absent) out["absent"] = true;
  if (m.next_pod_not_before) out["notBefore"] = format_rfc3339(*m.next_pod_not_before);
  if (m.first_message_awaited_since) out["awaitedSince"] = format_rfc3339(*m.first_message_awaited_since);
  if (m.done != 0) out["done"] = encode_local_ranks(m.done);
  return out;
}

// Reads whether each member has been in a world. The text has one hexadecimal digit for four members, because
// a separate flag for each of 4096 members would make the status too large for the API server.
void read_trained_members(Fields& f, std::vector<MemberStatus>& members) {
  const std::string digits = f.optional_text("trainedMembers", kMembersMax * kRolesMax / 4);
  if (digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    f.complain("trainedMembers", "hexadecimal digits");
  for (std::size_t i = 0; i < members.size() && i / 4 < digits.size(); ++i) {
    const char digit = digits[i / 4];
    const int bits = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    members[i].has_been_in_world = (bits >> i % 4 & 1) != 0;
  }
}

std::string encode_trained_members(const std::vector<MemberStatus>& members) {
  std::string digits((members.size() + 3) / 4, '0');
  for (std::size_t i = 0; i < members.size(); i += 4) {
    std::size_t bits = 0;
    for (std::size_t k = i; k < std::min(i + 4, members.size()); ++k)
      bits |= std::size_t{members[k].has_been_in_world} << (k - i);
    digits[i / 4] = "0123456789abcdef"[bits];
  }
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

CapacityWait read_capacity_wait(Fields f) {
  CapacityWait wait{
      .since = std::nullopt,
      .release_count = static_cast<std::uint32_t>(f.optional_whole_number("releases", 0xffffffffU)),
      .retry_at = std::nullopt};
  if (f.find("since") != nullptr) wait.since = read_time(f, "since");
  if (f.find("retryAt") != nullptr) wait.retry_at = read_time(f, "retryAt");
  return wait;
}

json encode_capacity_wait(const CapacityWait& wait) {
  json out = {{"releases", wait.release_count}};
  if (wait.since) out["since"] = format_rfc3339(*wait.since);
  if (wait.retry_at) out["retryAt"] = format_rfc3339(*wait.retry_at);
  return out;
}

json encode_failure(const MemberFailure& f) {
  json out = {{"member", f.member},
              {"node", f.node},
              {"time", format_rfc3339(f.time)},
              {"attempt", f.attempt.value()},
              {"reason", f.reason}};
  if (f.exit_code) out["exitCode"] = *f.exit_code;
  if (f.signal) out["signal"] = *f.signal;
  if (!f.exception.empty()) out["exception"] = f.exception;
  if (!f.last_lines.empty()) out["lastLines"] = f.last_lines;
  return out;
}

json encode_progress(const TrainingJobStatus& status) {
  json out = {{"step", status.step.value()}};
  if (status.last_step_at) out["time"] = format_rfc3339(*status.last_step_at);
  const ProgressEstimate& outlook = status.outlook;
  if (outlook.total > 0) {
    out["position"] = outlook.position;
    out["total"] = outlook.total;
    out["unit"] = outlook.unit;
  }
  if (outlook.loss) out["loss"] = *outlook.loss;
  if (!outlook.best.empty()) out["best"] = outlook.best;
  return out;
}

json encode_condition(const Condition& c) {
  return {{"type", c.type},
          {"status", c.is_true ? "True" : "False"},
          {"reason", c.reason},
          {"message", c.message},
          {"lastTransitionTime", format_rfc3339(c.since)},
          {"observedGeneration", c.observed_generation}};
}

}  // namespace

std::string_view name_of(JobPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

bool is_phase_name(std::string_view text) {
  return std::find(kPhases.begin(), kPhases.end(), text) != kPhases.end();
}

TrainingJobStatus read_status(Fields f) {
  TrainingJobStatus status;
  for (const auto& item : f.list("conditions", kConditionsMax))
    status.conditions.push_back(read_condition(f.child(item, "conditions[]")));
  // A status without a phase has only conditions, because no operator has been able to read the job's spec
  // yet.
  if (f.find("phase") == nullptr) return status;
  const std::string phase = f.text("phase", 32);
  const auto known = std::find(kPhases.begin(), kPhases.end(), phase);
  if (known == kPhases.end())
    f.complain("phase", "a phase");
  else
    status.phase = static_cast<JobPhase>(known - kPhases.begin());
  status.message = f.optional_text("message", kStatusSentenceBytesMax);
  status.observed_generation = f.optional_whole_number("observedGeneration", kStatusCountMax);
  status.replicas = static_cast<std::uint32_t>(f.optional_whole_number("replicas", kMembersMax * kRolesMax));
  status.pod_selector = f.optional_text("selector", 512);
  if (f.find("completionTime") != nullptr) status.completed_at = read_time(f, "completionTime");
  status.attempt = Attempt(f.whole("attempt", kStatusCountMax));
  status.is_world_formed = f.flag("formed");
  status.world_size = static_cast<std::uint32_t>(f.whole("worldSize", 65536));
  if (f.find("formedAt") != nullptr) status.world_formed_at = read_time(f, "formedAt");
  if (f.find("waitingSince") != nullptr) status.world_awaited_since = read_time(f, "waitingSince");
  if (f.find("capacityWait") != nullptr) status.capacity_wait = read_capacity_wait(f.object("capacityWait"));
  if (f.find("suspendingSince") != nullptr) status.suspending_since = read_time(f, "suspendingSince");
  if (f.find("activeSince") != nullptr) status.active_since = read_time(f, "activeSince");
  status.active_seconds = f.optional_whole_number("activeSeconds", kStatusCountMax);
  for (const auto& item : f.list("members", kMembersMax * kRolesMax)) {
    status.members.push_back(read_member(f.child(item, "members[]")));
  }
  read_trained_members(f, status.members);
  status.restarts = read_restarts(f.object("restarts"));
  Fields progress = f.object("progress");
  status.step = Step(progress.whole("step", kStatusCountMax));
  if (progress.find("time") != nullptr) status.last_step_at = read_time(progress, "time");
  status.outlook = read_outlook(progress);
  if (f.find("lastCheckpoint") != nullptr) {
    status.last_checkpoint = read_checkpoint(f.object("lastCheckpoint"));
    status.last_checkpoint_tier = f.object("lastCheckpoint").optional_text("tier", 16);
  }
  status.save_location = f.optional_text("saveLocation", kSaveLocationBytesMax);
  status.operator_image = f.optional_text("operatorImage", kImageBytesMax);
  status.final_weights = f.optional_text("finalWeights", 253);
  status.finish_reason = f.optional_text("finishReason", 253);
  if (f.find("lineageStart") != nullptr)
    status.first_own_attempt = Attempt(f.whole("lineageStart", kStatusCountMax));
  if (f.find("lastDisruption") != nullptr)
    status.last_disruption = read_disruption(f.object("lastDisruption"));
  if (f.find("openRecovery") != nullptr) status.open_recovery = read_open_recovery(f.object("openRecovery"));
  if (f.find("lastFailure") != nullptr) status.last_failure = read_api_failure(f.object("lastFailure"));
  if (f.find("ledger") != nullptr) status.ledger = read_time_ledger(f.object("ledger"));
  for (const auto& item : f.list("suspectNodes", kSuspectNodesMax)) {
    Fields node = f.child(item, "suspectNodes[]");
    status.suspect_nodes.push_back({.name = node.text("name", 253),
                                    .reason = node.optional_text("reason", kStatusSentenceBytesMax),
                                    .until = read_time(node, "until"),
                                    .is_unreachable = node.flag("unreachable")});
  }
  status.kubelet_rejection = f.optional_text("rejection", kStatusSentenceBytesMax);
  for (const auto& item : f.list("failedNodes", kFailedNodesMax)) {
    Fields node = f.child(item, "failedNodes[]");
    status.failed_nodes.push_back(
        {.name = node.text("name", 253),
         .failures = static_cast<std::uint32_t>(node.whole("failures", 0xffffffffU)),
         .time = read_time(node, "time")});
  }
  return status;
}

json encode_status(const TrainingJobStatus& status) {
  json members = json::array();
  for (const auto& m : status.members) members.push_back(encode_member(m));
  json out = {{"phase", name_of(status.phase)},
              {"message", status.message},
              {"observedGeneration", status.observed_generation},
              {"replicas", status.replicas},
              {"attempt", status.attempt.value()},
              {"formed", status.is_world_formed},
              {"worldSize", status.world_size},
              {"members", std::move(members)},
              {"restarts",
               {{"application", status.restarts.application},
                {"hung", status.restarts.hung},
                {"ignored", status.restarts.ignored},
                {"disruption", status.restarts.disruption},
                {"withoutStep", status.restarts.losses_without_step},
                {"crashesInARow", status.restarts.consecutive_crashes}}},
              {"activeSeconds", status.active_seconds},
              {"progress", encode_progress(status)}};
  if (const auto trained = encode_trained_members(status.members); !trained.empty())
    out["trainedMembers"] = trained;
  if (status.active_since) out["activeSince"] = format_rfc3339(*status.active_since);
  if (status.world_formed_at) out["formedAt"] = format_rfc3339(*status.world_formed_at);
  if (status.world_awaited_since) out["waitingSince"] = format_rfc3339(*status.world_awaited_since);
  if (status.capacity_wait) out["capacityWait"] = encode_capacity_wait(*status.capacity_wait);
  if (status.suspending_since) out["suspendingSince"] = format_rfc3339(*status.suspending_since);
  if (status.last_checkpoint) {
    out["lastCheckpoint"] = {{"attempt", status.last_checkpoint->attempt.value()},
                             {"step", status.last_checkpoint->step.value()},
                             {"digest", status.last_checkpoint->digest}};
    if (!status.last_checkpoint_tier.empty()) out["lastCheckpoint"]["tier"] = status.last_checkpoint_tier;
  }
  if (!status.pod_selector.empty()) out["selector"] = status.pod_selector;
  if (!status.save_location.empty()) out["saveLocation"] = status.save_location;
  if (!status.operator_image.empty()) out["operatorImage"] = status.operator_image;
  if (!status.final_weights.empty()) out["finalWeights"] = status.final_weights;
  if (!status.finish_reason.empty()) out["finishReason"] = status.finish_reason;
  if (status.first_own_attempt) out["lineageStart"] = status.first_own_attempt->value();
  if (status.last_disruption) out["lastDisruption"] = encode_disruption(*status.last_disruption);
  if (status.open_recovery) out["openRecovery"] = encode_open_recovery(*status.open_recovery);
  if (status.last_failure) out["lastFailure"] = encode_failure(*status.last_failure);
  if (status.ledger != JobTimeLedger()) out["ledger"] = encode_time_ledger(status.ledger);
  if (status.completed_at) out["completionTime"] = format_rfc3339(*status.completed_at);
  json& conditions = out["conditions"] = json::array();
  for (const auto& c : status.conditions) conditions.push_back(encode_condition(c));
  if (!status.suspect_nodes.empty()) {
    json& nodes = out["suspectNodes"] = json::array();
    for (const auto& n : status.suspect_nodes) {
      nodes.push_back({{"name", n.name}, {"reason", n.reason}, {"until", format_rfc3339(n.until)}});
      if (n.is_unreachable) nodes.back()["unreachable"] = true;
    }
  }
  if (!status.kubelet_rejection.empty()) out["rejection"] = status.kubelet_rejection;
  if (!status.failed_nodes.empty()) {
    json& nodes = out["failedNodes"] = json::array();
    for (const auto& n : status.failed_nodes)
      nodes.push_back({{"name", n.name}, {"failures", n.failures}, {"time", format_rfc3339(n.time)}});
  }
  return out;
}

}  // namespace ratoon::api
