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
#include "base/core/read_file.h"
#include "base/core/split_join.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

std::string join_variables(const LookUpVariable& variables, std::initializer_list<const char*> names) {
  std::string joined;
  for (const char* name : names) joined += "-" + variables(name).value_or("");
  return joined;
}

std::string digest_of(const std::string& text) {
  return to_hex(xxh3_64(std::as_bytes(std::span(text))));
}

// Returns the folder that torchrun creates on a machine for the logs of one launch; empty if no environment
// variable names the folder. torchrun gives each restart a subfolder of this folder, so the path without the
// subfolder identifies the launch.
std::string log_folder_of_launch(const LookUpVariable& variables) {
  const std::string file = variables("TORCHELASTIC_ERROR_FILE").value_or("");
  const std::size_t round = file.rfind("/attempt_");
  return round == std::string::npos ? std::string() : file.substr(0, round);
}

// Returns the number in an environment variable; 0 if its text is not a number.
std::uint64_t parse_count_or_zero(const LookUpVariable& variables, const char* name) {
  const std::string text = variables(name).value_or("");
  std::uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  return code == std::errc() && end == text.data() + text.size() ? count : 0;
}

struct AncestorProcess {
  std::string parent;
  std::string started;  // in clock ticks since the boot of the machine
};

// Reads /proc/PID/stat. In the file /proc/PID/stat, the name of the program is in parentheses, and may itself
// contain spaces and parentheses. Returns nothing if this process cannot see the process `pid`.
Result<std::optional<AncestorProcess>> read_ancestor(const std::string& pid) {
  constexpr std::size_t kParent = 2, kStarted = 20;
  const auto text = read_file_or_none("/proc/" + pid + "/stat");
  if (!text) return text.error();
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::optional<AncestorProcess>();
  const auto fields = split(text->substr(name_end + 1), ' ');
  if (fields.size() <= kStarted) return std::optional<AncestorProcess>();
  return std::optional(AncestorProcess{.parent = fields[kParent], .started = fields[kStarted]});
}

constexpr std::size_t kEnvironmentBytesMax = std::size_t{8} << 20;  // more than Linux allows

Result<bool> has_variable(const std::string& pid, const std::string& variable) {
  const auto environment = read_file_or_none("/proc/" + pid + "/environ", kEnvironmentBytesMax);
  if (!environment) return environment.error();
  return ('\0' + *environment).find('\0' + variable + '=') != std::string::npos;
}

}  // namespace

Result<std::string> identify_machine() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  const auto network = read_network_namespace();
  if (!network) return network.error();
  const auto boot = read_boot_id();
  if (!boot) return boot.error();
  return std::string(host.data()) + " " + *network + " " + *boot;
}

Result<std::string> identify_ancestor_without_variable(const std::string& variable) {
  std::string pid = std::to_string(::getppid());
  for (;;) {
    const auto ancestor = read_ancestor(pid);
    if (!ancestor) return ancestor.error().with_context("identifying the launcher");
    if (!*ancestor) return pid;
    const auto has_it = has_variable(pid, variable);
    if (!has_it) return has_it.error().with_context("identifying the launcher");
    if (!*has_it) return pid + " " + (*ancestor)->started;
    pid = (*ancestor)->parent;
  }
}

// Two launches that each use only one machine may have equal variables: the run ID "none" and the same port
// on loopback. The names of such launches also contain the machine and the log folder. If a launch has
// several machines, its variables contain the address of one of them, which identifies the launch.
Result<std::string> torchrun_launch_name(const LookUpVariable& variables, bool is_on_one_machine,
                                         const IdentityFunctions& site) {
  const std::string name =
      "torchrun" + join_variables(variables, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"});
  if (!is_on_one_machine) return name;
  const auto machine = site.machine();
  if (!machine) return machine.error();
  return name + "-" + digest_of(*machine + "\n" + log_folder_of_launch(variables));
}

std::string slurm_step_launch_name(const LookUpVariable& variables) {
  return "slurm" + join_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
}

// With Open MPI 5, PMIX_NAMESPACE contains the host and process ID of mpirun. With Open MPI 4, PMIX_NAMESPACE
// contains only a 16-bit hash of host and process ID. The result therefore also contains a random key of the
// launch. The machine is a part of the name, because containers on different machines may have equal host
// names and process IDs.
Result<std::string> open_mpi_launch_name(const LookUpVariable& variables, bool is_on_one_machine,
                                         const IdentityFunctions& site) {
  const std::string launch =
      join_variables(variables, {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"});
  if (!is_on_one_machine) return "openmpi-" + digest_of(launch);
  const auto machine = site.machine();
  if (!machine) return machine.error();
  return "openmpi-" + digest_of(launch + "\n" + *machine);
}

// If all ranks are on one machine, their common parent, the proxy of the launcher Hydra, identifies the
// launch. On several machines, Hydra's proxies have only the environment variables of mpiexec in common, so
// the name consists of these variables.
Result<std::string> hydra_launch_name(const LookUpVariable& variables, bool is_on_one_machine,
                                      const IdentityFunctions& site) {
  if (!is_on_one_machine)
    return "hydra-" + digest_of(join_variables(variables, {"MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID",
                                                           "SLURM_RESTART_COUNT", "PBS_JOBID", "LSB_JOBID"}));
  const auto machine = site.machine();
  if (!machine) return machine.error();
  const auto proxy = site.ancestor_without("PMI_RANK");
  if (!proxy) return proxy.error();
  return "hydra-" + digest_of(*machine + "\n" + *proxy);
}

std::vector<LaunchName> read_launches(const LookUpVariable& variables) {
  std::vector<LaunchName> launches;
  if (const auto own = variables(names::env::kLaunch)) launches.push_back({.name = "ratoon-" + *own});
  if (const auto run = variables("TORCHELASTIC_RUN_ID"))
    launches.push_back({.name = "torchrun-" + *run,
                        .restarts = parse_count_or_zero(variables, "TORCHELASTIC_RESTART_COUNT")});
  if (variables("SLURM_JOB_ID")) {
    launches.push_back({.name = "slurm" + join_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID"}),
                        .restarts = parse_count_or_zero(variables, "SLURM_RESTART_COUNT")});
  }
  return launches;
}

}  // namespace ratoon::session
