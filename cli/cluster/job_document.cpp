#include "cli/cluster/job_document.h"

#include <cmath>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

using api::JobPhase;
using nlohmann::json;

// Returns the state of the member's pod from the job's status, so that a user without permission to read pods
// can see the state too.
std::string_view member_phase_text(const api::TrainingJob& job, const api::MemberStatus& member) {
  if (member.is_completed) return "Completed";
  if (api::is_over(job.status.phase)) return "Ended";
  if (member.is_absent) return "Absent";
  if (member.next_pod_not_before) return "Waiting";
  if (member.uid.empty() || member.node.empty()) return "Pending";
  return member.first_message_awaited_since ? "Starting" : "Running";
}

json members_of(const api::TrainingJob& job) {
  json members = json::array();
  const auto add = [&](const api::MemberStatus& m, std::uint32_t incarnation, const std::string& node,
                       std::string_view standing) {
    members.push_back(
        {{"name", member_name(api::key_of(job), m.role, m.index, incarnation)}, {"phase", standing}});
    if (!node.empty()) members.back()["node"] = node;
  };
  // A member without a UID has no pod; leave out this member, unless it waits for a restart after a failure.
  for (const auto& m : job.status.members) {
    if (!m.uid.empty() || m.next_pod_not_before) add(m, m.incarnation, m.node, member_phase_text(job, m));
    if (m.is_leaving() && !m.successor_uid.empty()) add(m, m.successor, "", "Starting");
  }
  return members;
}

json nodes_of(const api::TrainingJob& job) {
  std::set<std::string> names;
  for (const auto& m : job.status.members)
    if (!m.node.empty()) names.insert(m.node);
  for (const auto& suspect : job.status.suspect_nodes) names.insert(suspect.name);
  json nodes = json::array();
  for (const auto& name : names) nodes.push_back({{"name", name}});
  return nodes;
}

json recoveries_of(const api::TrainingJobStatus& status) {
  json recoveries = json::array();
  if (const auto& last = status.last_disruption)
    recoveries.push_back({{"member", last->member},
                          {"node", last->node},
                          {"reason", last->reason},
                          {"time", format_rfc3339(last->time)},
                          {"lost_steps", last->lost_steps},
                          {"seconds", std::round(last->phases.total_seconds() * 1000) / 1000}});
  return recoveries;
}

json progress_of(const api::TrainingJobStatus& status) {
  const ProgressEstimate& outlook = status.outlook;
  json progress = {{"position", status.step.value()}, {"total", 0U}, {"unit", "step"}};
  if (outlook.total > 0 && !outlook.unit.empty())
    progress = {{"position", outlook.position}, {"total", outlook.total}, {"unit", outlook.unit}};
  if (outlook.loss) progress["loss"] = *outlook.loss;
  if (!outlook.best.empty()) progress["best"] = outlook.best;
  return progress;
}

json without_managed_fields(json object) {
  if (object.contains("metadata") && object["metadata"].is_object())
    object["metadata"].erase("managedFields");
  return object;
}

}  // namespace

json describe_job(const api::TrainingJob& job, std::optional<double> steps_per_second,
                  std::optional<double> seconds_left) {
  json document = {{"job", job.document ? without_managed_fields(*job.document) : json::object()},
                   {"members", members_of(job)},
                   {"nodes", nodes_of(job)},
                   {"recoveries", recoveries_of(job.status)},
                   {"running", !api::is_over(job.status.phase)},
                   {"progress", progress_of(job.status)}};
  if (steps_per_second) document["progress"]["steps_per_second"] = *steps_per_second;
  if (seconds_left) document["progress"]["seconds_left"] = *seconds_left;
  return document;
}

std::string jobs_text(const std::vector<RunView>& views, bool with_namespaces) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "PHASE", "ATTEMPT", "PROCESSES", "STEP", "DURABLE", "LOST", "FAILED", "HUNG"}};
  if (with_namespaces) rows[0].insert(rows[0].begin(), "NAMESPACE");
  for (const auto& view : views) {
    const auto& status = view.job.status;
    rows.push_back({view.job.meta.name, std::string(name_of(status.phase)),
                    std::to_string(status.attempt.value()), std::to_string(status.world_size),
                    std::to_string(status.step.value()),
                    status.last_checkpoint ? std::to_string(status.last_checkpoint->step.value()) : "-",
                    std::to_string(status.restarts.disruption), std::to_string(status.restarts.application),
                    std::to_string(status.restarts.hung)});
    if (with_namespaces) rows.back().insert(rows.back().begin(), view.job.meta.name_space);
  }
  return table_text(rows);
}

}  // namespace ratoon::cli
