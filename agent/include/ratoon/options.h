// Options of a run. Each is taken from a flag, else from the environment (set by the operator and by `ratoon
// run`), else from what the program wrote into the struct.
//
//   int main(int argc, char** argv) {
//     return ratoon::train(ratoon::Options::from_environment(argc, argv), train_digits);
//   }
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

// Where this process belongs. Filled by whoever started it; a program leaves it alone.
struct MemberOptions {
  std::string coordinator_url{};   // empty: the run is alone, one process, files only
  std::string coordinator_ca{};    // authorities of its certificate, PEM; empty: those of the system
  std::string coordinator_name{};  // the name in it; empty: the URL's host
  std::string token_file{};
  std::string job_namespace{};
  std::string job_name{};
  std::string job_uid{};  // of the one of that name that runs now, in a cluster; empty: nobody says
  std::string role{};
  std::string member_uid{};
  std::string pod_ip{};  // under which other pods reach this one; empty: all processes are on this machine
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t processes_per_node = 1;
  std::string termination_file{};               // takes the record of completion; empty: none is written
  std::optional<std::uint32_t> metrics_port{};  // of local rank 0; 0: none; default: 9400 in a pod, else none
  int lifeline_fd = -1;
};

// What stays the same where a launcher starts a process of a launch again.
struct LaunchName {
  std::string name{};
  std::optional<std::uint64_t> restarts{};  // so far, where the launcher counts them; nothing: no other
                                            // launch has this name
};

// Processes that torchrun or srun started: their numbers are given, and they meet in the run's folder. Filled
// from the launcher's variables; a program leaves it alone.
struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;  // 1: this process is alone, or in a world that a coordinator forms
  std::string name{};      // the same for all processes of one launch, and for no other launch
  bool is_on_one_machine = true;
  std::uint32_t local_rank = 0;  // among the processes of this machine
  std::uint32_t local_size = 1;
  std::vector<LaunchName> launches{};  // also of a process alone; several where launchers start launchers
};

// What tells a process that it will be ended, docs/train/notice.md. Slurm's own two are filled from its
// variables.
struct NoticeOptions {
  std::string time_limit{};  // --time-limit, RATOON_TIME_LIMIT: "4h"; so long after the process began it
                             // has saved and left; empty: no limit
  std::uint64_t grace_seconds = 30;  // --grace-seconds, RATOON_GRACE_SECONDS; from SIGTERM to the end
  std::string signal{};  // --notice-signal, RATOON_NOTICE_SIGNAL: "USR1", "USR2" or "none"; empty: USR1
                         // under Slurm, else none, and USR1 saves
  bool handles_signals = true;  // --signals false, RATOON_SIGNALS: none are handled, and Ctrl-C loses what
                                // was not saved
  std::string slurm_job_end_time{};
  std::string slurm_job_id{};
};

// When a process that lives counts as hung, docs/train/hangs.md.
struct HangOptions {
  std::string after{"auto"};  // --hang-after, RATOON_HANG_AFTER: "auto": learned from the steps before; "5m":
                              // so long in one phase of a step; "off"
  std::uint64_t leave_seconds = 60;  // --leave-within, RATOON_LEAVE_WITHIN_SECONDS; who is to leave its world
                                     // and does nothing for so long ends with exit code 81
};

inline constexpr std::uint64_t kKeepAllCheckpoints = ~std::uint64_t{0};

struct Options {
  std::string save_folder{};             // --save-folder, RATOON_SAVE_FOLDER; required
  std::string run_name{};                // --run-name, RATOON_RUN_NAME; required: the identity of the run
  Every save_every = Every::steps(100);  // --save-every, RATOON_SAVE_EVERY_STEPS: "100st", "0.5ep", "10m",
                                         // "auto"; a number alone is of steps
  std::optional<Until> max_duration{};   // --max-duration, RATOON_MAX_DURATION: "90ep", "5000st", "12h"; from
                                         // the run's beginning, instead of what the program says
  // Goes back to the checkpoint of that step, once for these two values together, and never takes the next
  // `skip` samples; what was saved later is set aside. docs/train/rollback.md
  std::optional<std::uint64_t> resume_from{};  // --resume-from, RATOON_RESUME_FROM
  std::uint64_t skip = 0;                      // --skip, RATOON_SKIP; slots of the one tracked Stream
  std::uint64_t keep_last = 3;  // --keep-last, RATOON_KEEP_LAST; committed checkpoints to keep in the folder:
                                // at least 2, "all", or 0: none that every store holds
  // A save is copied into a slot, and training goes on while it is brought to the disk. Slots are the
  // process's own memory, or files in a folder of a memory file system: then what was staged survives the
  // process, and the next one in its place writes it.
  std::string staging_folder{};          // --staging-folder, RATOON_STAGING_FOLDER
  std::uint64_t staging_slots = 2;       // --staging-slots, RATOON_STAGING_SLOTS; 0: saves wait for the disk
  std::uint64_t staging_memory_mib = 0;  // --staging-memory-mib, RATOON_STAGING_MEMORY_MIB; of all slots of
                                         // this process; 0: its part of half of what is free
  std::uint64_t max_missed_saves = 3;    // --max-missed-saves, RATOON_MAX_MISSED_SAVES; saves in a row that
                                         // may fail before the run ends with exit code 84
  std::uint64_t disk_timeout_seconds = 300;  // --disk-timeout, RATOON_DISK_TIMEOUT_SECONDS; how long one
                                             // call to the disk may hang
  // Checkpoints get copies in stores, "s3://bucket/runs" or "file:///mnt/other/runs", each run under its
  // name; a start resumes from the newest of all places. docs/train/tiers.md
  std::vector<std::string> stores{};  // --stores, RATOON_STORES; separated by commas
  StoreOptions store_options{};       // how they are reached; a program's to set
  std::string load_from{};  // --load-from, RATOON_LOAD_FROM; another run's folder, store or manifest:
                            // what it begins with, where nowhere is a checkpoint of this run
  std::string load_parts{"weights"};  // --load-parts, RATOON_LOAD_PARTS; "weights"; "state": all but the
                                      // place in the data, from step 0; "all": goes on from its step
  bool autoresume = true;  // --autoresume false, RATOON_AUTORESUME; false: a start that finds checkpoints of
                           // the run is refused; alone, or as torchrun and Slurm start it
  bool overwrite = false;  // --overwrite true, RATOON_OVERWRITE; begins anew at each start of the
                           // process and sets aside what there is; deletes nothing
  std::uint64_t keep_last_in_stores = 3;  // --keep-last-in-stores, RATOON_KEEP_LAST_IN_STORES; at least 2, or
                                          // "all"
  std::uint64_t keep_every_steps = 0;     // --keep-every, RATOON_KEEP_EVERY_STEPS; each whose step is a
                                          // multiple stays, here and in stores; 0: none
  std::uint64_t keep_mib = 0;             // --keep-mib, RATOON_KEEP_MIB; of all in the folder, oldest go
                                          // first, the newest stays; 0: no limit
  std::string latest_name{"latest-rank{rank}"};  // --latest-name, RATOON_LATEST_NAME; a link to the newest
                                                 // pack; empty: none
  std::string final_weights{"weights.safetensors"};  // --final-weights, RATOON_FINAL_WEIGHTS; the file that
                                                     // takes the weights at the end, in the run's folder
                                                     // unless it has one; empty: none
  bool deterministic = false;  // --deterministic, RATOON_DETERMINISTIC; pins what bits depend on, see
                               // <ratoon/numerics.h>; refused where no library that computes is attached
  // --seed, RATOON_SEED; what all generators of random numbers begin with, nothing: 0; and the order of
  // samples, where the program asks Session::stream_options(), nothing: the program's own.
  std::optional<std::uint64_t> seed{};
  // --global-batch, RATOON_GLOBAL_BATCH; samples of a step, of all ranks together, for a program that asks
  // the same; nothing: its own.
  std::optional<std::uint64_t> global_batch{};
  std::string help{};  // --ratoon-help: all of these, which train() prints, and does no more
  MemberOptions member{};
  GroupOptions group{};
  NoticeOptions notice{};
  HangOptions hang{};

  // Flags that are not Ratoon's are left to the program.
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv);
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv, Options defaults);
};

}  // namespace ratoon
