// The messages of agents and the coordinator: join, assignment, beat, orders, completed. Messages are plain
// structs; codec.h bounds every size and refuses invalid values with an error message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/strong.h"

namespace ratoon {

// The version of the messages. An operator serves agents of its own version and of the version before it.
inline constexpr int kContractVersion = 1;
inline constexpr int kOldestServedContractVersion = 1;

using Attempt =
    Strong<struct AttemptTag, std::uint64_t>;  // fencing number of a job; 0: no world was formed yet
using Rank = Strong<struct RankTag, std::uint32_t>;
using Step = Strong<struct StepTag, std::uint64_t>;

struct JobKey {
  std::string name_space;
  std::string name;

  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

// Identifies one start of a trainer process, by its pod and a random number (`start`) that each start draws.
struct ProcessIdentity {
  JobKey job;
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  std::string member_uid;
  std::uint32_t local_rank = 0;
  std::string start;

  friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// Returns a member's (pod's) name. Every process that computes the name gets the same name, so that the error
// "already exists" works as a lock.
[[nodiscard]] std::string member_name(const JobKey& job, const std::string& role, std::uint32_t index,
                                      std::uint32_t incarnation);

// One entry of the list of checkpoints that a process can read.
struct InventoryEntry {
  std::string tier;  // "staged", "local", "volume" or "store"
  Attempt attempt{0};
  Step step{0};
  std::string digest;  // of its manifest
  bool is_complete = false;

  friend bool operator==(const InventoryEntry&, const InventoryEntry&) = default;
};

// A user's request to the trainers: resume from an earlier step, and skip a number of samples from there on.
struct RollbackRequest {
  Step resume_from{0};
  std::uint64_t skip = 0;

  friend bool operator==(const RollbackRequest&, const RollbackRequest&) = default;
};

// A process says: "I am ready to train; tell me with which other processes (in which world)."
struct JoinRequest {
  ProcessIdentity process;
  std::uint32_t processes_per_node = 1;
  Attempt left_attempt{0};  // newest attempt of this start; only a newer one is of use to it
  Step left_step{0};        // steps that it knows of that attempt; 0: it does not know any
  // Whether this start was in a world. Without a world, the run's folder may give left_attempt and left_step.
  bool has_met = false;
  std::string address;  // host:port, already bound, on which rank 0's store would listen
  std::vector<InventoryEntry> inventory;
  // How long before sending this message the process began to list its checkpoints (the inventory). Without
  // inventory_age_seconds, only a process's first list of checkpoints, or a requested list, counts as new.
  std::optional<double> inventory_age_seconds{};
  std::optional<RollbackRequest> rollback{};  // the same for all processes of a world, or for none
  std::uint32_t threads = 0;                  // threads per operation if numerics are pinned; 0: not pinned
  // The absolute path of the folder, or the URL, in which the process saves; empty: it does not tell.
  std::string save_location{};

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

// The one checkpoint that all ranks load at the start of an attempt.
struct ResumePoint {
  Attempt attempt{0};
  Step step{0};
  std::string digest;

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// The number of random bytes of a secret; the message has two hexadecimal digits for each byte.
inline constexpr std::size_t kSecretBytes = 32;

// How many members a run has lost so far, by cause, as the job's status counts them.
struct RunLosses {
  std::uint32_t disruption = 0;
  std::uint32_t application = 0;
  std::uint32_t hung = 0;

  friend bool operator==(const RunLosses&, const RunLosses&) = default;
};

// The address at which a process of another member of the world listens.
struct PeerAddress {
  std::string member_uid;
  std::string address;  // host:port

  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

// The greatest number of peers in an assignment or a beat: in a larger world a process probes only some.
inline constexpr std::size_t kPeersMax = 64;

struct Assignment {
  Attempt attempt{0};
  Rank rank{0};
  std::uint32_t world_size = 1;
  std::string rendezvous;             // rank 0's address
  std::string secret;                 // of the attempt: only its ranks get it, and it is never logged
  std::optional<ResumePoint> resume;  // absent: start from the beginning
  double beat_seconds = 1.0;
  std::optional<RunLosses> losses{};  // of the run; absent: they are not counted
  std::uint32_t threads = 0;          // those that rank 0 requested
  // The members to whose addresses this process tries to connect while it waits for other processes. Only the
  // first process of each member gets peers; for all other processes the list is empty.
  std::vector<PeerAddress> peers{};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// The reply to a JoinRequest has the assignment, or says for what the world still waits. Without an
// assignment the agent asks again at once.
struct JoinReply {
  std::optional<Assignment> assignment;
  std::string waiting_for;

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
};

enum class ProcessPhase { kJoining, kLoad, kData, kCompute, kCollective, kSave, kValidate, kUser };

// A run's progress towards its end, as rank 0 counts it.
struct Outlook {
  std::uint64_t position = 0;
  std::uint64_t total = 0;     // the position of the end; 0: unknown
  std::string unit;            // of both: "step", "sample"
  std::optional<double> loss;  // of the last step that reported one; finite

  friend bool operator==(const Outlook&, const Outlook&) = default;
};

inline constexpr std::size_t kDamagedMax = 16;

// A trainer process says at regular intervals: "I am alive, and this is my state."
struct Beat {
  ProcessIdentity process;
  Attempt attempt{0};
  std::uint64_t sequence = 0;  // grows by one per beat, so that a delayed beat is recognized as old
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  double seconds_in_phase = 0;              // since the last progress in it
  std::optional<double> allowed_seconds{};  // longer in the phase than this is a hang; absent: no limit
  std::optional<InventoryEntry> committed;  // newest checkpoint that this process knows to be complete
  // Checkpoints of this attempt that were reported as committed and later failed verification: they are not
  // durable, even if other processes saw the commit. Only the kDamagedMax newest checkpoints are listed.
  std::vector<InventoryEntry> damaged{};
  // The UIDs of those members in the assignment's `peers` to which several attempts to connect failed while
  // the process waited. The list has at most kPeersMax UIDs.
  std::vector<std::string> unreachable_peers{};
  std::optional<Outlook> outlook{};  // only rank 0 has one
  // How long the last save took until its commit, or how long the current save has taken if that is longer.
  // The duration is absent if the process has not saved yet.
  std::optional<double> save_seconds{};

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Asks for orders newer than `seen_revision`. The reply comes once there are newer orders; after a timeout it
// repeats the current orders.
struct OrdersRequest {
  ProcessIdentity process;
  std::uint64_t seen_revision = 0;

  friend bool operator==(const OrdersRequest&, const OrdersRequest&) = default;
};

// The coordinator's instructions for a process. Orders are a state, not a queue: only the newest orders
// count, so a process that misses some orders loses nothing.
struct Orders {
  std::uint64_t revision = 0;
  Attempt attempt{0};  // newest attempt; greater than the process's own: leave the world and join again
  std::optional<double> drain_deadline_seconds;  // seconds until the end of this member's node
  bool stop = false;                             // leave after this step with ExitCode::kPreempted
  // Counts the requests that all ranks save a checkpoint now. A request is met once all ranks of the attempt
  // have saved after it.
  std::uint64_t save_request = 0;
  // A replacement member is ready: all ranks of `attempt` save and join again; other ranks ignore the order.
  bool hand_over = false;
  bool hung = false;  // the attempt before this one ended because a process hung in it
  std::string reason;

  friend bool operator==(const Orders&, const Orders&) = default;
};

// A process says: "I reached the end of the training." This message completes a job; exit code 0 does not.
struct Completed {
  ProcessIdentity process;
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint;  // committed, at exactly that step: without it no run is complete
  std::map<std::string, std::string> result;

  friend bool operator==(const Completed&, const Completed&) = default;
};

// The key in Completed.result for the path of the trained weights, and the path's greatest length in
// Completed and CompletionRecord: a longer path is left out.
inline constexpr const char* kWeightsResult = "weights";
inline constexpr std::size_t kWeightsBytesMax = 253;
// The key in Completed.result, and the greatest length, of the reason why the program ended the run early.
inline constexpr const char* kFinishReasonResult = "finish_reason";
inline constexpr std::size_t kFinishReasonBytesMax = 253;

// Reports the completion without a coordinator: a container writes this record as its termination message.
struct CompletionRecord {
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint{};     // as in Completed
  std::string weights{};        // the file with the weights; empty: there is none
  std::string finish_reason{};  // empty: the program did not end the run early, or another process knows why

  friend bool operator==(const CompletionRecord&, const CompletionRecord&) = default;
};

// Why the coordinator refused a call. `kind` is for programs, `message` for people.
struct Refusal {
  std::string kind;  // one of names::refusal
  std::string message;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace ratoon
