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

#include <ratoon/result.h>

namespace ratoon {

// Where this process belongs. Filled by whoever started it; a program leaves it alone.
struct MemberOptions {
  std::string coordinator_url;  // empty: the run is alone, one process, files only
  std::string token_file;
  std::string job_namespace;
  std::string job_name;
  std::string role;
  std::string member_uid;
  std::string pod_ip;  // under which other pods reach this one; empty: all processes are on this machine
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t processes_per_node = 1;
  std::string termination_file;               // takes the record of completion; empty: none is written
  std::optional<std::uint32_t> metrics_port;  // of local rank 0; 0: none; default: 9400 in a pod, else none
  int lifeline_fd = -1;
};

struct Options {
  std::string save_folder;               // --save-folder, RATOON_SAVE_FOLDER; required
  std::string run_name;                  // --run-name, RATOON_RUN_NAME; required: the identity of the run
  std::uint64_t save_every_steps = 100;  // --save-every, RATOON_SAVE_EVERY_STEPS
  std::uint64_t keep_last = 3;  // --keep-last, RATOON_KEEP_LAST; committed checkpoints to keep, at least 2
  MemberOptions member;

  // Flags that are not Ratoon's are left to the program.
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv);
  [[nodiscard]] static Result<Options> from_environment(int argc, const char* const* argv, Options defaults);
};

}  // namespace ratoon
