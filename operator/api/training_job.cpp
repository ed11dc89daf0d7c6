#include "operator/api/training_job.h"

#include <algorithm>

#include "base/contract/fields.h"
#include "base/contract/names.h"
#include "operator/api/spec_fields.h"
#include "operator/api/training_amount.h"
#include "operator/api/training_job_codec.h"
#include "operator/api/world.h"

namespace ratoon::api {
namespace {

using nlohmann::json;

constexpr std::size_t kArgumentsMax = 256;
constexpr std::size_t kArgumentCharactersMax = 32 * 1024;  // characters, as the definition counts them
constexpr std::size_t kArgumentBytesMax = 4 * 32 * 1024;   // the most bytes of that many characters
constexpr std::size_t kEnvironmentVariablesMax = 256;
constexpr std::size_t kJobNameBytesMax = 40;  // leaves room for "-<role>-<index>-i<incarnation>" within 63
constexpr std::size_t kRoleNameBytesMax = 12;
constexpr std::size_t kAgentBytesMax = 16;
constexpr std::size_t kTrainingAmountBytesMax = 64;
constexpr std::string_view kTrainingAmountFormat =
    "a number and its unit, like 90ep, 5000st, 500ba, 1000sp, 12h or 1h30m";
constexpr std::uint32_t kElasticWaitSecondsMax = 24 * 3600;
constexpr std::uint32_t kDurationSecondsMax = 366 * 24 * 3600;
constexpr std::uint32_t kDeadlineSecondsMax = 24 * 3600;
constexpr std::uint32_t kTtlSecondsMax = 366 * 24 * 3600;
constexpr std::uint64_t kGenerationMax = (1ULL << 53) - 1;

std::string read_name(Fields& f, std::size_t bytes_max) {
  std::string name = f.text("name", bytes_max);
  if (!is_dns_label(name)) f.complain("name", "lower-case letters, digits and '-', beginning with a letter");
  return name;
}

void read_container(Fields container, Role& role) {
  read_string_list(container, "command", kArgumentsMax, kArgumentCharactersMax, role.command);
  if (role.command.empty() && role.uses_launcher)
    container.complain("command",
                       "the program to run (ENTRYPOINT and CMD of the image, which the operator cannot see), "
                       "because agent is Launcher: ratoon-launcher starts this command");
  else if (role.command.empty())
    container.complain("command", "the program to run and its arguments");
  read_string_list(container, "args", kArgumentsMax, kArgumentCharactersMax, role.command);
  std::size_t index = 0;
  for (const auto& item : container.list("env", kEnvironmentVariablesMax)) {
    Fields variable = container.child(item, item_name("env", index++));
    if (variable.find("valueFrom") != nullptr) continue;  // only a cluster can resolve it
    role.environment.push_back({.name = variable.text("name", kArgumentBytesMax),
                                .value = variable.optional_text("value", kArgumentBytesMax)});
  }
}

void read_agent(Fields& f, Role& role) {
  const std::string agent = f.optional_text("agent", kAgentBytesMax);
  role.uses_launcher = agent == "Launcher";
  role.has_agent = agent != "None";
  if (!agent.empty() && agent != "Ratoon" && agent != "None" && !role.uses_launcher)
    f.complain("agent", "Ratoon, Launcher or None");
}

ResourceLimits read_limits(Fields container) {
  constexpr std::uint64_t kMillis = 1000;
  if (container.find("resources") == nullptr) return {};
  Fields resources = container.object("resources");
  if (resources.find("limits") == nullptr) return {};
  Fields limits = resources.object("limits");
  return {.memory_bytes = read_quantity(limits, "memory"),
          .cpu_millis = read_quantity(limits, "cpu", kMillis)};
}

Role read_role(Fields f) {
  Role role;
  role.name = read_name(f, kRoleNameBytesMax);
  read_agent(f, role);
  if (f.find("replicas") != nullptr) role.replicas = read_count(f, "replicas", 1, kMembersMax, 1);
  Fields pod_spec = f.object("template").object("spec");
  const json& containers = pod_spec.list("containers", 16);
  if (containers.empty()) {
    pod_spec.complain("containers", "a list whose first container runs the trainer");
  } else {
    const Fields container = pod_spec.child(containers.front(), "containers[0]");
    read_container(container, role);
    role.limits = read_limits(container);
  }
  return role;
}

ElasticPolicy read_elastic(Fields f, const TrainingJobSpec& spec) {
  ElasticPolicy policy;
  policy.members_min = read_count(f, "minReplicas", 1, kMembersMax, 1);
  if (policy.members_min > spec.num_nodes) f.complain("minReplicas", "at most numNodes");
  if (f.find("maxReplicas") != nullptr) {
    policy.members_max = read_count(f, "maxReplicas", 1, kMembersMax, 1);
    if (policy.members_max < spec.num_nodes) f.complain("maxReplicas", "at least numNodes");
  }
  const bool is_any_elastic =
      std::any_of(spec.roles.begin(), spec.roles.end(), [](const Role& role) { return !role.replicas; });
  if (!is_any_elastic) f.complain("minReplicas", "used only with a role that has no replicas of its own");
  policy.shrink_after_seconds = read_count(f, "shrinkAfterSeconds", 0, kElasticWaitSecondsMax, 30);
  policy.grow_cooldown_seconds = read_count(f, "growCooldownSeconds", 0, kElasticWaitSecondsMax, 60);
  return policy;
}

// Refuses policies with an unknown role name, because they would silently have no effect.
void check_role_names(Fields& f, const TrainingJobSpec& spec) {
  const auto is_role = [&](const std::string& name) {
    return std::any_of(spec.roles.begin(), spec.roles.end(), [&](const Role& r) { return r.name == name; });
  };
  const auto are_roles = [&](const std::vector<std::string>& names) {
    return std::all_of(names.begin(), names.end(), is_role);
  };
  if (!are_roles(spec.success_policy.roles))
    f.complain("successPolicy", "an object that names only roles of the job");
  if (!are_roles(spec.failure_policy.roles))
    f.complain("failurePolicy", "an object that names only roles of the job");
  const auto& rules = spec.restart_policy.rules;
  if (!std::all_of(rules.begin(), rules.end(), [&](const auto& rule) { return are_roles(rule.roles); }))
    f.complain("restartPolicy", "an object whose rules name only roles of the job");
}

// Refuses fields that need the agent if the job's roles run without the agent.
void check_agents(Fields& f, const TrainingJobSpec& spec) {
  const auto with_agent = std::ranges::count_if(spec.roles, &Role::has_agent);
  const auto launched = std::ranges::count_if(spec.roles, &Role::uses_launcher);
  const auto roles = std::ssize(spec.roles);
  if (with_agent != 0 && with_agent != roles)
    f.complain("roles", "a list in which all roles have agent: None, or no role");
  if (launched != 0 && launched != roles)
    f.complain("roles", "a list in which all roles have agent: Launcher, or no role");
  if (with_agent == roles && launched == 0) return;
  if (spec.elastic_policy && launched == 0)
    f.complain("elasticPolicy", "absent if agent is None: without the agent a program cannot change size");
  if (spec.progress_deadline_seconds > 0)
    f.complain("progressDeadlineSeconds",
               "0 if agent is None or Launcher: a program without the agent reports no steps");
  if (spec.processes_per_node > 1 && launched != 0)
    f.complain("processesPerNode",
               "1 if agent is Launcher, which starts one program in each pod: raise numNodes, or let "
               "torchrun start the processes of a pod");
}

TrainingJobSpec read_spec(Fields f) {
  TrainingJobSpec spec;
  for (const auto& item : f.list("roles", kRolesMax)) {
    Role role = read_role(f.child(item, item_name("roles", spec.roles.size())));
    const bool is_known = std::any_of(spec.roles.begin(), spec.roles.end(),
                                      [&](const Role& other) { return other.name == role.name; });
    if (is_known) f.complain("roles", "a list of roles with different names");
    spec.roles.push_back(std::move(role));
  }
  if (spec.roles.empty()) f.complain("roles", "a list of at least one role");
  spec.num_nodes = read_count(f, "numNodes", 1, kMembersMax, 1);
  spec.processes_per_node = read_count(f, "processesPerNode", 1, kProcessesPerNodeMax, 1);
  spec.is_suspended = f.flag("suspend");
  if (f.find("elasticPolicy") != nullptr) spec.elastic_policy = read_elastic(f.object("elasticPolicy"), spec);
  if (const json* amount = f.find("maxDuration"); amount != nullptr && !amount->is_string())
    f.complain("maxDuration", kTrainingAmountFormat);
  spec.max_duration = f.optional_text("maxDuration", kTrainingAmountBytesMax);
  if (!spec.max_duration.empty() && !is_training_amount(spec.max_duration))
    f.complain("maxDuration", kTrainingAmountFormat);
  spec.max_duration_seconds = read_count(f, "maxDurationSeconds", 0, kDurationSecondsMax, 0);
  spec.start_deadline_seconds = read_count(f, "startDeadlineSeconds", 0, kDeadlineSecondsMax, 600);
  spec.progress_deadline_seconds = read_count(f, "progressDeadlineSeconds", 0, kDeadlineSecondsMax, 0);
  spec.release_after_seconds = read_count(f, "releaseAfterSeconds", 0, kDeadlineSecondsMax, 0);
  if (f.find("releaseAfterSeconds") != nullptr && spec.release_after_seconds == 0)
    f.complain("releaseAfterSeconds", "at least 1: remove it if the job is to keep its nodes while it waits");
  if (f.find("restartPolicy") != nullptr)
    spec.restart_policy = read_restart_policy(f.object("restartPolicy"));
  if (f.find("successPolicy") != nullptr)
    spec.success_policy = read_success_policy(f.object("successPolicy"));
  if (f.find("failurePolicy") != nullptr)
    spec.failure_policy = read_failure_policy(f.object("failurePolicy"));
  if (f.find("cleanPodPolicy") != nullptr) spec.clean_pod_policy = read_clean_pod_policy(f);
  if (f.find("ttlSecondsAfterFinished") != nullptr)
    spec.ttl_seconds_after_finished = read_count(f, "ttlSecondsAfterFinished", 0, kTtlSecondsMax, 0);
  if (f.find("disruptionPolicy") != nullptr)
    spec.disruption_policy = read_disruption_policy(f.object("disruptionPolicy"));
  if (f.find("checkpointPolicy") != nullptr)
    spec.checkpoint_policy = read_checkpoint_policy(f.object("checkpointPolicy"));
  if (f.find("dataPolicy") != nullptr) spec.data_policy = read_data_policy(f.object("dataPolicy"));
  if (f.find("topology") != nullptr) spec.topology = read_topology(f.object("topology"));
  check_role_names(f, spec);
  check_agents(f, spec);
  return spec;
}

// Adds the number of values in `value` to `count`, up to about `limit`.
void count_values(const json& value, std::size_t limit, std::size_t& count) {
  if (++count > limit || !value.is_structured()) return;
  for (const json& inner : value) count_values(inner, limit, count);
}

// The operator keeps the document of each job, and the API server accepts any fields in a template. Without
// this limit, a few jobs of one user could fill the operator's memory.
void check_size_of_roles(const json& document, std::optional<Error>& complaint) {
  constexpr std::size_t kValuesMax = 20'000;
  std::size_t count = 0;
  const json::json_pointer roles("/spec/roles");
  if (document.contains(roles)) count_values(document[roles], kValuesMax, count);
  if (count > kValuesMax && !complaint)
    complaint = Error(ErrorKind::kInvalid, "spec.roles has more than " + std::to_string(kValuesMax) +
                                               " values: make the pod templates smaller");
}

}  // namespace

std::uint32_t members_max_of(const TrainingJobSpec& spec, const Role& role) {
  const std::uint32_t elastic = spec.elastic_policy ? spec.elastic_policy->members_max : 0;
  return role.replicas.value_or(std::max(spec.num_nodes, elastic));
}

bool is_agentless(const TrainingJobSpec& spec) {
  return std::ranges::none_of(spec.roles, &Role::has_agent);
}

bool uses_launcher(const TrainingJobSpec& spec) {
  return std::ranges::any_of(spec.roles, &Role::uses_launcher);
}

bool reports_steps(const TrainingJobSpec& spec) {
  return !is_agentless(spec) && !uses_launcher(spec);
}

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
  job.meta.generation = meta.optional_whole_number("generation", kGenerationMax);
  check_size_of_roles(document, complaint);
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
  // Keeps unknown fields of the status, which a newer Ratoon wrote. Replaces known fields; a known field that
  // is an object is replaced as a whole.
  json& target = out["status"];
  if (!target.is_object()) target = json::object();
  for (const char* whole :
       {"formedAt",       "waitingSince",   "capacityWait",  "activeSince",  "suspendingSince",
        "lastCheckpoint", "saveLocation",   "operatorImage", "finalWeights", "finishReason",
        "lineageStart",   "lastDisruption", "openRecovery",  "lastFailure",  "ledger",
        "completionTime", "suspectNodes",   "failedNodes",   "selector",     "rejection",
        "trainedMembers"})
    target.erase(whole);
  // In the object `progress`, removes known fields that are no longer set and keeps unknown fields.
  if (json& progress = target["progress"]; progress.is_object())
    for (const char* known : {"time", "position", "total", "unit", "loss", "best"}) progress.erase(known);
  target.update(encode_status(job.status), /*merge_objects=*/true);
  return out;
}

}  // namespace ratoon::api
