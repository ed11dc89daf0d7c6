// What agents and the coordinator say to each other: join, assignment, beat, orders, completed. Plain values;
// the codecs in codec.h bound every size and refuse nonsense with a sentence.
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

// One start of one trainer process. `start` is drawn anew by each start; the rest is given by whoever made
// the member.
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

// A member's name: the same for everyone who computes it, so that "already exists" works as a lock.
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

// What a process was told by hand: to go back to a step, and to pass over so many samples from there.
struct RollbackWish {
  Step resume_from{0};
  std::uint64_t skip = 0;

  friend bool operator==(const RollbackWish&, const RollbackWish&) = default;
};

// "I am ready to train; tell me in which world."
struct JoinRequest {
  ProcessIdentity process;
  std::uint32_t processes_per_node = 1;
  Attempt left_attempt{0};  // newest attempt this start was part of; only a newer one is of use
  Step left_step{0};        // steps in the weights that it had when it left that attempt
  bool has_met = false;     // this start was given a seat before; left_attempt may be what lies in its folder
  std::string address;      // host:port, bound already, where rank 0's store would listen
  std::vector<InventoryEntry> inventory;
  std::optional<RollbackWish> rollback{};  // all of a world wish the same, or none of them any
  std::uint32_t threads = 0;  // that share one operation, where numerics are pinned; 0: they are not

  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

// The one checkpoint that all ranks of an attempt load.
struct ResumePoint {
  Attempt attempt{0};
  Step step{0};
  std::string digest;

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// How much of it is drawn; twice as many digits are told.
inline constexpr std::size_t kSecretBytes = 32;

struct Assignment {
  Attempt attempt{0};
  Rank rank{0};
  std::uint32_t world_size = 1;
  std::string rendezvous;             // rank 0's address
  std::string secret;                 // of the attempt: its ranks alone are told, and it is never logged
  std::optional<ResumePoint> resume;  // absent: start from the beginning
  double beat_seconds = 1.0;
  std::uint32_t threads = 0;  // of rank 0, as it said

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// Either the assignment, or what the world still waits for; then the agent asks again at once.
struct JoinReply {
  std::optional<Assignment> assignment;
  std::string waiting_for;

  friend bool operator==(const JoinReply&, const JoinReply&) = default;
};

enum class ProcessPhase { kJoining, kLoad, kData, kCompute, kCollective, kSave, kValidate, kUser };

// How far a run is, as its rank 0 counts.
struct Outlook {
  std::uint64_t position = 0;
  std::uint64_t total = 0;     // at which it is over; 0: not known
  std::string unit;            // of both: "step", "sample"
  std::optional<double> loss;  // of the last step that reported one; finite

  friend bool operator==(const Outlook&, const Outlook&) = default;
};

inline constexpr std::size_t kDamagedMax = 16;

// "I am alive, and this is where I am."
struct Beat {
  ProcessIdentity process;
  Attempt attempt{0};
  std::uint64_t sequence = 0;  // grows by one a beat, so that a late one is not taken for news
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  double seconds_in_phase = 0;              // since its last sign of life
  std::optional<double> allowed_seconds{};  // after so long in it the process hangs; absent: no limit
  std::optional<InventoryEntry> committed;  // newest checkpoint that this process knows to be complete
  // Of this attempt, told of as committed, and then they did not read back: durable no more, whoever saw them
  // committed. At most kDamagedMax, the newest.
  std::vector<InventoryEntry> damaged{};
  std::vector<Rank> silent_peers;    // ranks whose sockets failed
  std::optional<Outlook> outlook{};  // rank 0 alone has one
  // What the last save took until it was committed; where the one that is under way has taken longer already,
  // that time. Absent: nothing was saved yet.
  std::optional<double> save_seconds{};

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Asks for orders newer than `seen_revision`; answered when there are some, or after a while with the same
// ones.
struct OrdersRequest {
  ProcessIdentity process;
  std::uint64_t seen_revision = 0;

  friend bool operator==(const OrdersRequest&, const OrdersRequest&) = default;
};

// What a process is to do. Orders are a state, not a queue: the newest ones hold, missing one loses nothing.
struct Orders {
  std::uint64_t revision = 0;
  Attempt attempt{0};  // newest attempt; greater than one's own: leave the world and join again
  std::optional<double> drain_deadline_seconds;  // this member's node will go in so many seconds
  bool stop = false;                             // leave after this step with ExitCode::kPreempted
  // Counts requests to save soon, together. One is served once all ranks of the attempt have saved since.
  std::uint64_t save_request = 0;
  // A replacement is ready: save together, then leave `attempt` and join again. Not of use in another
  // attempt.
  bool hand_over = false;
  bool hung = false;  // the attempt before this one was given up because somebody hung in it
  std::string reason;

  friend bool operator==(const Orders&, const Orders&) = default;
};

// "This process reached the end of the training." The record that makes a job complete; exit code 0 is not
// one.
struct Completed {
  ProcessIdentity process;
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint;  // committed, and of that very step: without it no run is complete
  std::map<std::string, std::string> result;

  friend bool operator==(const Completed&, const Completed&) = default;
};

// Under which name Completed.result says where the weights are, and how long that may be, here and below: a
// path that is longer is not told.
inline constexpr const char* kWeightsResult = "weights";
inline constexpr std::size_t kWeightsBytesMax = 253;

// The same, without any coordinator: what a container leaves in its termination message.
struct CompletionRecord {
  Attempt attempt{0};
  Step step{0};
  ResumePoint checkpoint{};  // as in Completed
  std::string weights{};     // the file that has them; empty: there is none

  friend bool operator==(const CompletionRecord&, const CompletionRecord&) = default;
};

// Why a call was refused. `kind` is for programs, `message` for people.
struct Refusal {
  std::string kind;  // one of names::refusal
  std::string message;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace ratoon
