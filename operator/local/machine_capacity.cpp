#include "operator/local/machine_capacity.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace ratoon::local {
namespace {

// Files that `ratoon run` opens per process: the two connections of the process to the coordinator, and those
// of its replacement.
constexpr std::uint64_t kFilesPerProcess = 4;
constexpr std::uint64_t kUnauthenticatedFiles = 24;
constexpr std::uint64_t kFilesOfRunner = 40 + kUnauthenticatedFiles;
constexpr std::uint64_t kThreadsPerProcess = 10;

std::uint64_t members_at_least(const api::TrainingJobSpec& spec) {
  std::uint64_t members = 0;
  for (const auto& role : spec.roles) {
    const std::uint32_t elastic = spec.elastic_policy ? spec.elastic_policy->members_min : spec.num_nodes;
    members += role.replicas.value_or(elastic);
  }
  return members;
}

std::uint64_t members_of(const api::TrainingJobSpec& spec) {
  std::uint64_t members = 0;
  for (const auto& role : spec.roles) members += api::members_max_of(spec, role);
  return members;
}

}  // namespace

MachineCapacity count_capacity(const LossPlan& losses) {
  MachineCapacity capacity;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) capacity.open_files = limit.rlim_cur;
  std::uint64_t threads = 0;
  if (std::ifstream("/proc/sys/kernel/pid_max") >> threads) capacity.threads = threads;
  if (!losses.trace.empty()) capacity.nodes_max = most_nodes_of(losses.trace);
  return capacity;
}

Result<void> check_capacity(const api::TrainingJob& job, const MachineCapacity& capacity) {
  const std::uint64_t processes = members_of(job.spec) * job.spec.processes_per_node;
  const std::uint64_t files = processes * kFilesPerProcess + kFilesOfRunner;
  if (files > capacity.open_files) {
    return Error(ErrorKind::kInvalid, job.meta.name + " has " + std::to_string(processes) +
                                          " processes, which takes " + std::to_string(files) +
                                          " open files here, but a process may have " +
                                          std::to_string(capacity.open_files) +
                                          ": ask for fewer members, or for more files with `ulimit -n`");
  }
  if (processes * kThreadsPerProcess > capacity.threads) {
    return Error(ErrorKind::kInvalid,
                 job.meta.name + " has " + std::to_string(processes) + " processes with " +
                     std::to_string(kThreadsPerProcess) + " threads each, but this system may have " +
                     std::to_string(capacity.threads) + " (kernel.pid_max): ask for fewer members");
  }
  const std::uint64_t members = members_at_least(job.spec);
  if (capacity.nodes_max && members > *capacity.nodes_max) {
    return Error(ErrorKind::kInvalid, "the trace never has more than " + std::to_string(*capacity.nodes_max) +
                                          " nodes at once, but the smallest world of " + job.meta.name +
                                          " takes " + std::to_string(members) +
                                          ": ask for fewer members, or set elasticPolicy.minReplicas");
  }
  return {};
}

std::size_t unauthenticated_connections_max(const api::TrainingJobSpec& spec) {
  return members_of(spec) * spec.processes_per_node + kUnauthenticatedFiles;
}

std::uint64_t most_nodes_of(const std::vector<TraceEvent>& trace) {
  std::uint64_t there = 0;
  std::uint64_t most = 0;
  for (const auto& event : trace) {
    there += event.is_coming ? 1 : 0;
    there -= event.is_coming ? 0 : 1;
    most = std::max(most, there);
  }
  return most;
}

}  // namespace ratoon::local
