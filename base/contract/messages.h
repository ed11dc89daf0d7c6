// The messages of agents and the coordinator: join, assignment, beat, orders, completed. Plain values; the
// codecs in codec.h bound every size and refuse invalid values with a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/strong.h"

namespace ratoon {

// Version of these messages. An operator serves agents of its own version and the one before.
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

// One start of one trainer process. Each start draws a new `start`; the creator of the member gives the rest.
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

// A member's name. The name is the same for every process that computes it, so that "already exists" works as
// a lock.
[[nodiscard]] std::string member_name(const JobKey& job, const std::string& role, std::uint32_t index,
                                      std::uint32_t incarnation);

// A checkpoint that a process can reach.
struct InventoryEntry {
  std::string tier;  // "staged", "local", "volume" or "store"
  Attempt attempt{0};
  Step step{0};
  std::string digest;  // of its manifest
  bool is_complete = false;

  friend bool operator==(const InventoryEntry&, const InventoryEntry&) = default;
};

// A user's request to a process: go back to a step, and skip a number of samples from there.
struct RollbackRequest {
  Step resume_from{0};
  std::uint64_t skip = 0;

  friend bool operator==(const RollbackRequest&, const RollbackRequest&) = default;
};

// "I am ready to train; tell me in which world."
struct JoinRequest {
  ProcessIdentity process;
  std::uint32_t processes_per_node = 1;
  Attempt left_attempt{0};  // newest attempt of this start; only a newer one is of use to it
  Step left_step{0};        // steps that it knows of that attempt; 0: it does not know any
  // This start was in a world; else left_attempt and left_step may come from the run's folder.
  bool has_met = false;
  std::string address;  // host:port, already bound, on which rank 0's store would listen
  std::vector<InventoryEntry> inventory;
  // The time since the process began to read the inventory, at the moment when the message is sent. If the
  // age is absent, only the process's first list, and a list that the coordinator requested, counts as new.
  std::optional<double> inventory_age_seconds{};
  std::optional<RollbackRequest> rollback{};  // the same for all processes of a world, or for none
  std::uint32_t threads = 0;                  // threads per operation if numerics are pinned; 0: not pinned
  // The absolute path of the folder, or the URL, in which the process saves; empty: it does not tell.
  std::string save_location{};

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

// The one checkpoint that all ranks of an attempt load.
struct ResumePoint {
  Attempt attempt{0};
  Step step{0};
  std::string digest;

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// Number of random bytes; the message has two digits for each.
inline constexpr std::size_t kSecretBytes = 32;

// Members that a run has lost so far, by cause, as the job's status counts them.
struct RunLosses {
  std::uint32_t disruption = 0;
  std::uint32_t application = 0;
  std::uint32_t hung = 0;

  friend bool operator==(const RunLosses&, const RunLosses&) = default;
};

// Where a process of another member of the world listens.
struct PeerAddress {
  std::string member_uid;
  std::string address;  // host:port

  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

// The number of peers in an assignment, and of those that a beat names: larger worlds are probed in part.
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
  // The members whose addresses this process probes while it waits for others. Empty for all processes of a
  // member but its first.
  std::vector<PeerAddress> peers{};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// The answer has the assignment, or says for what the world still waits; in that case the agent asks again at
// once.
struct JoinReply {
  std::optional<Assignment> assignment;
  std::string waiting_for;

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
};

enum class ProcessPhase { kJoining, kLoad, kData, kCompute, kCollective, kSave, kValidate, kUser };

// The progress of a run, as its rank 0 counts it.
struct Outlook {
  std::uint64_t position = 0;
  std::uint64_t total = 0;     // the position of the end; 0: unknown
  std::string unit;            // of both: "step", "sample"
  std::optional<double> loss;  // of the last step that reported one; finite

  friend bool operator==(const Outlook&, const Outlook&) = default;
};

inline constexpr std::size_t kDamagedMax = 16;

// "I am alive, and this is my state."
struct Beat {
  ProcessIdentity process;
  Attempt attempt{0};
  std::uint64_t sequence = 0;  // grows by one per beat, so that a delayed beat is recognized as old
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  double seconds_in_phase = 0;              // since the last progress in it
  std::optional<double> allowed_seconds{};  // longer in the phase than this is a hang; absent: no limit
  std::optional<InventoryEntry> committed;  // newest checkpoint that this process knows to be complete
  // Checkpoints of this attempt that were reported as committed and then did not verify: they are no longer
  // durable, even if other processes saw them committed. The list holds at most the newest kDamagedMax.
  std::vector<InventoryEntry> damaged{};
  // The UIDs of the members in `peers` of the assignment to which no connection was possible, in several
  // tries, while the process waited. At most kPeersMax.
  std::vector<std::string> unreachable_peers{};
  std::optional<Outlook> outlook{};  // only rank 0 has one
  // Duration of the last save until its commit; if the current save has taken longer already, that time.
  // Absent: nothing was saved yet.
  std::optional<double> save_seconds{};

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Asks for orders newer than `seen_revision`. The reply comes when there are newer orders, or after a while
// with the same orders.
struct OrdersRequest {
  ProcessIdentity process;
  std::uint64_t seen_revision = 0;

  friend bool operator==(const OrdersRequest&, const OrdersRequest&) = default;
};

// The instructions for a process. Orders are a state, not a queue: the newest orders are valid, and a process
// that misses some loses nothing.
struct Orders {
  std::uint64_t revision = 0;
  Attempt attempt{0};  // newest attempt; greater than the process's own: leave the world and join again
  std::optional<double> drain_deadline_seconds;  // seconds until the end of this member's node
  bool stop = false;                             // leave after this step with ExitCode::kPreempted
  // Counts requests for an early common save. A request is met once all ranks of the attempt have saved after
  // it.
  std::uint64_t save_request = 0;
  // A replacement is ready: save together, then leave `attempt` and join again. Ignored in another attempt.
  bool hand_over = false;
  bool hung = false;  // the attempt before this one ended because a process hung in it
  std::string reason;

  friend bool operator==(const Orders&, const Orders&) = default;
};

// "This process reached the end of the training." This message makes a job complete; exit code 0 does not.
struct Completed {
  ProcessIdentity process;
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint;  // committed, at exactly that step: without it no run is complete
  std::map<std::string, std::string> result;

  friend bool operator==(const Completed&, const Completed&) = default;
};

// The key of Completed.result for the path of the weights, and the greatest length of that path in both
// messages: a longer path is left out.
inline constexpr const char* kWeightsResult = "weights";
inline constexpr std::size_t kWeightsBytesMax = 253;
// The same for the reason with which the program ended the run early. A longer reason is cut.
inline constexpr const char* kFinishReasonResult = "finish_reason";
inline constexpr std::size_t kFinishReasonBytesMax = 253;

// The completion without a coordinator: a container leaves this record in its termination message.
struct CompletionRecord {
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint{};     // as in Completed
  std::string weights{};        // the file with the weights; empty: there is none
  std::string finish_reason{};  // empty: the program did not end the run early, or another process knows why

  friend bool operator==(const CompletionRecord&, const CompletionRecord&) = default;
};

// Why a call was refused. `kind` is for programs, `message` for people.
struct Refusal {
  std::string kind;  // one of names::refusal
  std::string message;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace ratoon
