// Cgroups: makes the kernel enforce the limits of a local run's members, without root privileges. The cgroups
// are children of this process's own cgroup, if this process may create children there. Each limited member
// has its own cgroup.
//
//   <own>/ratoon-run-<hash of the run's folder>/<member>
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

class Cgroups {
 public:
  Cgroups() = default;  // enforces no limits

  // Prepares cgroups for members with limits of the given kinds. First removes the cgroups that a killed run
  // in the same folder left, and kills their processes. The old cgroups have no owner, because the caller
  // holds the folder's lock. `root` is the folder that contains /proc and /sys.
  [[nodiscard]] static Cgroups open(const std::filesystem::path& root,
                                    const std::filesystem::path& run_folder,
                                    const std::vector<std::string_view>& controllers);
  // Removes all cgroups of the run, and kills the processes that are still in them.
  ~Cgroups();
  Cgroups(Cgroups&& other) noexcept { swap(other); }
  Cgroups& operator=(Cgroups&& other) noexcept {
    swap(other);
    return *this;
  }

  // Returns a sentence for each kind of limit that cannot be enforced on this machine.
  [[nodiscard]] const std::vector<std::string>& unenforced_limits() const { return unenforced_limits_; }

  // Returns a command that runs `command` within the member's limits, if the kernel enforces them.
  // `variables` (NAME=VALUE) are the complete environment of the command.
  [[nodiscard]] Result<std::vector<std::string>> make_confined_command(
      const std::string& member, const api::ResourceLimits& limits, std::vector<std::string> command,
      const std::vector<std::string>& variables = {}) const;
  // Returns whether the kernel killed a process of the member because the member reached its memory limit.
  [[nodiscard]] bool was_out_of_memory(const std::string& member) const;
  // When a member has ended, call remove(): it kills the member's remaining processes and removes its cgroup.
  void remove(const std::string& member);

 private:
  struct RunCgroup {
    std::string_view controller;
    std::filesystem::path folder;  // of the run
    bool is_unified = false;
  };

  void swap(Cgroups& other) noexcept;
  [[nodiscard]] Result<RunCgroup> make_run_cgroup(std::string_view controller,
                                                  const std::filesystem::path& root, const std::string& name);
  [[nodiscard]] Result<void> move_to_child(const std::filesystem::path& own, std::string_view controller);

  std::vector<RunCgroup> run_cgroups_;
  std::vector<std::string> unenforced_limits_;
  // The cgroup (version 2) that this process has left for a child cgroup, because a cgroup with processes
  // cannot enable controllers for its children.
  std::filesystem::path former_cgroup_;
};

}  // namespace ratoon::local
