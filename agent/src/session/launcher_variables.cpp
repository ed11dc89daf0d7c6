#include "agent/src/session/launcher_variables.h"

#include <charconv>
#include <cstdint>

#include "base/contract/names.h"

namespace ratoon::session {
namespace {

constexpr std::uint32_t kWorldMax = 65'536;

struct Names {
  const char* rank;
  const char* size;
  const char* size_here;  // processes on this machine
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
  group.is_on_one_machine = *size == 1;  // else it is not known: loopback would reach this machine alone
  if (variables(names.size_here)) {
    const auto here = read_number(variables, names.size_here, kWorldMax);
    if (!here) return here.error();
    group.is_on_one_machine = *here == *size;
  }
  return group;
}

std::string join(const Variables& variables, std::initializer_list<const char*> names) {
  std::string joined;
  for (const char* name : names) joined += "-" + variables(name).value_or("");
  return joined;
}

// What is no number was not counted.
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
    launches.push_back({.name = "slurm" + join(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID"}),
                        .restarts = count_in(variables, "SLURM_RESTART_COUNT")});
  }
  return launches;
}

Result<GroupOptions> read_group(const Variables& variables) {
  if (variables("RANK") || variables("WORLD_SIZE")) {
    auto group = read_numbers(variables, {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"});
    if (group)
      group->name = "torchrun" + join(variables, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"});
    return group;
  }
  if (variables("SLURM_PROCID") && variables("SLURM_STEP_ID")) {
    const bool has_own_size = variables("SLURM_STEP_NUM_TASKS").has_value();
    auto group =
        read_numbers(variables, {"SLURM_PROCID", has_own_size ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS", ""});
    if (group) {
      group->name = "slurm" + join(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
      const auto nodes =
          variables(variables("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES");
      if (nodes) group->is_on_one_machine = *nodes == "1";
    }
    return group;
  }
  return GroupOptions();
}

}  // namespace

Result<GroupOptions> read_launcher_variables(const Variables& variables) {
  auto group = read_group(variables);
  if (group) group->launches = read_launches(variables);
  return group;
}

Result<void> check_local_rank(const MemberOptions& member, const Variables& variables) {
  if (member.processes_per_node == 1 || variables(names::env::kLocalRank)) return {};
  return Error(
      ErrorKind::kInvalid,
      "the job has processesPerNode " + std::to_string(member.processes_per_node) + ", and " +
          names::env::kLocalRank +
          " does not say which of them this is: let the pod's command be `ratoon launch -- TRAINER`, "
          "which starts them all");
}

}  // namespace ratoon::session
