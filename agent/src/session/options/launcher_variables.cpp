#include "agent/src/session/options/launcher_variables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include <unistd.h>

#include "base/contract/names.h"
#include "base/core/boot_id.h"
#include "base/core/hex.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

constexpr std::uint32_t kWorldMax = 65'536;

struct Names {
  const char* rank;
  const char* size;
  const char* size_here;  // processes on this machine
  const char* rank_here;
};

Error contradiction(const std::string& what) {
  return Error(ErrorKind::kInvalid,
               what + ": start all processes with one launcher, or unset the variable to run alone");
}

Result<std::uint32_t> read_number(const Variables& variables, const char* name, std::uint32_t max) {
  const auto text = variables(name);
  if (!text) return contradiction(std::string(name) + " is missing");
  std::uint32_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data(), end, number);
  if (code != std::errc() || stop != end || number > max) {
    return contradiction(std::string(name) + " must be a whole number up to " + std::to_string(max) +
                         ", found '" + *text + "'");
  }
  return number;
}

Result<GroupOptions> read_numbers(const Variables& variables, const Names& names) {
  const auto size = read_number(variables, names.size, kWorldMax);
  if (!size) return size.error();
  const auto rank = read_number(variables, names.rank, kWorldMax);
  if (!rank) return rank.error();
  if (*rank >= *size) {
    return contradiction(std::string(names.rank) + " is " + std::to_string(*rank) + " and " + names.size +
                         " is " + std::to_string(*size));
  }
  GroupOptions group;
  group.rank = *rank;
  group.size = *size;
  group.is_on_one_machine = *size == 1;  // otherwise unknown: loopback would reach this machine alone
  if (variables(names.size_here)) {
    const auto here = read_number(variables, names.size_here, kWorldMax);
    if (!here) return here.error();
    group.is_on_one_machine = *here == *size;
    group.local_size = *here;
  }
  if (variables(names.rank_here)) {
    const auto here = read_number(variables, names.rank_here, kWorldMax);
    if (!here) return here.error();
    group.local_rank = *here;
  }
  return group;
}

// Reads the tasks of one node in Slurm's list, as in "8(x2),4": equal neighbours are written together.
std::optional<std::uint32_t> find_tasks_of(std::string_view list, std::uint32_t node) {
  const auto read = [](std::string_view text, std::uint32_t& number) {
    return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
  };
  std::uint64_t nodes = 0;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    std::uint32_t tasks = 0;
    std::uint32_t times = 1;
    if (!read(item, tasks)) return std::nullopt;
    if (const auto open = item.find("(x"); open != item.npos && !read(item.substr(open + 2), times))
      return std::nullopt;
    nodes += times;
    if (node < nodes) return tasks;
  }
  return std::nullopt;
}

std::uint32_t tasks_here(const Variables& variables) {
  const auto list = variables(variables("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE"
                                                                     : "SLURM_TASKS_PER_NODE");
  const auto node = read_number(variables, "SLURM_NODEID", kWorldMax);
  return list && node ? find_tasks_of(*list, *node).value_or(1) : 1;
}

std::string join_variables(const Variables& variables, std::initializer_list<const char*> names) {
  std::string joined;
  for (const char* name : names) joined += "-" + variables(name).value_or("");
  return joined;
}

// The folder that torchrun makes anew for the logs of each launch on a machine; empty: the variable does not
// name it. This folder has a folder for each round of restarts, so the path before that folder identifies the
// launch.
std::string log_folder_of_launch(const Variables& variables) {
  const std::string file = variables("TORCHELASTIC_ERROR_FILE").value_or("");
  const std::size_t round = file.rfind("/attempt_");
  return round == std::string::npos ? std::string() : file.substr(0, round);
}

// Two launches on two machines, each with all of its ranks on one machine, may have the same variables: a run
// ID of "none", and a port of loopback. A launch over several machines has the address of one of these
// machines.
std::string name_of_torchrun(const Variables& variables, bool is_on_one_machine,
                             const std::function<std::string()>& machine) {
  const std::string name =
      "torchrun" + join_variables(variables, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"});
  if (!is_on_one_machine) return name;
  const std::string here = machine() + "\n" + log_folder_of_launch(variables);
  return name + "-" + to_hex(xxh3_64(std::as_bytes(std::span(here))));
}

// A text that is not a number counts as 0.
std::uint64_t count_in(const Variables& variables, const char* name) {
  const auto count = read_number(variables, name, ~std::uint32_t{0});
  return count ? *count : 0;
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

Result<GroupOptions> read_group(const Variables& variables, const std::function<std::string()>& machine) {
  if (variables("RANK") || variables("WORLD_SIZE")) {
    auto group = read_numbers(variables, {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"});
    if (group) group->name = name_of_torchrun(variables, group->is_on_one_machine, machine);
    return group;
  }
  if (variables("SLURM_PROCID") && variables("SLURM_STEP_ID")) {
    const bool has_own_size = variables("SLURM_STEP_NUM_TASKS").has_value();
    auto group = read_numbers(
        variables,
        {"SLURM_PROCID", has_own_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", "", "SLURM_LOCALID"});
    if (group) {
      group->local_size = tasks_here(variables);
      group->name =
          "slurm" + join_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
      const auto nodes =
          variables(variables("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES");
      if (nodes) group->is_on_one_machine = *nodes == "1";
    }
    return group;
  }
  return GroupOptions();
}

}  // namespace

std::string identify_machine() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  std::array<char, 64> network{};
  static_cast<void>(::readlink("/proc/self/ns/net", network.data(), network.size() - 1));
  return std::string(host.data()) + " " + network.data() + " " + boot_id().value_or("");
}

Result<GroupOptions> read_launcher_variables(const Variables& variables,
                                             const std::function<std::string()>& machine) {
  auto group = read_group(variables, machine);
  if (group) group->launches = read_launches(variables);
  return group;
}

Result<void> check_local_rank(const MemberOptions& member, const Variables& variables) {
  if (member.processes_per_node == 1 || variables(names::env::kLocalRank)) return {};
  return Error(ErrorKind::kInvalid, "the job has processesPerNode " +
                                        std::to_string(member.processes_per_node) + ", but " +
                                        names::env::kLocalRank +
                                        " does not give the number of this process: let the pod's command be "
                                        "`ratoon launch -- TRAINER`, which starts all processes");
}

}  // namespace ratoon::session
