#include "agent/src/session/options/launch_names.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include <unistd.h>

#include "base/contract/names.h"
#include "base/core/boot_id.h"
#include "base/core/hex.h"
#include "base/core/lists.h"
#include "base/core/read_file.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

std::string join_variables(const Variables& variables, std::initializer_list<const char*> names) {
  std::string joined;
  for (const char* name : names) joined += "-" + variables(name).value_or("");
  return joined;
}

std::string digest_of(const std::string& text) {
  return to_hex(xxh3_64(std::as_bytes(std::span(text))));
}

// Returns the folder that torchrun creates for the logs of each launch on a machine; empty if the variable
// does not name it. Each round of restarts has its own subfolder, so the path without the subfolder
// identifies the launch.
std::string log_folder_of_launch(const Variables& variables) {
  const std::string file = variables("TORCHELASTIC_ERROR_FILE").value_or("");
  const std::size_t round = file.rfind("/attempt_");
  return round == std::string::npos ? std::string() : file.substr(0, round);
}

// Returns the number in the variable; any other text counts as 0.
std::uint64_t count_in(const Variables& variables, const char* name) {
  const std::string text = variables(name).value_or("");
  std::uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  return code == std::errc() && end == text.data() + text.size() ? count : 0;
}

struct Ancestor {
  std::string parent;
  std::string started;  // in clock ticks since the boot of the machine
};

// Reads /proc/PID/stat. The name of the program comes first, in parentheses, and may contain spaces and
// parentheses.
std::optional<Ancestor> read_ancestor(const std::string& pid) {
  constexpr std::size_t kParent = 2, kStarted = 20;
  const auto text = read_file("/proc/" + pid + "/stat");
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = split(text->substr(name_end + 1), ' ');
  if (fields.size() <= kStarted) return std::nullopt;
  return Ancestor{.parent = fields[kParent], .started = fields[kStarted]};
}

bool has_variable(const std::string& pid, const std::string& variable) {
  const auto environment = read_file("/proc/" + pid + "/environ");
  return environment && ('\0' + *environment).find('\0' + variable + '=') != std::string::npos;
}

}  // namespace

std::string identify_machine() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  std::array<char, 64> network{};
  static_cast<void>(::readlink("/proc/self/ns/net", network.data(), network.size() - 1));
  return std::string(host.data()) + " " + network.data() + " " + boot_id().value_or("");
}

std::string identify_ancestor_without(const std::string& variable) {
  std::string pid = std::to_string(::getppid());
  for (;;) {
    const auto ancestor = read_ancestor(pid);
    if (!ancestor) return pid;
    if (!has_variable(pid, variable)) return pid + " " + ancestor->started;
    pid = ancestor->parent;
  }
}

// Launches on two machines may have the same variables if each has all its ranks on one machine: the run ID
// "none" and a loopback port. A launch over several machines has in its variables the address of one machine,
// which identifies the launch.
std::string name_of_torchrun(const Variables& variables, bool is_on_one_machine, const LaunchSite& site) {
  const std::string name =
      "torchrun" + join_variables(variables, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"});
  if (!is_on_one_machine) return name;
  return name + "-" + digest_of(site.machine() + "\n" + log_folder_of_launch(variables));
}

std::string name_of_slurm_step(const Variables& variables) {
  return "slurm" + join_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
}

// Open MPI 5 names the host and process ID of mpirun in its name space. Open MPI 4 has only a 16-bit hash of
// host and process ID, and a random key for each launch. Containers on several machines may have equal host
// names and process IDs.
std::string name_of_open_mpi(const Variables& variables, bool is_on_one_machine, const LaunchSite& site) {
  const std::string launch =
      join_variables(variables, {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"});
  return "openmpi-" + digest_of(launch + (is_on_one_machine ? "\n" + site.machine() : ""));
}

// On one machine, the Hydra proxy that is the parent of all ranks identifies the launch. The proxies of
// several machines share only the variables with which mpiexec was started.
std::string name_of_hydra(const Variables& variables, bool is_on_one_machine, const LaunchSite& site) {
  if (is_on_one_machine)
    return "hydra-" + digest_of(site.machine() + "\n" + site.ancestor_without("PMI_RANK"));
  return "hydra-" + digest_of(join_variables(variables, {"MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID",
                                                         "SLURM_RESTART_COUNT", "PBS_JOBID", "LSB_JOBID"}));
}

std::vector<LaunchName> read_launches(const Variables& variables) {
  std::vector<LaunchName> launches;
  if (const auto own = variables(names::env::kLaunch)) launches.push_back({.name = "ratoon-" + *own});
  if (const auto run = variables("TORCHELASTIC_RUN_ID"))
    launches.push_back(
        {.name = "torchrun-" + *run, .restarts = count_in(variables, "TORCHELASTIC_RESTART_COUNT")});
  if (variables("SLURM_JOB_ID")) {
    launches.push_back({.name = "slurm" + join_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID"}),
                        .restarts = count_in(variables, "SLURM_RESTART_COUNT")});
  }
  return launches;
}

}  // namespace ratoon::session
