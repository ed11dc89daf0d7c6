// A member's pod, reduced to what decisions need. Locally it stands for one process group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::api {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };

// What the processes of a pod without the agent are told at its start.
struct GroupSeat {
  std::string master_address;  // of the pod with rank 0; empty: this is it
  std::string master_uid;      // that pod's
  std::uint32_t first_rank = 0;
  std::uint32_t world_size = 0;

  friend bool operator==(const GroupSeat&, const GroupSeat&) = default;
};

struct Pod {
  std::string name;
  std::string uid;
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string node;                     // empty: not placed
  std::string address;                  // of its network; empty: none yet
  PodPhase phase = PodPhase::kPending;  // of its trainer's container, where it has another end than its pod
  std::optional<int> exit_code;         // of that container, or of failed_init; 128 + n after signal n
  std::string failed_init{};            // the init container that failed: the trainer's never ran
  std::string rejection{};              // its kubelet's words for not starting it: nothing of it ran
  bool others_run = false;              // its trainer's container ended, and others hold its node
  bool is_deleting = false;
  std::optional<WallTime> ends_at{};       // is_deleting: the grace that it was granted is over then
  bool is_completed = false;               // its trainer left a record that the training is done
  std::string weights{};                   // the file that the record names
  bool is_evicted = false;                 // the platform says that it ended the pod, not the program
  std::vector<std::string> end_reasons;    // the platform's words for its end: Evicted, OOMKilled
  std::vector<std::string> avoided_nodes;  // those it was made to stay away from
  std::string unplaced_reason;             // the scheduler's words while no node takes it
  std::string unstarted_reason;            // its kubelet's words while a container of it does not start
  std::optional<WallTime> ended_at;        // its trainer's container, where the platform says
  std::string last_lines;                  // that its program printed before it failed
  std::optional<GroupSeat> group_seat{};   // of one that is to be made
  std::string meets{};                     // UID of the pod with rank 0 that it was told of at its start

  // That the record names; of one that is_completed.
  std::optional<ResumePoint> last_checkpoint{};

  // Its program did.
  [[nodiscard]] bool has_ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }

  friend bool operator==(const Pod&, const Pod&) = default;
};

}  // namespace ratoon::api
