// Converts a member's limits to settings of cgroups (version 1 and 2): files with their values, the steps
// that prepare the parent cgroup, and the command that starts a program in a cgroup. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

// The kernel's names of cgroup controllers, which are also the names of limits in a job's resources.
inline constexpr std::string_view kMemoryController = "memory";
inline constexpr std::string_view kCpuController = "cpu";

[[nodiscard]] bool is_limited(const api::ResourceLimits& limits, std::string_view controller);
// Returns the cgroup controllers that are needed for the limits of the job's roles.
[[nodiscard]] std::vector<std::string_view> needed_controllers(const api::TrainingJobSpec& spec);

struct CgroupSetting {
  std::string file;
  std::string value;
  bool is_required = true;  // false: the kernel may lack the setting
};

// Returns the settings for a member's limits, in the order in which to write them.
[[nodiscard]] std::vector<CgroupSetting> cgroup_settings(const api::ResourceLimits& limits,
                                                         std::string_view controller, bool is_unified);

// Returns the cgroup file whose line "oom_kill" counts processes that were killed at the memory limit.
[[nodiscard]] std::string_view oom_kill_file(bool is_unified);

// The state of a version 2 cgroup, as read from its files.
struct UnifiedCgroup {
  std::string folder;
  std::string available_controllers;  // cgroup.controllers
  std::string enabled_controllers;    // cgroup.subtree_control: the controllers of its children
  bool has_other_processes = false;   // processes other than this one
};

// Returns whether this process must first move to a child cgroup, because a cgroup with processes cannot
// enable controllers for its children. The error explains why no child cgroup can have the controller.
[[nodiscard]] Result<bool> must_move_to_child(const UnifiedCgroup& own, std::string_view controller);

// Returns a command that first enters the cgroups of `procs_files` (cgroup.procs) and then becomes `command`,
// so that all its children and memory count from the start. `variables` (NAME=VALUE) are the complete
// environment of the program.
[[nodiscard]] std::vector<std::string> command_in_cgroups(const std::vector<std::string>& procs_files,
                                                          const std::vector<std::string>& command,
                                                          const std::vector<std::string>& variables = {});

}  // namespace ratoon::local
