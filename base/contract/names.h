// Every name that operator and agent share with each other and with their users: labels, environment, routes,
// metrics. Programs of different versions share these names, so we add names and never change one.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratoon::names {

inline constexpr std::string_view kApiGroup = "ratoon.dev";
inline constexpr std::string_view kApiVersion = "ratoon.dev/v1alpha1";
inline constexpr std::string_view kKind = "TrainingJob";

// Each Ratoon flag of a trainer has a second name with kFlagPrefix, such as --ratoon-seed for --seed. A
// trainer's own flags must not begin with --ratoon-.
inline constexpr std::string_view kFlagPrefix = "--ratoon-";

// The audience of the projected service account token with which a member authenticates to the operator.
inline constexpr std::string_view kTokenAudience = "ratoon";

// Labels on every Kubernetes object that belongs to a job.
namespace label {
inline constexpr std::string_view kJobName = "ratoon.dev/job-name";
inline constexpr std::string_view kJobUid = "ratoon.dev/job-uid";
inline constexpr std::string_view kRole = "ratoon.dev/role";
inline constexpr std::string_view kIndex = "ratoon.dev/index";
inline constexpr std::string_view kIncarnation = "ratoon.dev/incarnation";
}  // namespace label

namespace annotation {
// An annotation with the attempt for which a member's pod was made, for people who inspect the pod.
inline constexpr std::string_view kMadeForAttempt = "ratoon.dev/made-for-attempt";
// An annotation with the nodes that the pod's node affinity excludes, joined by commas.
inline constexpr std::string_view kAvoidedNodes = "ratoon.dev/avoided-nodes";
}  // namespace annotation

// Variables in the environment of a member's processes.
namespace env {
inline constexpr const char* kJobNamespace = "RATOON_JOB_NAMESPACE";
inline constexpr const char* kJobName = "RATOON_JOB_NAME";
// The UID of a job on a cluster. A job with the same name that is made later, or in another cluster, has
// another UID.
inline constexpr const char* kJobUid = "RATOON_JOB_UID";
inline constexpr const char* kRole = "RATOON_ROLE";
inline constexpr const char* kIndex = "RATOON_INDEX";
inline constexpr const char* kIncarnation = "RATOON_INCARNATION";
inline constexpr const char* kMemberUid = "RATOON_MEMBER_UID";
// The IP address of the pod itself. Without RATOON_POD_IP trainer processes listen on loopback only.
inline constexpr const char* kPodIp = "RATOON_POD_IP";
inline constexpr const char* kProcessesPerNode = "RATOON_PROCESSES_PER_NODE";
inline constexpr const char* kCoordinatorUrl = "RATOON_COORDINATOR_URL";
// Both variables are for a coordinator over TLS, and are not secret. RATOON_COORDINATOR_CA has the CA that
// signs the coordinator's certificate, as PEM text. RATOON_COORDINATOR_NAME has the name in the coordinator's
// certificate if it differs from the URL's host.
inline constexpr const char* kCoordinatorCa = "RATOON_COORDINATOR_CA";
inline constexpr const char* kCoordinatorName = "RATOON_COORDINATOR_NAME";
inline constexpr const char* kTokenFile = "RATOON_TOKEN_FILE";
inline constexpr const char* kSaveFolder = "RATOON_SAVE_FOLDER";
inline constexpr const char* kRunName = "RATOON_RUN_NAME";
inline constexpr const char* kSaveEverySteps = "RATOON_SAVE_EVERY_STEPS";
inline constexpr const char* kMaxDuration = "RATOON_MAX_DURATION";
inline constexpr const char* kResumeFrom = "RATOON_RESUME_FROM";  // a step to go back to, once
inline constexpr const char* kSkip = "RATOON_SKIP";  // samples that are never taken after going back
inline constexpr const char* kKeepLast = "RATOON_KEEP_LAST";
inline constexpr const char* kStores = "RATOON_STORES";  // URLs, separated by commas
// Settings for all s3:// addresses, with the names that the AWS command line and SDKs also use.
inline constexpr const char* kS3Endpoint = "AWS_ENDPOINT_URL_S3";
inline constexpr const char* kS3Region = "AWS_REGION";
inline constexpr const char* kLoadFrom = "RATOON_LOAD_FROM";
inline constexpr const char* kLoadParts = "RATOON_LOAD_PARTS";
inline constexpr const char* kAutoresume = "RATOON_AUTORESUME";
inline constexpr const char* kOverwrite = "RATOON_OVERWRITE";  // "true": begin anew under an old name
inline constexpr const char* kKeepLastInStores = "RATOON_KEEP_LAST_IN_STORES";
inline constexpr const char* kKeepEverySteps = "RATOON_KEEP_EVERY_STEPS";
inline constexpr const char* kKeepMib = "RATOON_KEEP_MIB";
inline constexpr const char* kLatestName = "RATOON_LATEST_NAME";
inline constexpr const char* kStagingFolder = "RATOON_STAGING_FOLDER";
inline constexpr const char* kStagingSlots = "RATOON_STAGING_SLOTS";
inline constexpr const char* kStagingMemoryMib = "RATOON_STAGING_MEMORY_MIB";
inline constexpr const char* kMaxMissedSaves = "RATOON_MAX_MISSED_SAVES";
inline constexpr const char* kDiskTimeoutSeconds = "RATOON_DISK_TIMEOUT_SECONDS";
inline constexpr const char* kFinalWeights = "RATOON_FINAL_WEIGHTS";
inline constexpr const char* kDeterministic = "RATOON_DETERMINISTIC";
inline constexpr const char* kSeed = "RATOON_SEED";
inline constexpr const char* kGlobalBatch = "RATOON_GLOBAL_BATCH";  // samples of a step, of all ranks
// The name of one run of `ratoon launch`: the same for all processes that this run starts and restarts.
inline constexpr const char* kLaunch = "RATOON_LAUNCH";
// The number of an inherited file descriptor. A read of it returns end-of-file when `ratoon run` has ended.
inline constexpr const char* kLifelineFd = "RATOON_LIFELINE_FD";
// The file to which a container writes its completion record (docs/reference/contract.md).
inline constexpr const char* kTerminationFile = "RATOON_TERMINATION_FILE";
// The port for /metrics of local rank 0; local rank N uses this port plus N. 0: no process serves /metrics.
inline constexpr const char* kMetricsPort = "RATOON_METRICS_PORT";
inline constexpr const char* kTimeLimit = "RATOON_TIME_LIMIT";
// The time at which the run's time limit began to count, in seconds since 1970. With this variable, processes
// that a launch starts later have the same deadline as its first processes. Without RATOON_TIME_LIMIT_SINCE
// the time limit counts from the process's start.
inline constexpr const char* kTimeLimitSince = "RATOON_TIME_LIMIT_SINCE";
inline constexpr const char* kGraceSeconds = "RATOON_GRACE_SECONDS";  // from SIGTERM to the end
inline constexpr const char* kNoticeSignal = "RATOON_NOTICE_SIGNAL";
inline constexpr const char* kSignals = "RATOON_SIGNALS";  // "false": the agent handles none
inline constexpr const char* kHangAfter = "RATOON_HANG_AFTER";
inline constexpr const char* kLeaveWithin = "RATOON_LEAVE_WITHIN_SECONDS";
inline constexpr const char* kSlurmJobEndTime = "SLURM_JOB_END_TIME";
inline constexpr const char* kSlurmJobId = "SLURM_JOB_ID";
inline constexpr const char* kLocalRank = "LOCAL_RANK";
// Environment variables for a trainer without Ratoon's agent library, with the names that PyTorch reads.
inline constexpr const char* kRank = "RANK";
inline constexpr const char* kWorldSize = "WORLD_SIZE";
inline constexpr const char* kMasterAddress = "MASTER_ADDR";
inline constexpr const char* kMasterPort = "MASTER_PORT";
// Before ratoon-launcher sends SIGTERM, it writes into this file the reason why its program must end, and the
// deadline for this end.
inline constexpr const char* kNoticeFile = "RATOON_NOTICE_FILE";
}  // namespace env

// Routes of the coordinator: an agent sends a JSON message by POST and gets a JSON message back. /metrics is
// for GET and has its own ports.
namespace route {
inline constexpr std::string_view kJoin = "/v1/join";
inline constexpr std::string_view kBeat = "/v1/beat";
inline constexpr std::string_view kOrders = "/v1/orders";
inline constexpr std::string_view kCompleted = "/v1/completed";
inline constexpr std::string_view kMetrics = "/metrics";
}  // namespace route

// Kinds of refusals by the coordinator; docs/reference/contract.md says how an agent reacts to each kind.
namespace refusal {
inline constexpr const char* kBadMessage = "bad_message";
inline constexpr const char* kUnauthorized = "unauthorized";
inline constexpr const char* kUnknownJob = "unknown_job";
inline constexpr const char* kNotLeader = "not_leader";
inline constexpr const char* kSuperseded = "superseded";
inline constexpr const char* kFinished = "finished";
}  // namespace refusal

namespace port {
inline constexpr std::uint16_t kCoordinator = 9443;
inline constexpr std::uint16_t kMaster = 29500;  // PyTorch's default
inline constexpr std::uint16_t kOperatorMetrics = 9402;
inline constexpr std::uint16_t kAgentMetrics = 9400;
}  // namespace port

// Prometheus metrics. Each metric is a number of seconds, a number of bytes or a plain count.
namespace metric {
inline constexpr std::string_view kAttempt = "ratoon_attempt";
inline constexpr std::string_view kStep = "ratoon_step";
inline constexpr std::string_view kStepSeconds = "ratoon_step_seconds";
inline constexpr std::string_view kDurableStep = "ratoon_durable_step";
inline constexpr std::string_view kSaveStallSeconds = "ratoon_save_stall_seconds_total";
inline constexpr std::string_view kMissedSaves = "ratoon_missed_saves_total";
inline constexpr std::string_view kStaleSaves = "ratoon_stale_saves_total";
inline constexpr std::string_view kStoreDurableStep = "ratoon_store_durable_step";
inline constexpr std::string_view kMissedCopies = "ratoon_missed_copies_total";
inline constexpr std::string_view kReplayedSteps = "ratoon_replayed_steps_total";
inline constexpr std::string_view kWorldSize = "ratoon_world_size";
inline constexpr std::string_view kProgress = "ratoon_progress_ratio";
inline constexpr std::string_view kSamples = "ratoon_samples";
inline constexpr std::string_view kReplayedSamples = "ratoon_replayed_samples_total";
inline constexpr std::string_view kValue = "ratoon_value";
inline constexpr std::string_view kDurableAge = "ratoon_durable_age_seconds";
inline constexpr std::string_view kStoreDurableAge = "ratoon_store_durable_age_seconds";
inline constexpr std::string_view kRejoins = "ratoon_rejoins_total";
inline constexpr std::string_view kLastRecovery = "ratoon_last_recovery_seconds";
inline constexpr std::string_view kRunLedgerSeconds = "ratoon_run_ledger_seconds";
inline constexpr std::string_view kEpoch = "ratoon_epoch";
inline constexpr std::string_view kRunLosses = "ratoon_run_losses_total";
inline constexpr std::string_view kBuildInfo = "ratoon_build_info";
inline constexpr std::string_view kRestarts = "ratoon_restarts_total";
inline constexpr std::string_view kRecoverySeconds = "ratoon_recovery_seconds";
inline constexpr std::string_view kLedgerSeconds = "ratoon_ledger_seconds_total";
inline constexpr std::string_view kJobPhase = "ratoon_job_phase";
inline constexpr std::string_view kJobAttempt = "ratoon_job_attempt";
inline constexpr std::string_view kJobStep = "ratoon_job_step";
inline constexpr std::string_view kJobDurableStep = "ratoon_job_durable_step";
inline constexpr std::string_view kJobWorldSize = "ratoon_job_world_size";
inline constexpr std::string_view kJobLedgerSeconds = "ratoon_job_ledger_seconds_total";
inline constexpr std::string_view kJobStepsMadeAgain = "ratoon_job_steps_made_again_total";
inline constexpr std::string_view kJobProblem = "ratoon_job_problem";
inline constexpr std::string_view kReconcileSeconds = "ratoon_reconcile_seconds";
inline constexpr std::string_view kNoticeSeconds = "ratoon_notice_to_action_seconds";
inline constexpr std::string_view kRetries = "ratoon_reconcile_retries_total";
// Prometheus metrics about the operator process itself.
inline constexpr std::string_view kApiCalls = "ratoon_api_calls_total";
inline constexpr std::string_view kApiSeconds = "ratoon_api_seconds";
inline constexpr std::string_view kCacheStaleness = "ratoon_cache_staleness_seconds";
inline constexpr std::string_view kReconcileQueueJobs = "ratoon_reconcile_queue_jobs";
inline constexpr std::string_view kReconcileQueueWait = "ratoon_reconcile_queue_wait_seconds";
inline constexpr std::string_view kMessages = "ratoon_messages_total";
inline constexpr std::string_view kLongPolls = "ratoon_long_polls";
inline constexpr std::string_view kLeading = "ratoon_leading";
inline constexpr std::string_view kCoordinatorCertificateExpiry =
    "ratoon_coordinator_certificate_expiry_timestamp_seconds";
// Metrics of a process with the standard names of Prometheus clients.
inline constexpr std::string_view kProcessMemory = "process_resident_memory_bytes";
inline constexpr std::string_view kProcessCpu = "process_cpu_seconds_total";
}  // namespace metric

// Labels of metrics. Ratoon does not name labels `job` and `namespace`, because Prometheus itself sets labels
// with these names.
namespace metric_label {
inline constexpr std::string_view kTrainingNamespace = "training_namespace";
inline constexpr std::string_view kTrainingJob = "training_job";
inline constexpr std::string_view kTrainingRole = "training_role";
inline constexpr std::string_view kIndex = "index";
inline constexpr std::string_view kLocalRank = "local_rank";
inline constexpr std::string_view kStore = "store";
inline constexpr std::string_view kPart = "part";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kCause = "cause";
inline constexpr std::string_view kPhase = "phase";
inline constexpr std::string_view kReason = "reason";
inline constexpr std::string_view kVersion = "version";
inline constexpr std::string_view kContract = "contract";
}  // namespace metric_label

}  // namespace ratoon::names
