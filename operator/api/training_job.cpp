#include "operator/api/training_job.h"

#include <algorithm>

#include "base/contract/fields.h"
#include "base/contract/names.h"
#include "operator/api/training_job_status.h"

namespace ratoon::api {
namespace {

using nlohmann::json;

constexpr std::size_t kWordsMax = 256;
constexpr std::size_t kWordBytesMax = 32 * 1024;
constexpr std::size_t kEnvironmentMax = 256;
constexpr std::size_t kJobNameBytesMax = 40;  // leaves room for "-<role>-<index>-i<incarnation>" within 63
constexpr std::size_t kRoleNameBytesMax = 12;
constexpr std::uint32_t kSecondsMax = 3600;
constexpr std::uint32_t kStepsMax = 1'000'000'000;
constexpr std::size_t kNoticeTaintsMax = 32;
constexpr std::size_t kTaintKeyBytesMax = 316;  // prefix of 253, '/', name of 63
constexpr std::uint32_t kAvoidSecondsMax = 24 * 3600;

bool is_dns_label(std::string_view name) {
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_inner) && name.front() >= 'a' &&
         name.back() != '-';
}

std::string read_name(Fields& f, std::size_t bytes_max) {
  std::string name = f.text("name", bytes_max);
  if (!is_dns_label(name)) f.complain("name", "lower-case letters, digits and '-', beginning with a letter");
  return name;
}

std::uint32_t read_count(Fields& f, const char* name, std::uint32_t min, std::uint32_t max,
                         std::uint32_t absent) {
  if (f.find(name) == nullptr) return absent;
  const auto value = static_cast<std::uint32_t>(f.whole(name, max));
  if (value < min) f.complain(name, "at least " + std::to_string(min));
  return value;
}

void read_texts(Fields& f, const char* name, std::size_t texts_max, std::size_t bytes_max,
                std::vector<std::string>& texts) {
  for (const auto& text : f.list(name, texts_max)) {
    if (!text.is_string() || text.get_ref<const std::string&>().size() > bytes_max) {
      f.complain(name, "a list of texts");
      return;
    }
    texts.push_back(text.get<std::string>());
  }
}

void read_container(Fields container, Role& role) {
  read_texts(container, "command", kWordsMax, kWordBytesMax, role.command);
  if (role.command.empty()) container.complain("command", "the program to run and its arguments");
  read_texts(container, "args", kWordsMax, kWordBytesMax, role.command);
  for (const auto& item : container.list("env", kEnvironmentMax)) {
    Fields variable = container.child(item, "env[]");
    role.environment[variable.text("name", kWordBytesMax)] = variable.optional_text("value", kWordBytesMax);
  }
}

Role read_role(Fields f) {
  Role role;
  role.name = read_name(f, kRoleNameBytesMax);
  if (f.find("replicas") != nullptr) role.replicas = read_count(f, "replicas", 1, kMembersMax, 1);
  Fields pod_spec = f.object("template").object("spec");
  const json& containers = pod_spec.list("containers", 16);
  if (containers.empty()) {
    pod_spec.complain("containers", "a list with the trainer first");
  } else {
    read_container(pod_spec.child(containers.front(), "containers[0]"), role);
  }
  return role;
}

TrainingJobSpec read_spec(Fields f) {
  TrainingJobSpec spec;
  for (const auto& item : f.list("roles", kRolesMax)) {
    Role role = read_role(f.child(item, "roles[]"));
    const bool is_known = std::any_of(spec.roles.begin(), spec.roles.end(),
                                      [&](const Role& other) { return other.name == role.name; });
    if (is_known) f.complain("roles", "a list of roles with different names");
    spec.roles.push_back(std::move(role));
  }
  if (spec.roles.empty()) f.complain("roles", "a list of at least one role");
  spec.num_nodes = read_count(f, "numNodes", 1, kMembersMax, 1);
  spec.processes_per_node = read_count(f, "processesPerNode", 1, 64, 1);
  if (f.find("restartPolicy") != nullptr) {
    Fields p = f.object("restartPolicy");
    spec.restart_policy.restarts_max = read_count(p, "maxRestarts", 0, 1'000'000, 10);
  }
  if (f.find("disruptionPolicy") != nullptr) {
    Fields p = f.object("disruptionPolicy");
    spec.disruption_policy.heartbeat_seconds = read_count(p, "heartbeatSeconds", 1, kSecondsMax, 1);
    spec.disruption_policy.suspect_after_seconds = read_count(p, "suspectAfterSeconds", 2, kSecondsMax, 3);
    if (spec.disruption_policy.suspect_after_seconds <= spec.disruption_policy.heartbeat_seconds) {
      p.complain("suspectAfterSeconds", "more than heartbeatSeconds");
    }
    read_texts(p, "noticeTaints", kNoticeTaintsMax, kTaintKeyBytesMax, spec.disruption_policy.notice_taints);
    spec.disruption_policy.avoid_node_seconds = read_count(p, "avoidNodeSeconds", 0, kAvoidSecondsMax, 300);
  }
  if (f.find("checkpointPolicy") != nullptr) {
    Fields p = f.object("checkpointPolicy");
    spec.checkpoint_policy.run_name = p.optional_text("runName", 63);
    if (!spec.checkpoint_policy.run_name.empty() && !is_dns_label(spec.checkpoint_policy.run_name)) {
      p.complain("runName", "lower-case letters, digits and '-', beginning with a letter");
    }
    spec.checkpoint_policy.volume_claim_name = p.optional_text("volumeClaimName", 253);
    spec.checkpoint_policy.interval_steps = read_count(p, "intervalSteps", 1, kStepsMax, 100);
    spec.checkpoint_policy.keep_last = read_count(p, "keepLast", 2, 1000, 3);
  }
  return spec;
}

}  // namespace

Result<TrainingJob> decode_training_job(const json& document) {
  std::optional<Error> complaint;
  Fields root(document, "", complaint);
  TrainingJob job;
  if (root.text("apiVersion", 253) != names::kApiVersion) root.complain("apiVersion", names::kApiVersion);
  if (root.text("kind", 253) != names::kKind) root.complain("kind", names::kKind);
  Fields meta = root.object("metadata");
  job.meta.name = read_name(meta, kJobNameBytesMax);
  if (meta.find("namespace") != nullptr) job.meta.name_space = meta.text("namespace", 63);
  job.meta.uid = meta.optional_text("uid", 253);
  job.meta.resource_version = meta.optional_text("resourceVersion", 253);
  job.spec = read_spec(root.object("spec"));
  if (root.find("status") != nullptr && !root.find("status")->empty())
    job.status = read_status(root.object("status"));
  if (complaint)
    return complaint->with_context(job.meta.name.empty() ? "TrainingJob" : "TrainingJob " + job.meta.name);
  job.document = std::make_shared<const json>(document);
  return job;
}

json encode_training_job(const TrainingJob& job) {
  json out = job.document ? *job.document : json::object();
  // Fields of the status that a newer program wrote stay; ours are replaced, these as a whole.
  json& target = out["status"];
  if (!target.is_object()) target = json::object();
  for (const char* whole : {"lastCheckpoint", "lastDisruption", "suspectNodes"}) target.erase(whole);
  target.update(encode_status(job.status), /*merge_objects=*/true);
  return out;
}

}  // namespace ratoon::api
