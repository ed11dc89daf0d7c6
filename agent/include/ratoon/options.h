// Options of a run. Each option is taken from a flag, otherwise from the environment (set by the operator and
// by `ratoon run`), otherwise from the struct that the program passed.
//
//   int main(int argc, char** argv) {
//     return ratoon::train(ratoon::Options::from_environment(argc, argv), train_digits);
//   }
//
// A program with its own flags first removes Ratoon's flags from its command line:
//
//   auto options = ratoon::take_options(argc, argv, {}, {.of_program = {"--seed"}});
//   my_parser.parse(argc, argv);  // sees --seed and no flag of Ratoon; --ratoon-seed is Ratoon's
//   return ratoon::train(std::move(options), train_digits);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ratoon/every.h>
#include <ratoon/result.h>
#include <ratoon/store_options.h>
#include <ratoon/until.h>

namespace ratoon {

// Identifies the job, its coordinator, and the member of the job to which this process belongs. The
// operator or launcher that starts the process fills the fields of MemberOptions; a program does not change
// them.
struct MemberOptions {
  std::string coordinator_url{};  // empty: no coordinator; the run is one process and uses files only
  // The CA certificates that verify the coordinator, in PEM format; empty: the certificates of the operating
  // system.
  std::string coordinator_ca{};
  std::string coordinator_name{};  // the name in that certificate; empty: the URL's host
  std::string token_file{};
  std::string job_namespace{};
  std::string job_name{};
  std::string job_uid{};  // of the current job with that name, in a cluster; empty: not known
  std::string role{};
  std::string member_uid{};
  // The IP address at which other pods reach this pod; empty if all processes are on this machine.
  std::string pod_ip{};
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t processes_per_node = 1;
  std::string termination_file{};               // receives the record of completion; empty: none is written
  std::optional<std::uint32_t> metrics_port{};  // of local rank 0; 0: none; default: 9400 in a pod, else none
  int lifeline_fd = -1;
};

// The identity of a launch, which stays the same when the launcher restarts a process.
struct LaunchName {
  std::string name{};
  // How many times the launcher has restarted the launch. `restarts` has no value if the launcher counts no
  // restarts and gives each launch a new name.
  std::optional<std::uint64_t> restarts{};
};

// The rank of this process and the number of ranks of its launch. The ranks of a launch exchange their
// addresses through files in the run's folder. Environment variables of torchrun, mpirun and srun fill the
// fields of GroupOptions. If Ratoon does not know the launcher, the program fills the fields of GroupOptions,
// and Ratoon then reads no variables of launchers:
//
//   const std::uint32_t size = read_number("MY_SIZE"), rank = read_number("MY_RANK");
//   ratoon::Options options = {.group = {.rank = rank, .size = size, .name = "my-launch-" + launch_id()}};
//   return ratoon::train(ratoon::Options::from_environment(argc, argv, options), train_digits);
struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;  // 1: this process is alone, or in a world that a coordinator forms
  // The unique name of the launch, equal on all of its ranks; 1 to 253 bytes if size is above 1.
  std::string name{};
  // Whether all ranks are on one machine and share its network. If is_on_one_machine is false, each rank
  // listens at the address of its machine.
  bool is_on_one_machine = false;
  std::uint32_t local_rank = 0;  // among the ranks of this machine
  std::uint32_t local_size = 1;
  std::vector<LaunchName> launches{};  // also of a single process; several if launchers start launchers
};

// The signals and time limits that announce the end of the process (docs/train/notice.md). Environment
// variables of the launcher fill slurm_job_end_time, slurm_job_id and time_limit_since.
struct NoticeOptions {
  // --time-limit, RATOON_TIME_LIMIT: "4h". The process saves and exits within this time limit after its
  // start; empty: no limit.
  std::string time_limit{};
  // RATOON_TIME_LIMIT_SINCE: the start of the time limit, in seconds since 1970; empty: the start of the
  // process.
  std::string time_limit_since{};
  std::uint64_t grace_seconds = 30;  // --grace-seconds, RATOON_GRACE_SECONDS; from SIGTERM to the end
  // --notice-signal, RATOON_NOTICE_SIGNAL: "USR1", "USR2" or "none". The process saves and exits when it
  // receives this signal; an empty text means USR1 under Slurm and no signal elsewhere.
  std::string signal{};
  // --signals, RATOON_SIGNALS: if false, Ratoon handles no signals, and Ctrl-C loses all steps after the last
  // save.
  bool handles_signals = true;
  std::string slurm_job_end_time{};
  std::string slurm_job_id{};
};

// The time limits after which a running process counts as hung (docs/train/hangs.md).
struct HangOptions {
  // --hang-after, RATOON_HANG_AFTER: the time limit for one phase of a step, such as "5m". "auto": the limit
  // is computed from earlier steps; "off": no limit.
  std::string after{"auto"};
  // --leave-within, RATOON_LEAVE_WITHIN_SECONDS. A process that must end its training loop, but makes no
  // progress for `leave_seconds`, ends with exit code 81.
  std::uint64_t leave_seconds = 60;
};

inline constexpr std::uint64_t kKeepAllCheckpoints = ~std::uint64_t{0};

// Rules that decide which words of a command line are Ratoon's flags. Each flag has a second name with the
// prefix "ratoon-", such as --ratoon-seed for --seed. A flag with this prefix always belongs to Ratoon and
// overrides the flag without "ratoon-".
struct FlagRules {
  // The names of flags that the program itself reads, such as "--seed". Ratoon ignores the flags in
  // `of_program`, even if they have the same or nearly the same names as Ratoon's flags. Names of flags are
  // compared without regard to dashes, '_' and capitals.
  std::vector<std::string> of_program{};
  bool needs_prefix = false;  // true: Ratoon reads only flags that begin with --ratoon-
};

struct Options {
  std::string save_folder{};  // --save-folder, RATOON_SAVE_FOLDER; required
  std::string run_name{};     // --run-name, RATOON_RUN_NAME; required: the identity of the run
  // --save-every, RATOON_SAVE_EVERY_STEPS: the interval of saves, such as "0.5ep", "10m" or "auto"; "100" is
  // 100 steps.
  Every save_every = Every::steps(100);
  // --max-duration, RATOON_MAX_DURATION: the end of the run, such as "90ep", "5000st" or "12h", counted from
  // the run's beginning; replaces the end that the program set.
  std::optional<Until> max_duration{};
  // --resume-from and --skip: the run goes back to the checkpoint of step `resume_from` and skips the next
  // `skip` samples. A restart with the same two values does not go back a second time. Checkpoints after
  // `resume_from` are moved to a separate folder (docs/train/rollback.md).
  std::optional<std::uint64_t> resume_from{};  // --resume-from, RATOON_RESUME_FROM
  std::uint64_t skip = 0;                      // --skip, RATOON_SKIP; slots of the one tracked Stream
  // --keep-last, RATOON_KEEP_LAST: the number of committed checkpoints to keep in the folder: 2 or more,
  // "all", or 0. With 0, Ratoon removes a checkpoint from the folder when all stores have it.
  std::uint64_t keep_last = 3;
  // A save copies the state into a staging slot in memory, and training continues while the copy is written
  // to the disk. If `staging_folder` is empty, staging slots are memory of the process; otherwise they are
  // files in this folder, which is in a memory file system. Files in a memory file system survive the
  // process, and the next process writes the files to the disk.
  std::string staging_folder{};     // --staging-folder, RATOON_STAGING_FOLDER
  std::uint64_t staging_slots = 2;  // --staging-slots, RATOON_STAGING_SLOTS; 0: saves wait for the disk
  // --staging-memory-mib, RATOON_STAGING_MEMORY_MIB: the memory in MiB for all staging slots of this process;
  // 0: half of the free memory, divided by the number of processes on the machine.
  std::uint64_t staging_memory_mib = 0;
  // --max-missed-saves, RATOON_MAX_MISSED_SAVES: the number of saves in a row that may fail before the run
  // ends with exit code 84.
  std::uint64_t max_missed_saves = 3;
  // --disk-timeout, RATOON_DISK_TIMEOUT_SECONDS: the time for which one call to the disk may hang.
  std::uint64_t disk_timeout_seconds = 300;
  // Ratoon copies checkpoints to stores, such as "s3://bucket/runs" or "file:///mnt/other/runs". In a store,
  // the checkpoints of a run are below the name of the run. A run resumes from the newest checkpoint in its
  // folder and in all stores (docs/train/tiers.md).
  std::vector<std::string> stores{};  // --stores, RATOON_STORES; separated by commas
  StoreOptions store_options{};       // how stores are reached; the program sets them
  // --load-from, RATOON_LOAD_FROM: the folder, store or manifest of another run, with whose state this run
  // begins if it has no checkpoint.
  std::string load_from{};
  // --load-parts, RATOON_LOAD_PARTS: the objects that --load-from loads. With "weights" or "state" (all but
  // the data position), the run begins at step 0; with "all", at the loaded checkpoint's step.
  std::string load_parts{"weights"};
  // --autoresume, RATOON_AUTORESUME: if false, a process that finds checkpoints of the run does not start.
  // --autoresume is for single processes, torchrun and Slurm.
  bool autoresume = true;
  // --overwrite, RATOON_OVERWRITE: if true, each start of the process begins at step 0 and moves existing
  // checkpoints to a separate folder. Nothing is deleted.
  bool overwrite = false;
  // --keep-last-in-stores, RATOON_KEEP_LAST_IN_STORES: the number of checkpoints kept in each store: 2 or
  // more, or "all".
  std::uint64_t keep_last_in_stores = 3;
  // --keep-every, RATOON_KEEP_EVERY_STEPS: checkpoints whose step is a multiple of this number are kept, in
  // the folder and in stores; 0: none.
  std::uint64_t keep_every_steps = 0;
  // --keep-mib, RATOON_KEEP_MIB: the limit in MiB for all checkpoints in the folder. If they exceed the
  // limit, the oldest checkpoints are removed, but never the newest; 0: no limit.
  std::uint64_t keep_mib = 0;
  // --latest-name, RATOON_LATEST_NAME: the name of a link to this rank's newest checkpoint file; empty: no
  // link.
  std::string latest_name{"latest-rank{rank}"};
  // --final-weights, RATOON_FINAL_WEIGHTS: the file to which a completed run writes its weights. If
  // --final-weights names no folder, the file is in the run's folder; an empty name means no file.
  std::string final_weights{"weights.safetensors"};
  // --deterministic, RATOON_DETERMINISTIC: makes results of the computing library reproducible
  // (<ratoon/numerics.h>). Ratoon refuses --deterministic if no computing library is attached.
  bool deterministic = false;
  // --seed, RATOON_SEED: the seed of all random number generators (default 0). If the program calls
  // Session::stream_options(), --seed also seeds the sample order. Without --seed, the program's own seed
  // seeds the sample order.
  std::optional<std::uint64_t> seed{};
  // --global-batch, RATOON_GLOBAL_BATCH: the number of samples of a step over all ranks, if the program calls
  // Session::stream_options(). Without --global-batch, the program's own value is used.
  std::optional<std::uint64_t> global_batch{};
  std::string help{};  // --ratoon-help: the text about all options; train() prints it and returns
  MemberOptions member{};
  GroupOptions group{};
  NoticeOptions notice{};
  HangOptions hang{};

  // The flags of Ratoon that were on the command line, in order and without values, such as {"--save-folder",
  // "--seed"}. The session logs Ratoon's flags at its start, to show whether Ratoon has read a flag that the
  // program also has.
  std::vector<std::string> flags{};

  // Reads the options from the environment only, and no command line.
  [[nodiscard]] static Result<Options> from_environment();
  [[nodiscard]] static Result<Options> from_environment(Options defaults);
  // Reads the options from the environment and from Ratoon's flags, and does not change argv.
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv);
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv, Options defaults,
                                                        const FlagRules& rules = {});
};

// Reads options like from_environment(), and removes Ratoon's flags and their values from argv.
// take_options() removes the flags even if an option is invalid, and train() then prints the error. The word
// "--" and the words after it stay in argv.
[[nodiscard]] Result<Options> take_options(int& argc, char** argv, Options defaults = {},
                                           const FlagRules& rules = {});
// Reads options and removes Ratoon's flags from argv, for a program whose main() has `const char* argv[]`.
[[nodiscard]] inline Result<Options> take_options(int& argc, const char** argv, Options defaults = {},
                                                  const FlagRules& rules = {}) {
  return take_options(argc, const_cast<char**>(argv), std::move(defaults), rules);
}

}  // namespace ratoon
