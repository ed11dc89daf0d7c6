#include "operator/api/training_job_status.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ratoon::api {
namespace {

using nlohmann::json;

constexpr std::uint64_t kCountMax = (1ULL << 53) - 1;

constexpr std::array<std::string_view, 5> kPhases = {"Pending", "Running", "Recovering", "Succeeded",
                                                     "Failed"};

ResumePoint read_checkpoint(Fields f) {
  return {.attempt = Attempt(f.whole("attempt", kCountMax)),
          .step = Step(f.whole("step", kCountMax)),
          .digest = f.text("digest", 128)};
}

WallTime read_time(Fields& f, const char* name) {
  const auto time = parse_rfc3339(f.text(name, 64));
  if (!time) f.complain(name, "a time like 2026-11-21T11:38:21.250Z");
  return time.value_or(WallTime{});
}

RecoveryPhases read_phases(Fields f) {
  return {.detect_seconds = f.seconds("detectSeconds"),
          .decide_seconds = f.seconds("decideSeconds"),
          .place_seconds = f.seconds("placeSeconds"),
          .start_seconds = f.seconds("startSeconds"),
          .rendezvous_seconds = f.seconds("rendezvousSeconds"),
          .load_seconds = f.seconds("loadSeconds"),
          .first_step_seconds = f.seconds("firstStepSeconds")};
}

Disruption read_disruption(Fields f) {
  return {.member = f.text("member", 253),
          .node = f.optional_text("node", 253),
          .reason = f.optional_text("reason", 4096),
          .time = read_time(f, "time"),
          .lost_steps = f.whole("lostSteps", kCountMax),
          .phases = read_phases(f.object("phases"))};
}

json encode_member(const MemberStatus& m) {
  json out = {{"role", m.role}, {"index", m.index}, {"incarnation", m.incarnation}, {"uid", m.uid}};
  if (!m.node.empty()) out["node"] = m.node;
  if (m.is_completed) out["completed"] = true;
  if (m.is_leaving()) out["successor"] = m.successor;
  if (!m.successor_uid.empty()) out["successorUid"] = m.successor_uid;
  return out;
}

// To the millisecond: people read it.
double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

json encode_phases(const RecoveryPhases& p) {
  return {{"detectSeconds", rounded(p.detect_seconds)},         {"decideSeconds", rounded(p.decide_seconds)},
          {"placeSeconds", rounded(p.place_seconds)},           {"startSeconds", rounded(p.start_seconds)},
          {"rendezvousSeconds", rounded(p.rendezvous_seconds)}, {"loadSeconds", rounded(p.load_seconds)},
          {"firstStepSeconds", rounded(p.first_step_seconds)}};
}

json encode_disruption(const Disruption& d) {
  return {{"member", d.member},
          {"node", d.node},
          {"reason", d.reason},
          {"time", format_rfc3339(d.time)},
          {"lostSteps", d.lost_steps},
          {"totalSeconds", rounded(d.phases.total_seconds())},
          {"phases", encode_phases(d.phases)}};
}

}  // namespace

std::string_view name_of(JobPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

TrainingJobStatus read_status(Fields f) {
  TrainingJobStatus status;
  const std::string phase = f.text("phase", 32);
  const auto known = std::find(kPhases.begin(), kPhases.end(), phase);
  if (known == kPhases.end())
    f.complain("phase", "a phase");
  else
    status.phase = static_cast<JobPhase>(known - kPhases.begin());
  status.message = f.optional_text("message", 4096);
  status.attempt = Attempt(f.whole("attempt", kCountMax));
  status.is_formed = f.flag("formed");
  status.world_size = static_cast<std::uint32_t>(f.whole("worldSize", 65536));
  for (const auto& item : f.list("members", kMembersMax * kRolesMax)) {
    Fields m = f.child(item, "members[]");
    status.members.push_back(
        {.role = m.text("role", 63),
         .index = static_cast<std::uint32_t>(m.whole("index", kMembersMax)),
         .incarnation = static_cast<std::uint32_t>(m.whole("incarnation", 0xffffffffU)),
         .uid = m.optional_text("uid", 253),
         .node = m.optional_text("node", 253),
         .is_completed = m.flag("completed"),
         .successor = static_cast<std::uint32_t>(m.optional_whole("successor", 0xffffffffU)),
         .successor_uid = m.optional_text("successorUid", 253)});
  }
  Fields restarts = f.object("restarts");
  status.restarts.application = static_cast<std::uint32_t>(restarts.whole("application", 0xffffffffU));
  status.restarts.disruption = static_cast<std::uint32_t>(restarts.whole("disruption", 0xffffffffU));
  status.restarts.without_step =
      static_cast<std::uint32_t>(restarts.optional_whole("withoutStep", 0xffffffffU));
  status.step = Step(f.object("progress").whole("step", kCountMax));
  if (f.find("lastCheckpoint") != nullptr)
    status.last_checkpoint = read_checkpoint(f.object("lastCheckpoint"));
  if (f.find("lastDisruption") != nullptr)
    status.last_disruption = read_disruption(f.object("lastDisruption"));
  for (const auto& item : f.list("suspectNodes", kSuspectNodesMax)) {
    Fields node = f.child(item, "suspectNodes[]");
    status.suspect_nodes.push_back({.name = node.text("name", 253),
                                    .reason = node.optional_text("reason", 4096),
                                    .until = read_time(node, "until")});
  }
  return status;
}

json encode_status(const TrainingJobStatus& status) {
  json members = json::array();
  for (const auto& m : status.members) members.push_back(encode_member(m));
  json out = {{"phase", name_of(status.phase)},
              {"message", status.message},
              {"attempt", status.attempt.value()},
              {"formed", status.is_formed},
              {"worldSize", status.world_size},
              {"members", std::move(members)},
              {"restarts",
               {{"application", status.restarts.application},
                {"disruption", status.restarts.disruption},
                {"withoutStep", status.restarts.without_step}}},
              {"progress", {{"step", status.step.value()}}}};
  if (status.last_checkpoint) {
    out["lastCheckpoint"] = {{"attempt", status.last_checkpoint->attempt.value()},
                             {"step", status.last_checkpoint->step.value()},
                             {"digest", status.last_checkpoint->digest}};
  }
  if (status.last_disruption) out["lastDisruption"] = encode_disruption(*status.last_disruption);
  if (!status.suspect_nodes.empty()) {
    json& nodes = out["suspectNodes"] = json::array();
    for (const auto& n : status.suspect_nodes)
      nodes.push_back({{"name", n.name}, {"reason", n.reason}, {"until", format_rfc3339(n.until)}});
  }
  return out;
}

}  // namespace ratoon::api
