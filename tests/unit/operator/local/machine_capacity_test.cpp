#include "operator/local/machine_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"

namespace ratoon::local::machine_capacity_test {
namespace {

api::TrainingJob job_of(std::uint32_t members, std::uint32_t processes = 1) {
  api::TrainingJob job = test::new_job(members);
  job.spec.processes_per_node = processes;
  return job;
}

std::string complaint(const Result<void>& fits) {
  return fits ? "" : fits.error().message();
}

TEST(MachineCapacity, ProcessesNeedOpenFiles) {
  EXPECT_TRUE(check_capacity(job_of(4, 2), {.open_files = 96}));
  EXPECT_EQ(complaint(check_capacity(job_of(4, 2), {.open_files = 95})),
            "digits has 8 processes, so `ratoon run` opens 96 files, but it may open only 95: ask for fewer "
            "members, or raise the limit with `ulimit -n`");
  EXPECT_TRUE(check_capacity(job_of(4, 2), {.open_files = 96, .threads = 80}));
  EXPECT_THAT(complaint(check_capacity(job_of(4, 2), {.open_files = 96, .threads = 79})),
              testing::HasSubstr("8 processes with 10 threads each, but this system allows only 79"));
  EXPECT_FALSE(check_capacity(job_of(4096, 64), {.open_files = 1'000'000})) << "no number runs over";
}

// The connections that other users of the machine can open must fit beside the run.
TEST(MachineCapacity, UnauthenticatedConnectionsGetNoMoreFilesThanWereCountedForThem) {
  for (const std::uint32_t members : {1U, 4U, 100U}) {
    const std::size_t strangers = unauthenticated_connections_max(job_of(members, 2).spec);
    EXPECT_GE(strangers, 2 * members) << "all members may call at once";
    EXPECT_FALSE(check_capacity(job_of(members, 2), {.open_files = strangers + 2 * 2 * members + 40 - 1}));
  }
}

TEST(MachineCapacity, EveryRoleCounts) {
  api::TrainingJob job = job_of(2);
  job.spec.roles.push_back({.name = "eval", .replicas = 3, .command = {"eval"}, .environment = {}});
  EXPECT_TRUE(check_capacity(job, {.open_files = 84}));
  EXPECT_FALSE(check_capacity(job, {.open_files = 83}));
  EXPECT_TRUE(check_capacity(job, {.open_files = 84, .nodes_max = 5}));
  EXPECT_FALSE(check_capacity(job, {.open_files = 84, .nodes_max = 4}));
}

TEST(MachineCapacity, FilesAreForAllPlacesAndNodesForTheSmallestWorld) {
  api::TrainingJob job = job_of(2);
  job.spec.elastic_policy = api::ElasticPolicy{.members_min = 2, .members_max = 5};
  EXPECT_TRUE(check_capacity(job, {.open_files = 84, .nodes_max = 2}));
  EXPECT_FALSE(check_capacity(job, {.open_files = 83}));
}

TEST(MachineCapacity, ATraceHasToHaveNodesForTheSmallestWorld) {
  api::TrainingJob job = job_of(3);
  EXPECT_EQ(
      complaint(check_capacity(job, {.open_files = 1000, .nodes_max = 2})),
      "the trace never has more than 2 nodes at once, but the smallest world of digits takes 3: ask for "
      "fewer members, or set elasticPolicy.minReplicas");
  job.spec.elastic_policy = api::ElasticPolicy{.members_min = 2};
  EXPECT_TRUE(check_capacity(job, {.open_files = 1000, .nodes_max = 2}));
}

TEST(MachineCapacity, NodesOfATraceAreCountedAtTheirHighest) {
  EXPECT_EQ(peak_node_count({}), 0u);
  EXPECT_EQ(peak_node_count(*parse_trace("0,add,a\n1,remove,a\n2,add,b\n3,add,c\n4,remove,b\n5,add,d")), 2u);
}

}  // namespace
}  // namespace ratoon::local::machine_capacity_test
