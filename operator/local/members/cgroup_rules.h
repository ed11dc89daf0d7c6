// A member's limits as settings of cgroups, of version 1 and 2: the files and values, the preparation of a
// parent cgroup, and the command that starts a program within a cgroup. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

// The kernel's names of controllers, which are also the names of a job's limits.
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kCpu = "cpu";

[[nodiscard]] bool is_limited(const api::ResourceLimits& limits, std::string_view controller);
// The controllers that a limit of any role needs.
[[nodiscard]] std::vector<std::string_view> controllers_of(const api::TrainingJobSpec& spec);

struct CgroupSetting {
  std::string file;
  std::string value;
  bool is_required = true;  // false: the kernel may lack the setting
};

// The settings are in the order of the writes.
[[nodiscard]] std::vector<CgroupSetting> cgroup_settings(const api::ResourceLimits& limits,
                                                         std::string_view controller, bool is_unified);

// The file of a cgroup that counts the processes killed at its memory limit, after "oom_kill".
[[nodiscard]] std::string_view file_of_kills(bool is_unified);

// A cgroup of version 2, as read from its files.
struct UnifiedCgroup {
  std::string folder;
  std::string offered;      // cgroup.controllers
  std::string given;        // cgroup.subtree_control: the controllers of its children
  bool has_others = false;  // processes other than this one
};

// Whether this process has to move to a child cgroup first: a cgroup with processes cannot enable controllers
// for its children. The error explains why no child can have the controller.
[[nodiscard]] Result<bool> must_move_to_child(const UnifiedCgroup& own, std::string_view controller);

// A command that enters the cgroups with these cgroup.procs files and then becomes `command`, so that all its
// children and memory count from the start. `variables` (NAME=VALUE) are the complete environment of the
// program.
[[nodiscard]] std::vector<std::string> command_within(const std::vector<std::string>& procs_files,
                                                      const std::vector<std::string>& command,
                                                      const std::vector<std::string>& variables = {});

}  // namespace ratoon::local
