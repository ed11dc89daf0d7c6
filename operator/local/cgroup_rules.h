// What a member's limits mean in the words of cgroups, of either version: which files say what, what has to
// be done before a cgroup can hold limited ones, and how a program begins within one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

// The kernel's name of a controller is also what a job calls its limit.
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kCpu = "cpu";

[[nodiscard]] bool is_limited(const api::Limits& limits, std::string_view controller);
// Those that a limit of any role takes.
[[nodiscard]] std::vector<std::string_view> controllers_of(const api::TrainingJobSpec& spec);

struct CgroupSetting {
  std::string file;
  std::string value;
  bool is_required = true;  // a kernel may lack what the others are about
};

// In the order in which they are to be written.
[[nodiscard]] std::vector<CgroupSetting> cgroup_settings(const api::Limits& limits,
                                                         std::string_view controller, bool is_unified);

// The file of a cgroup that counts, after "oom_kill", the processes that were ended for its limit.
[[nodiscard]] std::string_view file_of_kills(bool is_unified);

// A cgroup of version 2 as its files tell.
struct UnifiedCgroup {
  std::string folder;
  std::string offered;      // cgroup.controllers
  std::string given;        // cgroup.subtree_control: what those within it have
  bool has_others = false;  // processes beside this one
};

// Whether this process has to go to a cgroup within first: one that has processes gives nothing to those
// within it. An error says why no cgroup within can have the controller.
[[nodiscard]] Result<bool> has_to_make_room(const UnifiedCgroup& own, std::string_view controller);

// The command that goes to the cgroups whose cgroup.procs these are, and becomes `command` there: what a
// program forks and takes counts from its first moment. `variables`, as NAME=VALUE, are all that it is
// started with.
[[nodiscard]] std::vector<std::string> command_within(const std::vector<std::string>& procs_files,
                                                      const std::vector<std::string>& command,
                                                      const std::vector<std::string>& variables = {});

}  // namespace ratoon::local
