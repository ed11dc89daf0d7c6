// The coordinator's facts about processes, and the announcements that it sends to them. The code in
// operator/core reads the facts and makes the announcements; the coordinator only stores both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::api {

// All facts about one trainer process since its newest start.
struct ProcessFacts {
  ProcessIdentity identity;
  Timestamp last_heard;
  std::optional<JoinRequest> join_request;  // the process waits for a world
  std::optional<Heartbeat> beat;            // the newest one
  bool is_completed = false;
  Timestamp completed_at{};        // when its first report of that was received, if is_completed
  bool has_been_in_world = false;  // it was in a world; until then it is starting
  std::string weights{};           // the weights file of its completion; empty: none
  std::string finish_reason{};     // of its completion, if its program ended the run early
  std::string save_location{};     // where it saves, as it said when it joined; empty: it did not say
  // When the process began to read its list of checkpoints (in `join_request`). If the request does not have
  // the list's age, this is the time when the process first sent the list.
  Timestamp checkpoints_listed_at{};
  Timestamp last_progress_at{};  // when it sent its first message, began to wait, got its place, or reported
                                 // another step
  // Since when every heartbeat of the process has named peers that it cannot reach.
  std::optional<Timestamp> peers_unreachable_since{};
  Timestamp new_unreachable_peer_at{};  // when such a heartbeat last named a peer that the heartbeat before
                                        // it did not name
};

struct AssignedProcess {
  ProcessIdentity process;
  Assignment assignment;  // without `peers`, which the coordinator adds
  std::string address{};  // where the process listens
};

// A member whose node will be removed at a known time.
struct Departure {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  WallTime at;

  friend bool operator==(const Departure&, const Departure&) = default;
};

// The greatest number of processes of one member; the CustomResourceDefinition has the same limit.
constexpr std::uint32_t kProcessesPerNodeMax = 64;

// A bit for each local rank of a pod, set if the job's status says that the rank has completed.
struct RecordedCompletion {
  std::string member_uid;
  std::uint64_t local_ranks = 0;

  friend bool operator==(const RecordedCompletion&, const RecordedCompletion&) = default;
};

struct Announcement {
  Attempt attempt{0};
  std::vector<AssignedProcess> world;
  // The current incarnation of each member, and its successor if it has one: the coordinator accepts messages
  // only from their pods. The entries of `current` do not use the fields `local_rank` and `start`.
  std::vector<ProcessIdentity> current;
  std::vector<Departure> departures{};  // each is sent only to the processes of that member
  std::vector<RecordedCompletion> done{};
  std::uint64_t save_request = 0;  // grows when all processes have to save soon
  bool hand_over = false;  // successors are ready: processes save together, leave this world and join again
  bool stop = false;
  bool is_hung = false;  // the last world was given up because of a hang
  // A waiting process that listed its checkpoints before this time must list its checkpoints again.
  std::optional<Timestamp> checkpoint_lists_valid_from{};
  std::string reason{};
  // The coordinator refuses processes whose local rank is not below processes_per_node. After the job's end
  // processes_per_node is kProcessesPerNodeMax.
  std::uint32_t processes_per_node = kProcessesPerNodeMax;
};

}  // namespace ratoon::api
