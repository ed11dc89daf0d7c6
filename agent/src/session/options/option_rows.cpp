// Defines the table of all options, with the flag, the environment variable and the meaning of each option.
#include "agent/src/session/options/option_rows.h"

#include "base/contract/names.h"

namespace ratoon {

namespace {

namespace env = names::env;
using session::CountOrAll;
using Rows = std::vector<session::OptionRow>;

// Returns the rows of options for locations of checkpoints, for retention, and for a run's beginning.
Rows rows_of_retention(Options& o) {
  return {
      {&o.save_folder, env::kSaveFolder, "--save-folder",
       "the folder in which each run gets its own folder; required"},
      {&o.run_name, env::kRunName, "--run-name",
       "the name of the run's own folder in the save folder; required"},
      {&o.save_every, env::kSaveEverySteps, "--save-every",
       "the interval between saves: 100st, 0.5ep, 10m, auto; a number alone counts steps"},
      {&o.max_duration, env::kMaxDuration, "--max-duration",
       "the end of the run, counted from its beginning: 90ep, 5000st, 12h; overrides the program's value"},
      {&o.resume_from, env::kResumeFrom, "--resume-from",
       "go back to the checkpoint of this step, once for each pair of values of this flag and --skip; "
       "newer checkpoints are moved to the folder aside/"},
      {&o.skip, env::kSkip, "--skip", "how many samples to skip after the checkpoint of --resume-from"},
      {CountOrAll{&o.keep_last}, env::kKeepLast, "--keep-last",
       "how many committed checkpoints to keep in the run's folder: 2 or more, or all; 0: remove each when "
       "all stores have it"},
      {&o.stores, env::kStores, "--stores",
       "folders and file:// or s3:// URLs to which checkpoints are copied, separated by commas; the run's "
       "name is added"},
      {&o.load_from, env::kLoadFrom, "--load-from",
       "another run's folder, store or manifest: the state with which this run begins if it has no "
       "checkpoint"},
      {&o.load_parts, env::kLoadParts, "--load-parts",
       "the parts of --load-from to load: weights; state: all but the position in the data; all: continue "
       "from its step"},
      {&o.autoresume, env::kAutoresume, "--autoresume",
       "false: refuse to start if the run already has checkpoints; always true if a coordinator starts the "
       "members"},
      {&o.overwrite, env::kOverwrite, "--overwrite",
       "true: begin at step 0 at each start and move existing checkpoints to the folder aside/; a "
       "TrainingJob does so only once"},
      {CountOrAll{&o.keep_last_in_stores}, env::kKeepLastInStores, "--keep-last-in-stores",
       "how many committed checkpoints to keep in each store: at least 2, or all"},
      {&o.keep_every_steps, env::kKeepEverySteps, "--keep-every",
       "also keep checkpoints whose step is a multiple of this number, in the run's folder and in stores; "
       "0: none"},
      {&o.keep_mib, env::kKeepMib, "--keep-mib",
       "the limit in MiB for all checkpoints in the run's folder; the oldest are removed first, the newest "
       "is kept; 0: no limit"},
      {&o.latest_name, env::kLatestName, "--latest-name",
       "the name of a link to this rank's newest checkpoint file, with {run_name}, {epoch}, {batch}, "
       "{rank}, {timestamp}; empty: no link"},
      {&o.final_weights, env::kFinalWeights, "--final-weights",
       "the safetensors file to which a completed run writes its weights, in the run's folder unless the "
       "name has a folder; empty: no file"},
      {&o.deterministic, env::kDeterministic, "--deterministic",
       "true: use fixed threads, CPU instructions and algorithms, so that results have the same bits on "
       "each machine; slower"},
      {&o.seed, env::kSeed, "--seed",
       "the seed of all random number generators (default 0) and of the order of samples (default: the "
       "program's)"},
      {&o.global_batch, env::kGlobalBatch, "--global-batch",
       "samples per step of all processes together (default: the program's value)"},
  };
}

// Returns the rows of options for staging memory, and for failing or hanging saves.
Rows rows_of_saving(Options& o) {
  return {
      {&o.staging_folder, env::kStagingFolder, "--staging-folder",
       "a folder in a memory file system for saves that are not yet on the disk; empty: the process's own "
       "memory"},
      {&o.staging_slots, env::kStagingSlots, "--staging-slots",
       "how many saves may wait for the disk at once; 0: training waits for the disk"},
      {&o.staging_memory_mib, env::kStagingMemoryMib, "--staging-memory-mib",
       "the memory in MiB for a process's saves that are not yet on the disk; 0: its share of half of the "
       "memory that is free at its start"},
      {&o.max_missed_saves, env::kMaxMissedSaves, "--max-missed-saves",
       "how many saves in a row may fail before the process ends with exit code 84"},
      {&o.disk_timeout_seconds, env::kDiskTimeoutSeconds, "--disk-timeout",
       "how many seconds one call to the disk may hang"},
  };
}

// Returns the rows of options for time limits, signals, hang detection and the end of a process.
Rows rows_of_shutdown(Options& o) {
  return {
      {&o.notice.time_limit, env::kTimeLimit, "--time-limit",
       "how long this process, or its launch, may run, such as 4h; before the limit it saves and ends with "
       "exit code 80; empty: no limit"},
      {&o.notice.grace_seconds, env::kGraceSeconds, "--grace-seconds",
       "seconds from SIGTERM to the moment when the process is killed"},
      {&o.notice.signal, env::kNoticeSignal, "--notice-signal",
       "a second signal with the effect of SIGTERM, which is USR1, USR2 or none; if empty, USR1 under Slurm, "
       "else none"},
      {&o.notice.handles_signals, env::kSignals, "--signals",
       "false: Ratoon handles no signals, and Ctrl-C loses all steps after the last save"},
      {&o.hang.after, env::kHangAfter, "--hang-after",
       "the longest time for one phase of a step, such as 5m; auto: computed from earlier steps; off: no "
       "limit"},
      {&o.hang.leave_seconds, env::kLeaveWithin, "--leave-within",
       "how many seconds a process that must end its attempt may make no progress; then it ends with exit "
       "code 81"},
  };
}

// Returns the rows of options without flags. The program that starts this process, such as `ratoon run` or a
// launcher, sets their environment variables.
Rows rows_without_flags(Options& o) {
  return {
      {&o.notice.time_limit_since, env::kTimeLimitSince, nullptr},
      {&o.notice.slurm_job_end_time, env::kSlurmJobEndTime, nullptr},
      {&o.notice.slurm_job_id, env::kSlurmJobId, nullptr},
      {&o.member.coordinator_url, env::kCoordinatorUrl, nullptr},
      {&o.member.coordinator_ca, env::kCoordinatorCa, nullptr},
      {&o.member.coordinator_name, env::kCoordinatorName, nullptr},
      {&o.member.token_file, env::kTokenFile, nullptr},
      {&o.member.job_namespace, env::kJobNamespace, nullptr},
      {&o.member.job_name, env::kJobName, nullptr},
      {&o.member.job_uid, env::kJobUid, nullptr},
      {&o.member.role, env::kRole, nullptr},
      {&o.member.member_uid, env::kMemberUid, nullptr},
      {&o.member.pod_ip, env::kPodIp, nullptr},
      {&o.member.index, env::kIndex, nullptr},
      {&o.member.incarnation, env::kIncarnation, nullptr},
      {&o.member.local_rank, env::kLocalRank, nullptr},
      {&o.member.processes_per_node, env::kProcessesPerNode, nullptr},
      {&o.member.termination_file, env::kTerminationFile, nullptr},
      {&o.member.metrics_port, env::kMetricsPort, nullptr},
      {&o.member.lifeline_fd, env::kLifelineFd, nullptr},
  };
}

}  // namespace

Rows session::option_rows(Options& o) {
  Rows all;
  for (const auto& rows :
       {rows_of_retention(o), rows_of_saving(o), rows_of_shutdown(o), rows_without_flags(o)})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace ratoon
