// The messages between an agent (in a trainer process) and the coordinator: join, assignment, heartbeat,
// orders, completed. Messages are plain structs; codec.h bounds every size and refuses invalid values with an
// error message.
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

// Returns a member's (pod's) name. All processes compute the same name for a pod, so only one process can
// create the pod, and others get "already exists".
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

// A process sends a JoinRequest when it is ready to train; the reply names the world (the processes) that it
// joins.
struct JoinRequest {
  ProcessIdentity process;
  std::uint32_t processes_per_node = 1;
  Attempt left_attempt{0};  // newest attempt of this start; only a newer one is of use to it
  Step left_step{0};        // steps that it knows of that attempt; 0: it does not know any
  // True if this process has trained in a world. If has_been_in_world is false, left_attempt and left_step
  // may come from files of the run.
  bool has_been_in_world = false;
  std::string address;  // host:port, already bound, on which rank 0's store would listen
  std::vector<InventoryEntry> inventory;
  // The age of the inventory: the time between the moment at which the process began to list its checkpoints
  // and this message. If the age is absent, the coordinator treats only the first list, and a list that it
  // requested, as new.
  std::optional<double> inventory_age_seconds{};
  std::optional<RollbackRequest> rollback{};  // the same for all processes of a world, or for none
  std::uint32_t threads = 0;                  // threads per operation if numerics are pinned; 0: not pinned
  // The absolute path or URL under which the process saves checkpoints; empty if the process does not report
  // it.
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

// The greatest number of peers in a message. In a larger world, a process tests connections to only some
// members.
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
  // first process of each member gets a list of peers; all other processes get an empty list.
  std::vector<PeerAddress> peers{};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// The reply to a JoinRequest has the assignment, or says for what the world still waits. If the reply has no
// assignment, the agent sends the JoinRequest again at once.
struct JoinReply {
  std::optional<Assignment> assignment;
  std::string waiting_for;

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
};

enum class ProcessPhase { kJoining, kLoad, kData, kCompute, kCollective, kSave, kValidate, kUser };

// A run's progress towards its end, as rank 0 measures it.
struct ProgressEstimate {
  std::uint64_t position = 0;
  std::uint64_t total = 0;     // the position of the end; 0: unknown
  std::string unit;            // of both: "step", "sample"
  std::optional<double> loss;  // of the last step that reported one; finite
  std::string best{};          // of save_best(), for people: "error 0.25 at step 40"; empty: there is none

  friend bool operator==(const ProgressEstimate&, const ProgressEstimate&) = default;
};

inline constexpr std::size_t kBestTextBytesMax = 253;
inline constexpr std::size_t kDamagedCheckpointsMax = 16;

// The heartbeat: each trainer process sends its state at regular intervals, which also shows that it is
// alive.
struct Heartbeat {
  ProcessIdentity process;
  Attempt attempt{0};
  std::uint64_t sequence = 0;  // grows by one per beat, so that a delayed beat is recognized as old
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  double seconds_in_phase = 0;              // since the last progress in it
  std::optional<double> allowed_seconds{};  // longer in the phase than this is a hang; absent: no limit
  std::optional<InventoryEntry> committed;  // newest checkpoint that this process knows to be complete
  // Checkpoints of this attempt that were reported as committed and later failed verification: they are not
  // durable, even if other processes saw the commit. The list has only the kDamagedCheckpointsMax newest
  // damaged checkpoints.
  std::vector<InventoryEntry> damaged{};
  // The UIDs of the members in the assignment's `peers` to which this process repeatedly could not connect
  // while it waited for other processes. The list `unreachable_peers` has at most kPeersMax UIDs.
  std::vector<std::string> unreachable_peers{};
  std::optional<ProgressEstimate> outlook{};  // only rank 0 has one
  // The time that the last save took until its commit, or the time that the current save has taken so far if
  // it is longer. The field is absent if the process has not saved yet.
  std::optional<double> save_seconds{};
  // The exit code of a launcher's program, in the launcher's last heartbeats. The field is absent while the
  // program runs.
  std::optional<std::uint64_t> program_exit_code{};

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// Asks for orders newer than `seen_revision`. The coordinator replies as soon as it has newer orders; after a
// timeout it sends the current orders again.
struct OrdersRequest {
  ProcessIdentity process;
  std::uint64_t seen_revision = 0;

  friend bool operator==(const OrdersRequest&, const OrdersRequest&) = default;
};

// The coordinator's instructions for a process. Orders are a state and not a queue: only the newest orders
// count, so a process may miss earlier orders.
struct Orders {
  std::uint64_t revision = 0;
  Attempt attempt{0};  // newest attempt; greater than the process's own: leave the world and join again
  std::optional<double> drain_deadline_seconds;  // seconds until the end of this member's node
  bool stop = false;                             // leave after this step with ExitCode::kPreempted
  // The number of requests so far to save a checkpoint at once on all ranks. A request is fulfilled once all
  // ranks of the attempt have saved a checkpoint after it.
  std::uint64_t save_request = 0;
  // True if a replacement member is ready: all ranks of `attempt` must save a checkpoint and join again.
  bool hand_over = false;
  bool hung = false;  // the attempt before this one ended because a process hung in it
  std::string reason;

  friend bool operator==(const Orders&, const Orders&) = default;
};

// With Completed, a process reports the end of the training. Only a Completed message completes a job; an
// exit of a process with code 0 does not.
struct Completed {
  ProcessIdentity process;
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint;  // committed, at exactly that step: without it no run is complete
  std::map<std::string, std::string> result;

  friend bool operator==(const Completed&, const Completed&) = default;
};

// The key in Completed.result for the path of the trained weights is kWeightsKey. The path has at most
// kWeightsBytesMax bytes: Completed and CompletionRecord do not contain a longer path.
inline constexpr const char* kWeightsKey = "weights";
inline constexpr std::size_t kWeightsBytesMax = 253;
// The key in Completed.result for the reason of a run's early end is kFinishReasonKey. The reason has at
// most kFinishReasonBytesMax bytes.
inline constexpr const char* kFinishReasonKey = "finish_reason";
inline constexpr std::size_t kFinishReasonBytesMax = 253;

// A report of completion that needs no coordinator: the container writes this record as its termination
// message.
struct CompletionRecord {
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint{};     // as in Completed
  std::string weights{};        // the file with the weights; empty: there is none
  std::string finish_reason{};  // empty: the program did not end the run early, or another process knows why

  friend bool operator==(const CompletionRecord&, const CompletionRecord&) = default;
};

// The reason why the coordinator refused a call. Programs read the field `kind`, and people read `message`.
struct Refusal {
  std::string kind;  // one of names::refusal
  std::string message;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace ratoon
