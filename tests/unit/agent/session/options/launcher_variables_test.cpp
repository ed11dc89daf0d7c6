#include "agent/src/session/options/launcher_variables.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::session::launcher_variables_test {
namespace {

using testing::HasSubstr;
using Values = std::map<std::string, std::string>;

LookUpVariable variables_of(const Values& values) {
  return [&values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

Result<GroupOptions> read(const Values& values) {
  return read_launcher_variables(variables_of(values));
}

TEST(LocalRank, OfSeveralProcessesEachMustKnowItsOwn) {
  const auto check = [](std::uint32_t processes, const Values& values) {
    MemberOptions member;
    member.processes_per_node = processes;
    return check_local_rank(member, variables_of(values));
  };
  EXPECT_TRUE(check(1, {}));
  EXPECT_TRUE(check(8, {{"LOCAL_RANK", "0"}}));
  const auto refused = check(8, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("processesPerNode 8"));
  EXPECT_THAT(refused.error().message(), HasSubstr("`ratoon launch -- TRAINER`"));
}

const Values kTorchrun = {{"RANK", "5"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"TORCHELASTIC_RUN_ID", "none"},
                          {"MASTER_ADDR", "node-1"},
                          {"MASTER_PORT", "29500"}};
const Values kSlurm = {{"SLURM_PROCID", "3"},
                       {"SLURM_NTASKS", "4"},
                       {"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_NNODES", "2"}};

const Values kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "5"},
                         {"OMPI_COMM_WORLD_SIZE", "8"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                         {"PMIX_RANK", "5"},
                         {"PMIX_NAMESPACE", "prterun-node-1-2085@1"}};
const Values kHydra = {{"PMI_RANK", "5"},
                       {"PMI_SIZE", "8"},
                       {"PMI_FD", "9"},
                       {"MPI_LOCALRANKID", "1"},
                       {"MPI_LOCALNRANKS", "4"}};

Values both(Values values, const Values& more) {
  values.insert(more.begin(), more.end());
  return values;
}

Values with(Values values, const std::string& name, const std::string& value) {
  values[name] = value;
  return values;
}

Values without(Values values, const std::string& name) {
  values.erase(name);
  return values;
}

TEST(LauncherVariables, NobodyStartedIt) {
  const auto group = read({{"LOCAL_RANK", "0"}, {"MASTER_ADDR", "x"}});
  ASSERT_TRUE(group);
  EXPECT_EQ(group->size, 1u);
}

TEST(LauncherVariables, OfTorchrun) {
  const auto group = read(kTorchrun);
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ(group->rank, 5u);
  EXPECT_EQ(group->size, 8u);
  EXPECT_FALSE(group->is_on_one_machine);
  EXPECT_TRUE(read(with(kTorchrun, "LOCAL_WORLD_SIZE", "8"))->is_on_one_machine);
}

// Loopback would reach only the ranks of this machine: others would call themselves.
TEST(LauncherVariables, RanksThatAreNotSaidToShareAMachineMayBeOnSeveral) {
  const auto group = read(without(kTorchrun, "LOCAL_WORLD_SIZE"));
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_FALSE(group->is_on_one_machine);
  EXPECT_FALSE(read(without(kSlurm, "SLURM_NNODES"))->is_on_one_machine);
  EXPECT_TRUE(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}})->is_on_one_machine);
}

TEST(LauncherVariables, OfASlurmStep) {
  const auto group = read(kSlurm);
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ(group->rank, 3u);
  EXPECT_EQ(group->size, 4u);
  EXPECT_FALSE(group->is_on_one_machine);
  EXPECT_TRUE(read(with(kSlurm, "SLURM_STEP_NUM_NODES", "1"))->is_on_one_machine);
  EXPECT_EQ(read(with(kSlurm, "SLURM_STEP_NUM_TASKS", "6"))->size, 6u)
      << "the step may be smaller than the job";
}

TEST(LauncherVariables, TheSeatOnThisMachine) {
  EXPECT_EQ(read(with(kTorchrun, "LOCAL_RANK", "1"))->local_rank, 1u);
  EXPECT_EQ(read(kTorchrun)->local_size, 4u);
  EXPECT_FALSE(read(with(kTorchrun, "LOCAL_RANK", "x")));
  EXPECT_EQ(read(with(kSlurm, "SLURM_LOCALID", "3"))->local_rank, 3u);
  EXPECT_EQ(read(with(kSlurm, "SLURM_LOCALID", "3"))->local_size, 4u) << "at least";
  EXPECT_EQ(read(kSlurm)->local_size, 1u);
  const auto size_on = [](const std::string& node, const std::string& list) {
    return read(with(with(kSlurm, "SLURM_NODEID", node), "SLURM_TASKS_PER_NODE", list))->local_size;
  };
  EXPECT_EQ(size_on("0", "2"), 2u);
  EXPECT_EQ(size_on("1", "2(x2)"), 2u);
  EXPECT_EQ(size_on("2", "8(x2),4"), 4u);
  EXPECT_EQ(size_on("3", "8(x2),4"), 1u) << "a list without this node";
  EXPECT_EQ(size_on("0", "x"), 1u);
  EXPECT_EQ(size_on("9", "4(xy)"), 1u);
  const Values step = with(with(kSlurm, "SLURM_NODEID", "0"), "SLURM_TASKS_PER_NODE", "8");
  EXPECT_EQ(read(with(step, "SLURM_STEP_TASKS_PER_NODE", "2"))->local_size, 2u);
}

TEST(LauncherVariables, ABatchScriptIsNoStep) {
  EXPECT_EQ(read(without(kSlurm, "SLURM_STEP_ID"))->size, 1u);
}

TEST(LauncherVariables, OfMpirun) {
  for (const Values& values : {kOpenMpi, kHydra}) {
    const auto group = read(values);
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(group->rank, 5u);
    EXPECT_EQ(group->size, 8u);
    EXPECT_EQ(group->local_rank, 1u);
    EXPECT_EQ(group->local_size, 4u);
    EXPECT_FALSE(group->is_on_one_machine);
    EXPECT_TRUE(group->launches.empty()) << "mpirun starts no rank again";
  }
  EXPECT_TRUE(read(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "8"))->is_on_one_machine);
  EXPECT_TRUE(read(with(kHydra, "MPI_LOCALNRANKS", "8"))->is_on_one_machine);
  EXPECT_EQ(read(both(kOpenMpi, kHydra))->name, read(kOpenMpi)->name) << "both give one place";
}

TEST(LauncherVariables, TorchrunUnderAnotherLauncherCounts) {
  const Values torchrun = with(kTorchrun, "RANK", "7");
  for (const Values& outer : {kSlurm, kOpenMpi, kHydra}) EXPECT_EQ(read(both(torchrun, outer))->rank, 7u);
}

// mpirun starts its daemons with srun, and the daemons pass the variables of their step on.
TEST(LauncherVariables, MpirunUnderSlurmCounts) {
  for (const Values& values : {kOpenMpi, kHydra}) {
    const auto group = read(both(values, kSlurm));
    ASSERT_TRUE(group) << group.error().message();
    EXPECT_EQ(group->rank, 5u);
    EXPECT_EQ(group->size, 8u);
    EXPECT_EQ(group->name, read(both(values, without(kSlurm, "SLURM_STEP_ID")))->name)
        << "the rank beside mpirun itself is in no step";
  }
}

TEST(LauncherVariables, SrunMayGiveTheVariablesOfMpiToo) {
  const Values pmi2 = both(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMIX_RANK", "3"}});
  ASSERT_TRUE(read(pmi2)) << read(pmi2).error().message();
  EXPECT_EQ(read(pmi2)->name, read(kSlurm)->name);
  EXPECT_EQ(
      read(with(pmi2, "PMI_RANK", "1")).error().message(),
      "two launchers disagree about the rank of this process: SLURM_PROCID 3 of SLURM_NTASKS 4, but "
      "PMI_RANK 1 of PMI_SIZE 4: start all processes with one launcher, and unset the variables of others");
}

TEST(LauncherVariables, NumbersOfTwoLaunchersMustAgree) {
  const Values left_over = {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "29500"}};
  for (const auto& [values, own] :
       {std::pair(kOpenMpi, "OMPI_COMM_WORLD_RANK 5 of OMPI_COMM_WORLD_SIZE 8, but RANK 0 of WORLD_SIZE 1"),
        std::pair(kHydra, "PMI_RANK 5 of PMI_SIZE 8, but RANK 0 of WORLD_SIZE 1")}) {
    const auto refused = read(both(values, left_over));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("two launchers disagree about the rank of this process: " + std::string(own)));
    const auto same = read(both(values, {{"RANK", "5"}, {"WORLD_SIZE", "8"}}));
    ASSERT_TRUE(same) << "as a script exports them";
    EXPECT_EQ(same->name, read(values)->name);
  }
  EXPECT_FALSE(read(both(kOpenMpi, with(kHydra, "PMI_RANK", "4"))));
}

TEST(LauncherVariables, ARankWithoutANumberOfRanksIsRefused) {
  EXPECT_THAT(read({{"PMIX_RANK", "1"}}).error().message(),
              HasSubstr("PMIX_RANK is 1, and no variable gives the number of ranks (OMPI_COMM_WORLD_SIZE)"));
  EXPECT_EQ(read({{"PMIX_RANK", "0"}})->size, 1u) << "a process alone that called MPI_Init()";
}

TEST(LauncherVariables, LaunchesAreToldApart) {
  EXPECT_EQ(read(kTorchrun)->name, read(with(kTorchrun, "RANK", "0"))->name);
  for (const char* name : {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_NE(read(kTorchrun)->name, read(with(kTorchrun, name, "1"))->name) << name;
  EXPECT_EQ(read(kSlurm)->name, read(with(kSlurm, "SLURM_PROCID", "0"))->name);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
    EXPECT_NE(read(kSlurm)->name, read(with(kSlurm, name, "9"))->name) << name;
  EXPECT_EQ(read(kOpenMpi)->name, read(with(kOpenMpi, "OMPI_COMM_WORLD_RANK", "0"))->name);
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"})
    EXPECT_NE(read(kOpenMpi)->name, read(with(kOpenMpi, name, "1"))->name) << name;
  EXPECT_EQ(read(kHydra)->name, read(with(kHydra, "PMI_RANK", "0"))->name);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    EXPECT_NE(read(kHydra)->name, read(with(kHydra, name, "1"))->name) << name;
}

TEST(LauncherVariables, LaunchesOfMpirunOnOneMachineEachAreToldApart) {
  const auto name_at = [](const Values& values, const std::string& machine, const std::string& proxy) {
    IdentityFunctions site = {.machine = [&] { return machine; }};
    site.ancestor_without = [&](const std::string& variable) { return variable + " " + proxy; };
    return read_launcher_variables(variables_of(values), site)->name;
  };
  const Values open_mpi = with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "8");
  const Values hydra = with(kHydra, "MPI_LOCALNRANKS", "8");
  for (const Values& own : {open_mpi, hydra}) {
    EXPECT_NE(name_at(own, "a", "1"), name_at(own, "b", "1"));
    EXPECT_EQ(name_at(own, "a", "1").size(), read(own)->name.size());
  }
  EXPECT_NE(name_at(hydra, "a", "1"), name_at(hydra, "a", "2"));
  EXPECT_EQ(name_at(hydra, "a", "1"), name_at(with(hydra, "PMI_RANK", "0"), "a", "1"));
  for (const Values& over_many : {kOpenMpi, kHydra})
    EXPECT_EQ(name_at(over_many, "a", "1"), name_at(over_many, "b", "2"));
}

// Another name would make this rank wait for a launch that has no other ranks.
TEST(LauncherVariables, AMachineThatCannotBeIdentifiedForNowIsAnErrorThatMayPass) {
  const Error fault(ErrorKind::kUnavailable, "reading /proc/self/ns/net: Input/output error");
  const IdentityFunctions faulty = {.machine = [&] { return fault; }};
  IdentityFunctions without_proxy = {.machine = [] { return std::string("a"); }};
  without_proxy.ancestor_without = [&](const std::string&) { return fault; };
  const Values torchrun = with(with(kTorchrun, "MASTER_ADDR", "127.0.0.1"), "LOCAL_WORLD_SIZE", "8");
  const Values open_mpi = with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "8");
  const Values hydra = with(kHydra, "MPI_LOCALNRANKS", "8");
  for (const auto& [values, site] : {std::pair(torchrun, faulty), std::pair(open_mpi, faulty),
                                     std::pair(hydra, faulty), std::pair(hydra, without_proxy)}) {
    const auto group = read_launcher_variables(variables_of(values), site);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().kind(), ErrorKind::kUnavailable);
    EXPECT_EQ(group.error().message(), fault.message());
  }
  for (const Values& over_machines : {kTorchrun, kOpenMpi, kHydra})
    EXPECT_TRUE(read_launcher_variables(variables_of(over_machines), faulty));
}

// `torchrun` alone gives its launches the run ID "none" and a port of loopback, the same on each machine.
TEST(LauncherVariables, LaunchesOnOneMachineEachAreToldApart) {
  const Values own = with(with(kTorchrun, "MASTER_ADDR", "127.0.0.1"), "LOCAL_WORLD_SIZE", "8");
  const auto name_on = [](const Values& values, const std::string& machine) {
    return read_launcher_variables(variables_of(values), {.machine = [&] { return machine; }})->name;
  };
  EXPECT_EQ(name_on(own, "a"), name_on(with(own, "RANK", "0"), "a"));
  EXPECT_NE(name_on(own, "a"), name_on(own, "b"));
  EXPECT_EQ(name_on(kTorchrun, "a"), name_on(kTorchrun, "b")) << "a launch over several machines";
  EXPECT_EQ(*identify_machine(), *identify_machine());
  EXPECT_GT(identify_machine()->size(), 36u);

  const auto logs = [&](const std::string& file) { return with(own, "TORCHELASTIC_ERROR_FILE", file); };
  const std::string first = name_on(logs("/tmp/torchelastic_x/none_a/attempt_0/3/error.json"), "a");
  EXPECT_EQ(first, name_on(logs("/tmp/torchelastic_x/none_a/attempt_0/0/error.json"), "a"));
  EXPECT_EQ(first, name_on(logs("/tmp/torchelastic_x/none_a/attempt_2/3/error.json"), "a"))
      << "the next round";
  EXPECT_NE(first, name_on(logs("/tmp/torchelastic_x/none_b/attempt_0/3/error.json"), "a"));
  EXPECT_EQ(name_on(own, "a"), name_on(logs("/dev/null/3/error.json"), "a"))
      << "the file of a rank is no name";
}

// The name by which a launcher may start a process again, and the number of restarts.
TEST(LauncherVariables, WhatIsStartedAgainIsOfTheSameLaunch) {
  const auto launches = [](const Values& values) {
    const auto group = read(values);
    std::string text;
    for (const LaunchName& one : group->launches)
      text += one.name + (one.restarts ? " " + std::to_string(*one.restarts) : "") + ";";
    return text;
  };
  EXPECT_EQ(launches({}), "");
  EXPECT_EQ(launches({{"RATOON_LAUNCH", "0f"}}), "ratoon-0f;") << "a process alone";
  EXPECT_EQ(launches(kTorchrun), "torchrun-none 0;");
  EXPECT_EQ(launches(with(kTorchrun, "MASTER_PORT", "29501")), "torchrun-none 0;")
      << "each round may have another";
  EXPECT_EQ(launches(with(kTorchrun, "TORCHELASTIC_RESTART_COUNT", "2")), "torchrun-none 2;");
  EXPECT_EQ(launches(with(kTorchrun, "TORCHELASTIC_RESTART_COUNT", "x")), "torchrun-none 0;");
  EXPECT_EQ(launches(without(kTorchrun, "TORCHELASTIC_RUN_ID")), "") << "no variable names it";
  EXPECT_EQ(launches(with(kSlurm, "SLURM_RESTART_COUNT", "1")), "slurm-77-0 1;");
  EXPECT_EQ(launches({{"SLURM_JOB_ID", "77"}, {"RATOON_LAUNCH", "0f"}}), "ratoon-0f;slurm-77- 0;");
}

TEST(LauncherVariables, ContradictionsAreNamed) {
  for (const auto& [values, part] :
       {std::pair(without(kTorchrun, "RANK"), "RANK is missing"),
        std::pair(without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE is missing"),
        std::pair(with(kTorchrun, "RANK", "8"), "RANK is 8 and WORLD_SIZE is 8"),
        std::pair(with(kTorchrun, "RANK", "-1"), "found '-1'"),
        std::pair(with(kTorchrun, "WORLD_SIZE", "0"), "WORLD_SIZE is 0"),
        std::pair(with(kTorchrun, "WORLD_SIZE", "70000"), "up to 65536"),
        std::pair(with(kTorchrun, "LOCAL_WORLD_SIZE", "x"), "LOCAL_WORLD_SIZE"),
        std::pair(with(kTorchrun, "LOCAL_RANK", "4"), "LOCAL_RANK is 4 and LOCAL_WORLD_SIZE is 4"),
        std::pair(with(kTorchrun, "LOCAL_WORLD_SIZE", "9"), "LOCAL_WORLD_SIZE is 9 and WORLD_SIZE is 8"),
        std::pair(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_SIZE is missing"),
        std::pair(without(kOpenMpi, "OMPI_COMM_WORLD_RANK"), "OMPI_COMM_WORLD_RANK is missing"),
        std::pair(with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_RANK", "4"),
                  "OMPI_COMM_WORLD_LOCAL_RANK is 4 and OMPI_COMM_WORLD_LOCAL_SIZE "
                  "is 4"),
        std::pair(without(kHydra, "PMI_SIZE"), "PMI_SIZE is missing"),
        std::pair(without(kHydra, "PMI_RANK"), "PMI_RANK is missing"),
        std::pair(with(kHydra, "PMI_RANK", "8"), "PMI_RANK is 8 and PMI_SIZE is 8"),
        std::pair(without(kSlurm, "SLURM_NTASKS"), "SLURM_NTASKS is missing"),
        std::pair(with(kSlurm, "SLURM_PROCID", "4"), "SLURM_PROCID is 4")}) {
    const auto group = read(values);
    ASSERT_FALSE(group) << part;
    EXPECT_THAT(group.error().message(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace ratoon::session::launcher_variables_test
