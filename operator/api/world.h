// What the coordinator knows about processes, and what it is told to say to them. The core decides on the
// first and produces the second; the coordinator holds both and decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::api {

// The newest start of one process.
struct ProcessFacts {
  ProcessIdentity identity;
  Timestamp last_heard;
  std::optional<JoinRequest> waiting;  // it waits for a world
  std::optional<Beat> beat;            // its newest one
  Step left_step{0};                   // steps that were in its weights when it last left a world
  bool is_completed = false;
  bool has_met = false;   // it was in a world; until then it is still starting
  std::string weights{};  // the file that it left them in at the end; empty: it left none
  Timestamp listed{};     // when it told of the checkpoints that `waiting` has, for the first time
  Timestamp moved{};      // when it was first heard, began to wait, or told of another step or attempt
};

struct Seat {
  ProcessIdentity process;
  Assignment assignment;
};

// A member whose node will go at a time that is known.
struct Departure {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  WallTime at;

  friend bool operator==(const Departure&, const Departure&) = default;
};

// Of a job; its definition holds users to it.
constexpr std::uint32_t kProcessesPerNodeMax = 64;

// What all agents of a job are to know. The world is empty while an attempt forms.
// Of one pod: a bit for each local rank of which the job's status says that it is done.
struct RecordedDone {
  std::string member_uid;
  std::uint64_t local_ranks = 0;

  friend bool operator==(const RecordedDone&, const RecordedDone&) = default;
};

struct Announcement {
  Attempt attempt{0};
  std::vector<Seat> world;
  std::vector<ProcessIdentity> current;  // who may speak: each member, and its successor if it has one;
                                         // local_rank and start are unused
  std::vector<Departure> departures{};   // each is told to the member's own processes alone
  std::vector<RecordedDone> done{};
  std::uint64_t save_request = 0;  // grows when all are to save soon
  bool hand_over = false;          // successors are ready: save together, leave this world, join again
  bool stop = false;
  bool is_hung = false;  // the world before was given up because somebody hung
  // A process that waits, and told of its checkpoints before then, is to look for them again.
  std::optional<Timestamp> lists_from{};
  std::string reason{};
  // Local ranks from here on are nobody's. A job that is over says no more of it than what any job may have.
  std::uint32_t processes_per_node = kProcessesPerNodeMax;
};

}  // namespace ratoon::api
