// Names and codes that other programs, scripts, dashboards and people rely on. A line here changes only on
// purpose: names are added, never changed.
#include "base/contract/names.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/contract/exit_code.h"
#include "base/contract/messages.h"

namespace ratoon::names_test {
namespace {

using Frozen = std::pair<std::string_view, std::string_view>;

void expect_frozen(std::initializer_list<Frozen> names) {
  for (const auto& [name, frozen] : names) EXPECT_EQ(name, frozen);
}

TEST(Names, OfTheApiAreFrozen) {
  expect_frozen({{names::kApiGroup, "ratoon.dev"},
                 {names::kApiVersion, "ratoon.dev/v1alpha1"},
                 {names::kKind, "TrainingJob"},
                 {names::kFlagPrefix, "--ratoon-"},
                 {names::kTokenAudience, "ratoon"},
                 {names::label::kJobName, "ratoon.dev/job-name"},
                 {names::label::kJobUid, "ratoon.dev/job-uid"},
                 {names::label::kRole, "ratoon.dev/role"},
                 {names::label::kIndex, "ratoon.dev/index"},
                 {names::label::kIncarnation, "ratoon.dev/incarnation"},
                 {names::annotation::kMadeForAttempt, "ratoon.dev/made-for-attempt"}});
}

TEST(Names, OfTheEnvironmentAreFrozen) {
  expect_frozen({{names::env::kJobNamespace, "RATOON_JOB_NAMESPACE"},
                 {names::env::kJobName, "RATOON_JOB_NAME"},
                 {names::env::kJobUid, "RATOON_JOB_UID"},
                 {names::env::kRole, "RATOON_ROLE"},
                 {names::env::kIndex, "RATOON_INDEX"},
                 {names::env::kIncarnation, "RATOON_INCARNATION"},
                 {names::env::kMemberUid, "RATOON_MEMBER_UID"},
                 {names::env::kPodIp, "RATOON_POD_IP"},
                 {names::env::kProcessesPerNode, "RATOON_PROCESSES_PER_NODE"},
                 {names::env::kCoordinatorUrl, "RATOON_COORDINATOR_URL"},
                 {names::env::kCoordinatorCa, "RATOON_COORDINATOR_CA"},
                 {names::env::kCoordinatorName, "RATOON_COORDINATOR_NAME"},
                 {names::env::kTokenFile, "RATOON_TOKEN_FILE"},
                 {names::env::kSaveFolder, "RATOON_SAVE_FOLDER"},
                 {names::env::kRunName, "RATOON_RUN_NAME"},
                 {names::env::kSaveEverySteps, "RATOON_SAVE_EVERY_STEPS"},
                 {names::env::kMaxDuration, "RATOON_MAX_DURATION"},
                 {names::env::kResumeFrom, "RATOON_RESUME_FROM"},
                 {names::env::kSkip, "RATOON_SKIP"},
                 {names::env::kKeepLast, "RATOON_KEEP_LAST"},
                 {names::env::kStores, "RATOON_STORES"},
                 {names::env::kLoadFrom, "RATOON_LOAD_FROM"},
                 {names::env::kLoadParts, "RATOON_LOAD_PARTS"},
                 {names::env::kAutoresume, "RATOON_AUTORESUME"},
                 {names::env::kOverwrite, "RATOON_OVERWRITE"},
                 {names::env::kKeepLastInStores, "RATOON_KEEP_LAST_IN_STORES"},
                 {names::env::kKeepEverySteps, "RATOON_KEEP_EVERY_STEPS"},
                 {names::env::kKeepMib, "RATOON_KEEP_MIB"},
                 {names::env::kLatestName, "RATOON_LATEST_NAME"},
                 {names::env::kStagingFolder, "RATOON_STAGING_FOLDER"},
                 {names::env::kStagingSlots, "RATOON_STAGING_SLOTS"},
                 {names::env::kHangAfter, "RATOON_HANG_AFTER"},
                 {names::env::kLeaveWithin, "RATOON_LEAVE_WITHIN_SECONDS"},
                 {names::env::kStagingMemoryMib, "RATOON_STAGING_MEMORY_MIB"},
                 {names::env::kMaxMissedSaves, "RATOON_MAX_MISSED_SAVES"},
                 {names::env::kDiskTimeoutSeconds, "RATOON_DISK_TIMEOUT_SECONDS"},
                 {names::env::kLaunch, "RATOON_LAUNCH"},
                 {names::env::kTimeLimitSince, "RATOON_TIME_LIMIT_SINCE"},
                 {names::env::kLifelineFd, "RATOON_LIFELINE_FD"},
                 {names::env::kTerminationFile, "RATOON_TERMINATION_FILE"},
                 {names::env::kMetricsPort, "RATOON_METRICS_PORT"},
                 {names::env::kDeterministic, "RATOON_DETERMINISTIC"},
                 {names::env::kSeed, "RATOON_SEED"},
                 {names::env::kLocalRank, "LOCAL_RANK"},
                 {names::env::kRank, "RANK"},
                 {names::env::kWorldSize, "WORLD_SIZE"},
                 {names::env::kMasterAddress, "MASTER_ADDR"},
                 {names::env::kMasterPort, "MASTER_PORT"}});
}

TEST(Names, OfRoutesAndPortsAreFrozen) {
  expect_frozen({{names::route::kJoin, "/v1/join"},
                 {names::route::kBeat, "/v1/beat"},
                 {names::route::kOrders, "/v1/orders"},
                 {names::route::kCompleted, "/v1/completed"},
                 {names::route::kMetrics, "/metrics"}});
  EXPECT_EQ(names::port::kCoordinator, 9443);
  EXPECT_EQ(names::port::kOperatorMetrics, 9402);
  EXPECT_EQ(names::port::kAgentMetrics, 9400);
}

TEST(Names, OfMetricsAreFrozen) {
  expect_frozen({{names::metric::kAttempt, "ratoon_attempt"},
                 {names::metric::kStep, "ratoon_step"},
                 {names::metric::kStepSeconds, "ratoon_step_seconds"},
                 {names::metric::kDurableStep, "ratoon_durable_step"},
                 {names::metric::kSaveStallSeconds, "ratoon_save_stall_seconds_total"},
                 {names::metric::kMissedSaves, "ratoon_missed_saves_total"},
                 {names::metric::kStaleSaves, "ratoon_stale_saves_total"},
                 {names::metric::kStoreDurableStep, "ratoon_store_durable_step"},
                 {names::metric::kMissedCopies, "ratoon_missed_copies_total"},
                 {names::metric::kReplayedSteps, "ratoon_replayed_steps_total"},
                 {names::metric::kWorldSize, "ratoon_world_size"},
                 {names::metric::kProgress, "ratoon_progress_ratio"},
                 {names::metric::kSamples, "ratoon_samples"},
                 {names::metric::kReplayedSamples, "ratoon_replayed_samples_total"},
                 {names::metric::kValue, "ratoon_value"},
                 {names::metric::kDurableAge, "ratoon_durable_age_seconds"},
                 {names::metric::kStoreDurableAge, "ratoon_store_durable_age_seconds"},
                 {names::metric::kRejoins, "ratoon_rejoins_total"},
                 {names::metric::kLastRecovery, "ratoon_last_recovery_seconds"},
                 {names::metric::kRunLedgerSeconds, "ratoon_run_ledger_seconds"},
                 {names::metric::kEpoch, "ratoon_epoch"},
                 {names::metric::kRunLosses, "ratoon_run_losses_total"},
                 {names::metric::kBuildInfo, "ratoon_build_info"},
                 {names::metric::kRestarts, "ratoon_restarts_total"},
                 {names::metric::kRecoverySeconds, "ratoon_recovery_seconds"},
                 {names::metric::kLedgerSeconds, "ratoon_ledger_seconds_total"},
                 {names::metric::kJobStepsMadeAgain, "ratoon_job_steps_made_again_total"},
                 {names::metric::kJobProblem, "ratoon_job_problem"},
                 {names::metric::kJobPhase, "ratoon_job_phase"},
                 {names::metric::kReconcileSeconds, "ratoon_reconcile_seconds"},
                 {names::metric::kNoticeSeconds, "ratoon_notice_to_action_seconds"},
                 {names::metric::kRetries, "ratoon_reconcile_retries_total"}});
  expect_frozen({{names::metric_label::kTrainingNamespace, "training_namespace"},
                 {names::metric_label::kTrainingJob, "training_job"},
                 {names::metric_label::kTrainingRole, "training_role"},
                 {names::metric_label::kIndex, "index"},
                 {names::metric_label::kLocalRank, "local_rank"},
                 {names::metric_label::kStore, "store"},
                 {names::metric_label::kPart, "part"},
                 {names::metric_label::kName, "name"},
                 {names::metric_label::kCause, "cause"},
                 {names::metric_label::kPhase, "phase"},
                 {names::metric_label::kVersion, "version"},
                 {names::metric_label::kContract, "contract"},
                 {names::metric_label::kReason, "reason"}});
}

TEST(ExitCodes, AreFrozen) {
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kPreempted), 80);
  EXPECT_EQ(static_cast<int>(ExitCode::kStartAgain), 81);
  EXPECT_EQ(static_cast<int>(ExitCode::kConfiguration), 82);
  EXPECT_EQ(static_cast<int>(ExitCode::kCheckpointsBad), 83);
  EXPECT_EQ(static_cast<int>(ExitCode::kStorage), 84);
  EXPECT_EQ(static_cast<int>(ExitCode::kInterruptedByUser), 130);
}

TEST(MemberName, IsMadeOfJobRoleIndexAndIncarnation) {
  EXPECT_EQ(member_name({.name_space = "team-a", .name = "digits"}, "worker", 12, 3), "digits-worker-12-i3");
}

// A pod's name is a DNS label of at most 63 bytes; TrainingJob limits its names so that this holds.
TEST(MemberName, FitsIntoAPodNameForTheLongestNames) {
  const JobKey job{.name_space = "default", .name = std::string(40, 'j')};
  EXPECT_LE(member_name(job, std::string(12, 'r'), 4095, 999).size(), 63u);
}

}  // namespace
}  // namespace ratoon::names_test
