// Options of a run. Each option is taken from a flag, otherwise from the environment (set by the operator and
// by `ratoon run`), otherwise from the struct that the program passed.
//
//   int main(int argc, char** argv) {
//     return ratoon::train(ratoon::Options::from_environment(argc, argv), train_digits);
//   }
//
// A program with a parser of its own takes Ratoon's flags out of its command line first:
//
//   auto options = ratoon::take_options(argc, argv, {}, {.of_program = {"--seed"}});
//   my_parser.parse(argc, argv);  // sees --seed and no flag of Ratoon; --ratoon-seed is Ratoon's
//   return ratoon::train(std::move(options), train_digits);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/every.h>
#include <ratoon/result.h>
#include <ratoon/store_options.h>
#include <ratoon/until.h>

namespace ratoon {

// The job, member and coordinator to which this process belongs. The operator or launcher that starts the
// process fills these fields; a program does not change them.
struct MemberOptions {
  std::string coordinator_url{};  // empty: no coordinator; the run is one process and uses files only
  // PEM of the CA certificates that verify the coordinator; empty: the system's certificates.
  std::string coordinator_ca{};
  std::string coordinator_name{};  // the name in that certificate; empty: the URL's host
  std::string token_file{};
  std::string job_namespace{};
  std::string job_name{};
  std::string job_uid{};  // of the current job with that name, in a cluster; empty: not known
  std::string role{};
  std::string member_uid{};
  // The address at which other pods reach this pod; empty if all processes are on this machine.
  std::string pod_ip{};
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t processes_per_node = 1;
  std::string termination_file{};               // receives the record of completion; empty: none is written
  std::optional<std::uint32_t> metrics_port{};  // of local rank 0; 0: none; default: 9400 in a pod, else none
  int lifeline_fd = -1;
};

// An identity that stays the same when a launcher restarts a process of a launch.
struct LaunchName {
  std::string name{};
  // The launch's number of restarts. A launcher that does not count restarts gives each launch a new name.
  std::optional<std::uint64_t> restarts{};
};

// The place of this process among the ranks of one launch. The ranks find each other through the run's
// folder. Environment variables of torchrun, mpirun and srun fill the fields of GroupOptions. For another
// launcher the program fills the fields; Ratoon then reads no launcher's variables:
//
//   const std::uint32_t size = read_number("MY_SIZE"), rank = read_number("MY_RANK");
//   ratoon::Options options = {.group = {.rank = rank, .size = size, .name = "my-launch-" + launch_id()}};
//   return ratoon::train(ratoon::Options::from_environment(argc, argv, options), train_digits);
struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;  // 1: this process is alone, or in a world that a coordinator forms
  // The same name for all ranks of one launch, and for no other launch; 1 to 253 bytes if size is above 1.
  std::string name{};
  // All ranks are on one machine and share its network. false: each rank listens at its machine's address.
  bool is_on_one_machine = false;
  std::uint32_t local_rank = 0;  // among the ranks of this machine
  std::uint32_t local_size = 1;
  std::vector<LaunchName> launches{};  // also of a single process; several if launchers start launchers
};

// The ways in which a process learns that it will be ended (docs/train/notice.md). The launcher's variables
// fill slurm_job_end_time, slurm_job_id and time_limit_since.
struct NoticeOptions {
  // --time-limit, RATOON_TIME_LIMIT: "4h". The process saves and exits within this time after its start;
  // empty: no limit.
  std::string time_limit{};
  // RATOON_TIME_LIMIT_SINCE: the start of the launch, in seconds since 1970, from which the time limit
  // counts; empty: from the start of the process.
  std::string time_limit_since{};
  std::uint64_t grace_seconds = 30;  // --grace-seconds, RATOON_GRACE_SECONDS; from SIGTERM to the end
  // --notice-signal, RATOON_NOTICE_SIGNAL: "USR1", "USR2" or "none". The process saves and leaves at this
  // signal; an empty text means USR1 under Slurm and no signal elsewhere.
  std::string signal{};
  // --signals false, RATOON_SIGNALS: no signals are handled, and Ctrl-C loses all steps after the last save.
  bool handles_signals = true;
  std::string slurm_job_end_time{};
  std::string slurm_job_id{};
};

// The rules by which a running process counts as hung (docs/train/hangs.md).
struct HangOptions {
  // --hang-after, RATOON_HANG_AFTER: the limit for one phase of a step, "5m"; "auto": the limit is learned
  // from the steps before; "off": no limit.
  std::string after{"auto"};
  // --leave-within, RATOON_LEAVE_WITHIN_SECONDS. A process that must leave its world and makes no progress
  // for this time ends with exit code 81.
  std::uint64_t leave_seconds = 60;
};

inline constexpr std::uint64_t kKeepAllCheckpoints = ~std::uint64_t{0};

// Rules that tell which words of a command line are Ratoon's flags. Each flag has a second name,
// --ratoon-seed for --seed, which always belongs to Ratoon and overrides the first name in any order.
struct FlagRules {
  // Flags that the program reads, such as "--seed". Ratoon ignores the program's flags, even if they have the
  // same or nearly the same names as Ratoon's flags. Dashes, '_' and capitals in names make no difference.
  std::vector<std::string> of_program{};
  bool needs_prefix = false;  // true: Ratoon reads only flags that begin with --ratoon-
};

struct Options {
  std::string save_folder{};  // --save-folder, RATOON_SAVE_FOLDER; required
  std::string run_name{};     // --run-name, RATOON_RUN_NAME; required: the identity of the run
  // --save-every, RATOON_SAVE_EVERY_STEPS: the interval, "100st", "0.5ep", "10m" or "auto"; "100" is "100st".
  Every save_every = Every::steps(100);
  // --max-duration, RATOON_MAX_DURATION: the end of the run, such as "90ep", "5000st" or "12h", counted from
  // its beginning; replaces the program's own end.
  std::optional<Until> max_duration{};
  // --resume-from and --skip: the run goes back to this step's checkpoint and never uses the next `skip`
  // samples. The same values act only once. Later steps' checkpoints are set aside (docs/train/rollback.md).
  std::optional<std::uint64_t> resume_from{};  // --resume-from, RATOON_RESUME_FROM
  std::uint64_t skip = 0;                      // --skip, RATOON_SKIP; slots of the one tracked Stream
  // --keep-last, RATOON_KEEP_LAST: the number of committed checkpoints to keep in the folder: at least 2, or
  // "all". 0 removes a checkpoint once every store has it.
  std::uint64_t keep_last = 3;
  // A save is copied into a staging slot, and training goes on while it is written to the disk. Slots are
  // memory of the process, or files in a folder of a memory file system. Files in a memory file system
  // survive the process, and its successor writes them to the disk.
  std::string staging_folder{};     // --staging-folder, RATOON_STAGING_FOLDER
  std::uint64_t staging_slots = 2;  // --staging-slots, RATOON_STAGING_SLOTS; 0: saves wait for the disk
  // --staging-memory-mib, RATOON_STAGING_MEMORY_MIB: the memory for all slots of this process; 0: this
  // process's share of half of the free memory.
  std::uint64_t staging_memory_mib = 0;
  // --max-missed-saves, RATOON_MAX_MISSED_SAVES: the number of saves in a row that may fail before the run
  // ends with exit code 84.
  std::uint64_t max_missed_saves = 3;
  // --disk-timeout, RATOON_DISK_TIMEOUT_SECONDS: the time for which one call to the disk may hang.
  std::uint64_t disk_timeout_seconds = 300;
  // Checkpoints are copied to stores, "s3://bucket/runs" or "file:///mnt/other/runs", each run under its
  // name. A start resumes from the newest checkpoint of the folder and all stores (docs/train/tiers.md).
  std::vector<std::string> stores{};  // --stores, RATOON_STORES; separated by commas
  StoreOptions store_options{};       // how stores are reached; the program sets them
  // --load-from, RATOON_LOAD_FROM: another run's folder, store or manifest. The source gives the initial
  // state of a run that has no checkpoint anywhere.
  std::string load_from{};
  // --load-parts, RATOON_LOAD_PARTS: "weights"; "state": all but the position in the data, and the run begins
  // at step 0; "all": the run goes on from the step of the loaded checkpoint.
  std::string load_parts{"weights"};
  // --autoresume false, RATOON_AUTORESUME; false: a start that finds checkpoints of the run is refused.
  // --autoresume is for single processes, torchrun and Slurm.
  bool autoresume = true;
  // --overwrite true, RATOON_OVERWRITE: the run starts from the beginning at each start of the process and
  // sets existing checkpoints aside, but deletes nothing.
  bool overwrite = false;
  // --keep-last-in-stores, RATOON_KEEP_LAST_IN_STORES: checkpoints kept in each store: at least 2, or "all".
  std::uint64_t keep_last_in_stores = 3;
  // --keep-every, RATOON_KEEP_EVERY_STEPS: checkpoints whose step is a multiple of this number are kept, in
  // the folder and in stores; 0: none.
  std::uint64_t keep_every_steps = 0;
  // --keep-mib, RATOON_KEEP_MIB: the limit for all checkpoints in the folder. Over the limit, the oldest
  // checkpoints are removed, never the newest; 0: no limit.
  std::uint64_t keep_mib = 0;
  // --latest-name, RATOON_LATEST_NAME: the name of a link to the newest pack; empty: no link.
  std::string latest_name{"latest-rank{rank}"};
  // --final-weights, RATOON_FINAL_WEIGHTS: the file for the weights at the end, in the run's folder unless
  // the name has a folder; empty: no file.
  std::string final_weights{"weights.safetensors"};
  // --deterministic, RATOON_DETERMINISTIC: pins the settings on which bits depend, see <ratoon/numerics.h>.
  // --deterministic is refused if no computing library is attached.
  bool deterministic = false;
  // --seed, RATOON_SEED; the seed of all random number generators (default 0) and of the order of samples, if
  // the program calls Session::stream_options() (default: the program's own).
  std::optional<std::uint64_t> seed{};
  // --global-batch, RATOON_GLOBAL_BATCH; samples of a step, over all ranks, for a program that calls
  // Session::stream_options(); nothing: the program's own value.
  std::optional<std::uint64_t> global_batch{};
  std::string help{};  // --ratoon-help: the text about all options; train() prints it and returns
  MemberOptions member{};
  GroupOptions group{};
  NoticeOptions notice{};
  HangOptions hang{};

  // Ratoon's flags on the command line, in order and without values, as in {"--save-folder", "--seed"}. The
  // session logs these flags at its start, to show when Ratoon read a flag that the program has, too.
  std::vector<std::string> flags{};

  // Reads the options from the environment only, and no command line.
  [[nodiscard]] static Result<Options> from_environment();
  [[nodiscard]] static Result<Options> from_environment(Options defaults);
  // Reads the environment and Ratoon's flags, and leaves all flags in argv.
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv);
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv, Options defaults,
                                                        const FlagRules& rules = {});
};

// Like from_environment(), and removes Ratoon's flags and their values from argv, even if an option is
// refused (train() says why). The word "--" and the words after it stay in argv.
[[nodiscard]] Result<Options> take_options(int& argc, char** argv, Options defaults = {},
                                           const FlagRules& rules = {});

}  // namespace ratoon
