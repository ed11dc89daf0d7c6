#include "operator/local/members/cgroup_rules.h"

#include <algorithm>
#include <iterator>

#include "base/core/split_join.h"

namespace ratoon::local {
namespace {

bool has_word(const std::string& text, std::string_view word) {
  const auto words = split(text.substr(0, text.find('\n')), ' ');
  return std::ranges::find(words, word) != words.end();
}

// Returns whether a shell accepts the name in NAME=VALUE: letters, digits and '_', no digit at its start.
bool has_shell_variable_name(const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('='));
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::ranges::all_of(name, is_inner) && !name.empty() && (name.front() < '0' || name.front() > '9');
}

// The period of CPU quotas, in microseconds.
constexpr std::uint64_t kCpuPeriodMicros = 100'000;

std::string cpu_quota_of(const api::ResourceLimits& limits) {
  constexpr std::uint64_t kMillis = 1000;
  constexpr std::uint64_t kQuotaMin = 1000;  // the kernel refuses less
  return std::to_string(std::max(limits.cpu_millis * (kCpuPeriodMicros / kMillis), kQuotaMin));
}

}  // namespace

bool is_limited(const api::ResourceLimits& limits, std::string_view controller) {
  return (controller == kMemoryController ? limits.memory_bytes : limits.cpu_millis) > 0;
}

std::vector<std::string_view> needed_controllers(const api::TrainingJobSpec& spec) {
  std::vector<std::string_view> controllers;
  for (const std::string_view controller : {kMemoryController, kCpuController}) {
    const auto takes_it = [&](const api::Role& role) { return is_limited(role.limits, controller); };
    if (std::ranges::any_of(spec.roles, takes_it)) controllers.push_back(controller);
  }
  return controllers;
}

// The settings of a memory limit also disable swap. With swap, the kernel would not kill a member that
// exceeds its limit, but only slow it down.
std::vector<CgroupSetting> cgroup_settings(const api::ResourceLimits& limits, std::string_view controller,
                                           bool is_unified) {
  const std::string period = std::to_string(kCpuPeriodMicros);
  const std::string bytes = std::to_string(limits.memory_bytes);
  if (controller == kCpuController && is_unified) return {{"cpu.max", cpu_quota_of(limits) + " " + period}};
  if (controller == kCpuController)
    return {{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", cpu_quota_of(limits)}};
  if (is_unified)
    return {{"memory.max", bytes}, {"memory.swap.max", "0", false}, {"memory.oom.group", "1", false}};
  return {{"memory.limit_in_bytes", bytes}, {"memory.memsw.limit_in_bytes", bytes, false}};
}

std::string_view oom_kill_file(bool is_unified) {
  return is_unified ? "memory.events" : "memory.oom_control";
}

Result<bool> must_move_to_child(const UnifiedCgroup& own, std::string_view controller) {
  const std::string next =
      ": put `systemd-run --user --scope -p Delegate=yes` before the command, which gives the command a "
      "cgroup of its own";
  if (has_word(own.enabled_controllers, controller)) return false;
  if (!has_word(own.available_controllers, controller)) {
    return Error(ErrorKind::kUnavailable,
                 own.folder + " is a cgroup without a " + std::string(controller) + " controller" + next);
  }
  if (own.has_other_processes) {
    return Error(ErrorKind::kUnavailable, own.folder + " is a cgroup that also has other processes" + next);
  }
  return true;
}

// A shell drops variables with names that it does not accept; `env` after the shell sets them again.
std::vector<std::string> command_in_cgroups(const std::vector<std::string>& procs_files,
                                            const std::vector<std::string>& command,
                                            const std::vector<std::string>& variables) {
  std::string script;
  for (std::size_t i = 0; i < procs_files.size(); ++i) script += "echo 0 > \"$1\" && shift && ";
  std::vector<std::string> words = {"/bin/sh", "-c", script + "exec \"$@\"", "sh"};
  words.insert(words.end(), procs_files.begin(), procs_files.end());
  std::vector<std::string> dropped;
  std::ranges::remove_copy_if(variables, std::back_inserter(dropped), has_shell_variable_name);
  if (!dropped.empty()) words.insert(words.end(), {"env", "--"});
  words.insert(words.end(), dropped.begin(), dropped.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace ratoon::local
