// Converts to JSON and back the messages of a process that has joined a world: heartbeats, orders and
// completion.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/contract/codec.h"
#include "base/contract/message_json.h"
#include "base/contract/message_parts.h"

namespace ratoon {
namespace {

constexpr std::array<std::string_view, 8> kPhaseNames = {"joining",    "load", "data",     "compute",
                                                         "collective", "save", "validate", "user"};

constexpr std::uint64_t kExitCodeMax = 255;  // of a process

// A run is complete once its last step is saved, so Completed names the checkpoint of that step.
ResumePoint read_last_checkpoint(Fields& f, Attempt attempt, Step last) {
  Fields field = f.object("checkpoint");
  ResumePoint checkpoint = contract::read_resume_point(field);
  if (f.is_sound() && checkpoint.step != last)
    field.complain("step", "equal to the run's last step (" + std::to_string(last.value()) + ")");
  if (f.is_sound() && checkpoint.attempt > attempt)
    field.complain("attempt", "an attempt number of at most the run's last attempt (" +
                                  std::to_string(attempt.value()) + ")");
  return checkpoint;
}

}  // namespace

std::string_view name_of(ProcessPhase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

namespace contract {

using nlohmann::json;

json to_json(const Heartbeat& m) {
  json out = {{"attempt", m.attempt.value()},  {"phase", name_of(m.phase)},
              {"process", to_json(m.process)}, {"seconds_in_phase", bounded_seconds(m.seconds_in_phase)},
              {"sequence", m.sequence},        {"step", m.step.value()}};
  if (m.committed) out["committed"] = to_json(*m.committed);
  for (const auto& entry : first_items(m.damaged, kDamagedCheckpointsMax))
    out["damaged"].push_back(to_json(entry));
  for (const auto& uid : first_items(m.unreachable_peers, kPeersMax)) out["unreachable_peers"].push_back(uid);
  if (m.outlook) out["outlook"] = to_json(*m.outlook);
  if (m.allowed_seconds) out["allowed_seconds"] = bounded_seconds(*m.allowed_seconds);
  if (m.save_seconds) out["save_seconds"] = bounded_seconds(*m.save_seconds);
  if (m.program_exit_code) out["program_exit_code"] = std::min(*m.program_exit_code, kExitCodeMax);
  return out;
}

void read(Fields& f, Heartbeat& m) {
  m.process = read_process(f);
  m.attempt = Attempt(f.whole("attempt", kAttemptMax));
  m.sequence = f.whole("sequence", kExactJsonIntegerMax);
  m.step = Step(f.whole("step", kExactJsonIntegerMax));
  const std::string phase = f.text("phase", kNameBytesMax);
  const auto known = std::find(kPhaseNames.begin(), kPhaseNames.end(), phase);
  // A phase name that this version does not know comes from a newer agent and counts as the user's own work.
  m.phase = known == kPhaseNames.end() ? ProcessPhase::kUser
                                       : static_cast<ProcessPhase>(known - kPhaseNames.begin());
  m.seconds_in_phase = f.seconds("seconds_in_phase");
  if (f.find("allowed_seconds") != nullptr) m.allowed_seconds = f.seconds("allowed_seconds");
  if (f.find("committed") != nullptr) m.committed = read_inventory_entry(f.object("committed"));
  for (const auto& entry : f.list("damaged", kDamagedCheckpointsMax))
    m.damaged.push_back(read_inventory_entry(f.child(entry, "damaged[]")));
  for (const auto& uid : f.list("unreachable_peers", kPeersMax)) {
    if (!uid.is_string() || uid.get_ref<const std::string&>().empty() ||
        uid.get_ref<const std::string&>().size() > kNameBytesMax) {
      f.complain("unreachable_peers",
                 "a text of 1 to " + std::to_string(kNameBytesMax) + " bytes in each item");
      return;
    }
    m.unreachable_peers.push_back(uid.get<std::string>());
  }
  if (f.find("outlook") != nullptr) m.outlook = read_outlook(f.object("outlook"));
  if (f.find("save_seconds") != nullptr) m.save_seconds = f.seconds("save_seconds");
  if (f.find("program_exit_code") != nullptr)
    m.program_exit_code = f.whole("program_exit_code", kExitCodeMax);
}

json to_json(const OrdersRequest& m) {
  return {{"process", to_json(m.process)}, {"seen_revision", m.seen_revision}};
}

void read(Fields& f, OrdersRequest& m) {
  m.process = read_process(f);
  m.seen_revision = f.whole("seen_revision", kExactJsonIntegerMax);
}

json to_json(const Orders& m) {
  json out = {{"attempt", m.attempt.value()}, {"revision", m.revision}};
  if (m.drain_deadline_seconds) out["drain_deadline_seconds"] = bounded_seconds(*m.drain_deadline_seconds);
  if (m.stop) out["stop"] = true;
  if (m.save_request != 0) out["save_request"] = m.save_request;
  if (m.hand_over) out["hand_over"] = true;
  if (m.hung) out["hung"] = true;
  if (!m.reason.empty()) out["reason"] = bounded_text(m.reason, "");
  return out;
}

void read(Fields& f, Orders& m) {
  m.revision = f.whole("revision", kExactJsonIntegerMax);
  m.attempt = Attempt(f.whole("attempt", kExactJsonIntegerMax));
  if (f.find("drain_deadline_seconds") != nullptr)
    m.drain_deadline_seconds = f.seconds("drain_deadline_seconds");
  m.stop = f.flag("stop");
  m.save_request = f.optional_whole_number("save_request", kExactJsonIntegerMax);
  m.hand_over = f.flag("hand_over");
  m.hung = f.flag("hung");
  m.reason = f.optional_text("reason", kMessageTextBytesMax);
}

json to_json(const Completed& m) {
  return {{"attempt", m.attempt.value()},
          {"checkpoint", to_json(m.checkpoint)},
          {"process", to_json(m.process)},
          {"result", m.result},
          {"step", m.step.value()}};
}

void read(Fields& f, Completed& m) {
  m.process = read_process(f);
  m.attempt = Attempt(f.whole("attempt", kAttemptMax));
  m.step = Step(f.whole("step", kExactJsonIntegerMax));
  m.checkpoint = read_last_checkpoint(f, m.attempt, m.step);
  if (f.find("result") == nullptr) return;
  const json& entries = *f.find("result");
  if (!entries.is_object() || entries.size() > kResultNumbersMax) {
    f.complain("result", "an object of at most " + std::to_string(kResultNumbersMax) + " texts");
    return;
  }
  Fields result = f.object("result");
  for (const auto& entry : entries.items()) {
    if (entry.key().empty() || entry.key().size() > kNameBytesMax) {
      f.complain("result", "an object whose keys have 1 to " + std::to_string(kNameBytesMax) + " bytes");
      return;
    }
    m.result[entry.key()] = result.optional_text(entry.key().c_str(), kNameBytesMax);
  }
}

json to_json(const CompletionRecord& m) {
  json out = {
      {"attempt", m.attempt.value()}, {"checkpoint", to_json(m.checkpoint)}, {"step", m.step.value()}};
  if (!m.weights.empty()) out["weights"] = m.weights;
  if (!m.finish_reason.empty()) out["finish_reason"] = m.finish_reason;
  return out;
}

void read(Fields& f, CompletionRecord& m) {
  m.attempt = Attempt(f.whole("attempt", kExactJsonIntegerMax));
  m.step = Step(f.whole("step", kExactJsonIntegerMax));
  m.checkpoint = read_last_checkpoint(f, m.attempt, m.step);
  m.weights = f.optional_text("weights", kWeightsBytesMax);
  m.finish_reason = f.optional_text("finish_reason", kFinishReasonBytesMax);
}

json to_json(const Refusal& m) {
  return {{"refusal", {{"kind", m.kind}, {"message", bounded_text(m.message, m.kind)}}}};
}

void read(Fields& f, Refusal& m) {
  Fields r = f.object("refusal");
  m.kind = r.text("kind", kNameBytesMax);
  m.message = r.text("message", kMessageTextBytesMax);
}

}  // namespace contract
}  // namespace ratoon
