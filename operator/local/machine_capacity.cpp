#include "operator/local/machine_capacity.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace ratoon::local {
namespace {

// `ratoon run` needs this many open files per process of the job: two for the connections of the process to
// the coordinator, and two for those of its replacement.
constexpr std::uint64_t kOpenFilesPerProcess = 4;
constexpr std::uint64_t kUnauthenticatedOpenFiles = 24;
constexpr std::uint64_t kRunnerOpenFiles = 40 + kUnauthenticatedOpenFiles;
constexpr std::uint64_t kThreadsPerProcess = 10;

std::uint64_t count_members_min(const api::TrainingJobSpec& spec) {
  std::uint64_t members = 0;
  for (const auto& role : spec.roles) {
    const std::uint32_t elastic = spec.elastic_policy ? spec.elastic_policy->members_min : spec.num_nodes;
    members += role.replicas.value_or(elastic);
  }
  return members;
}

std::uint64_t count_members_max(const api::TrainingJobSpec& spec) {
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
  if (!losses.trace.empty()) capacity.nodes_max = peak_node_count(losses.trace);
  return capacity;
}

Result<void> check_capacity(const api::TrainingJob& job, const MachineCapacity& capacity) {
  const std::uint64_t processes = count_members_max(job.spec) * job.spec.processes_per_node;
  const std::uint64_t files = processes * kOpenFilesPerProcess + kRunnerOpenFiles;
  if (files > capacity.open_files) {
    return Error(ErrorKind::kInvalid, job.meta.name + " has " + std::to_string(processes) +
                                          " processes, so `ratoon run` opens " + std::to_string(files) +
                                          " files, but it may open only " +
                                          std::to_string(capacity.open_files) +
                                          ": ask for fewer members, or raise the limit with `ulimit -n`");
  }
  if (processes * kThreadsPerProcess > capacity.threads) {
    return Error(ErrorKind::kInvalid,
                 job.meta.name + " has " + std::to_string(processes) + " processes with " +
                     std::to_string(kThreadsPerProcess) + " threads each, but this system allows only " +
                     std::to_string(capacity.threads) + " threads (kernel.pid_max): ask for fewer members");
  }
  const std::uint64_t members = count_members_min(job.spec);
  if (capacity.nodes_max && members > *capacity.nodes_max) {
    return Error(ErrorKind::kInvalid, "the trace never has more than " + std::to_string(*capacity.nodes_max) +
                                          " nodes at once, but the smallest world of " + job.meta.name +
                                          " takes " + std::to_string(members) +
                                          ": ask for fewer members, or set elasticPolicy.minReplicas");
  }
  return {};
}

std::size_t unauthenticated_connections_max(const api::TrainingJobSpec& spec) {
  return count_members_max(spec) * spec.processes_per_node + kUnauthenticatedOpenFiles;
}

std::uint64_t peak_node_count(const std::vector<TraceEvent>& trace) {
  std::uint64_t there = 0;
  std::uint64_t most = 0;
  for (const auto& event : trace) {
    there += event.is_added ? 1 : 0;
    there -= event.is_added ? 0 : 1;
    most = std::max(most, there);
  }
  return most;
}

}  // namespace ratoon::local
