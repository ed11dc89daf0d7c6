#include "agent/src/session/options/launcher_variables.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/contract/limits.h"
#include "base/contract/names.h"

namespace ratoon::session {
namespace {

using contract::kWorldSizeMax;

struct LauncherVariableNames {
  const char* rank;
  const char* size;
  const char* size_here;  // processes on this machine
  const char* rank_here;
};

Error contradiction_error(const std::string& what) {
  return Error(ErrorKind::kInvalid,
               what + ": start all processes with one launcher, and unset the variables of others");
}

Error above_limit_error(const char* name, std::uint32_t number, const char* of, std::uint32_t limit) {
  return contradiction_error(std::string(name) + " is " + std::to_string(number) + " and " + of + " is " +
                             std::to_string(limit));
}

Result<std::uint32_t> read_number(const LookUpVariable& variables, const char* name, std::uint32_t max) {
  const auto text = variables(name);
  if (!text) return contradiction_error(std::string(name) + " is missing");
  std::uint32_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data(), end, number);
  if (code != std::errc() || stop != end || number > max) {
    return contradiction_error(std::string(name) + " must be a whole number up to " + std::to_string(max) +
                               ", found '" + *text + "'");
  }
  return number;
}

Result<GroupOptions> read_group_numbers(const LookUpVariable& variables, const LauncherVariableNames& names) {
  const auto size = read_number(variables, names.size, kWorldSizeMax);
  if (!size) return size.error();
  const auto rank = read_number(variables, names.rank, kWorldSizeMax);
  if (!rank) return rank.error();
  if (*rank >= *size) return above_limit_error(names.rank, *rank, names.size, *size);
  GroupOptions group;
  group.rank = *rank;
  group.size = *size;
  group.is_on_one_machine = *size == 1;  // otherwise unknown: loopback would reach this machine alone
  if (variables(names.rank_here)) {
    const auto here = read_number(variables, names.rank_here, kWorldSizeMax);
    if (!here) return here.error();
    group.local_rank = *here;
    group.local_size = *here + 1;  // or more
  }
  if (variables(names.size_here)) {
    const auto here = read_number(variables, names.size_here, kWorldSizeMax);
    if (!here) return here.error();
    group.is_on_one_machine = *here == *size;
    group.local_size = *here;
  }
  if (group.local_rank >= group.local_size)
    return above_limit_error(names.rank_here, group.local_rank, names.size_here, group.local_size);
  if (group.local_size > *size)
    return above_limit_error(names.size_here, group.local_size, names.size, *size);
  return group;
}

// Returns the number of tasks on one node from Slurm's list. "8(x2),4" means two nodes with 8 tasks each and
// one node with 4.
std::optional<std::uint32_t> count_tasks_of_node(std::string_view list, std::uint32_t node) {
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

std::uint32_t tasks_on_this_node(const LookUpVariable& variables) {
  const auto list = variables(variables("SLURM_STEP_TASKS_PER_NODE") ? "SLURM_STEP_TASKS_PER_NODE"
                                                                     : "SLURM_TASKS_PER_NODE");
  const auto node = read_number(variables, "SLURM_NODEID", kWorldSizeMax);
  return list && node ? count_tasks_of_node(*list, *node).value_or(1) : 1;
}

// Launchers give each process its rank and the number of ranks in these environment variables.
constexpr LauncherVariableNames kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"};
constexpr LauncherVariableNames kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                            "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr LauncherVariableNames kHydra = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"};

bool has_any_variable(const LookUpVariable& variables, const LauncherVariableNames& names) {
  return variables(names.rank) || variables(names.size);
}

bool is_slurm_step(const LookUpVariable& variables) {
  return variables("SLURM_PROCID") && variables("SLURM_STEP_ID");
}

// PMI_RANK alone does not prove that the launcher is Hydra, because srun --mpi=pmi2 also sets PMI_RANK.
bool is_from_hydra(const LookUpVariable& variables) {
  const bool is_from_srun = is_slurm_step(variables) && !variables(kHydra.rank_here);
  return has_any_variable(variables, kHydra) && !is_from_srun;
}

// If the variables of two launchers are set, both must give this process the same rank and number of ranks.
Result<void> check_launchers_agree(const LookUpVariable& variables, const GroupOptions& group,
                                   const LauncherVariableNames& names, const LauncherVariableNames& others) {
  if (!has_any_variable(variables, others)) return {};
  const auto other = read_group_numbers(variables, others);
  if (!other) return other.error();
  if (other->rank == group.rank && other->size == group.size) return {};
  const auto place = [](const LauncherVariableNames& from, const GroupOptions& numbers) {
    return std::string(from.rank) + " " + std::to_string(numbers.rank) + " of " + from.size + " " +
           std::to_string(numbers.size);
  };
  return contradiction_error("two launchers disagree about the rank of this process: " + place(names, group) +
                             ", but " + place(others, *other));
}

Result<GroupOptions> read_torchrun(const LookUpVariable& variables,
                                   const IdentityFunctions& identity_functions) {
  auto group = read_group_numbers(variables, kTorchrun);
  if (!group) return group;
  auto name = torchrun_launch_name(variables, group->is_on_one_machine, identity_functions);
  if (!name) return name.error();
  group->name = *std::move(name);
  return group;
}

Result<GroupOptions> read_mpirun(const LookUpVariable& variables,
                                 const IdentityFunctions& identity_functions) {
  const bool is_open_mpi = has_any_variable(variables, kOpenMpi);
  const LauncherVariableNames& names = is_open_mpi ? kOpenMpi : kHydra;
  auto group = read_group_numbers(variables, names);
  if (!group) return group;
  if (auto agree = check_launchers_agree(variables, *group, names, kTorchrun); !agree) return agree.error();
  if (is_open_mpi) {
    if (auto agree = check_launchers_agree(variables, *group, names, kHydra); !agree) return agree.error();
  }
  auto name = (is_open_mpi ? open_mpi_launch_name : hydra_launch_name)(variables, group->is_on_one_machine,
                                                                       identity_functions);
  if (!name) return name.error();
  group->name = *std::move(name);
  return group;
}

Result<GroupOptions> read_slurm_step(const LookUpVariable& variables) {
  const char* const size = variables("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const LauncherVariableNames names = {"SLURM_PROCID", size, "", "SLURM_LOCALID"};
  auto group = read_group_numbers(variables, names);
  if (!group) return group;
  if (auto agree = check_launchers_agree(variables, *group, names, kHydra); !agree) return agree.error();
  group->local_size = std::min(std::max(tasks_on_this_node(variables), group->local_rank + 1), group->size);
  group->name = slurm_step_launch_name(variables);
  const auto nodes = variables(variables("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES");
  if (nodes) group->is_on_one_machine = *nodes == "1";
  return group;
}

Result<GroupOptions> read_group(const LookUpVariable& variables,
                                const IdentityFunctions& identity_functions) {
  const bool is_from_mpirun = has_any_variable(variables, kOpenMpi) || is_from_hydra(variables);
  // torchrun is checked first, because mpirun or srun may start torchrun on each machine. RANK and WORLD_SIZE
  // alone do not prove that torchrun started this process, because a script or a shell may also have set
  // them.
  const bool is_from_torchrun = variables("TORCHELASTIC_RUN_ID").has_value() || !is_from_mpirun;
  if (has_any_variable(variables, kTorchrun) && is_from_torchrun)
    return read_torchrun(variables, identity_functions);
  if (is_from_mpirun)
    return read_mpirun(variables, identity_functions);  // its daemons may be ranks of a Slurm step
  if (is_slurm_step(variables)) return read_slurm_step(variables);
  // PMIX_RANK 0 does not prove that there is a launcher, because MPI_Init() sets it in any process.
  if (const auto rank = variables("PMIX_RANK"); rank && *rank != "0") {
    return contradiction_error("PMIX_RANK is " + *rank +
                               ", and no variable gives the number of ranks (OMPI_COMM_WORLD_SIZE)");
  }
  return GroupOptions();
}

}  // namespace

Result<GroupOptions> read_launcher_variables(const LookUpVariable& variables,
                                             const IdentityFunctions& identity_functions) {
  auto group = read_group(variables, identity_functions);
  if (group) group->launches = read_launches(variables);
  return group;
}

Result<void> check_local_rank(const MemberOptions& member, const LookUpVariable& variables) {
  if (member.processes_per_node == 1 || variables(names::env::kLocalRank)) return {};
  return Error(ErrorKind::kInvalid, "the job has processesPerNode " +
                                        std::to_string(member.processes_per_node) + ", but " +
                                        names::env::kLocalRank +
                                        " does not give the number of this process: let the pod's command be "
                                        "`ratoon launch -- TRAINER`, which starts all processes");
}

}  // namespace ratoon::session
