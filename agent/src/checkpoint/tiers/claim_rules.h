// The rules for claims: which job owns a claim, and whether a newcomer may take the place. Only claim.h reads
// a clock and files.
//
// A job has a name and a random UID: "team-a/digits of 6f1c...". Only the UID distinguishes two jobs. The
// name is for people, and for claims of older agents, which wrote no UID. In a cluster, a namesake is a job
// with the same name and another UID. The namesake was created again after the owner was deleted, or it
// belongs to another cluster. A newcomer cannot distinguish these two namesakes, but the processes of a
// deleted job end soon. Outside of clusters a name is a place and a host, which two jobs may share: there
// another UID means another job. Outside of clusters the UID lies in a file and is copied with it: one UID in
// two places means two jobs, and on two hosts it may mean one job that moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

struct Owner {
  std::string job;    // the same over all restarts: see job_text(); printable ASCII
  std::string start;  // this start of the job; random

  friend bool operator==(const Owner&, const Owner&) = default;
};

// Returns "team-a/digits of 6f1c..."; without a UID, only the name. A UID has no spaces. Name and UID are one
// text, not two lines of the claim: older agents, which do not know UIDs, then see another owner and stop.
[[nodiscard]] std::string job_text(const std::string& name, const std::string& uid);

// Pure. One job has one name and one UID. A missing UID matches any UID, since older agents write no UID.
enum class JobRelation { kSame, kNamesake, kOther };
[[nodiscard]] JobRelation relation_of(std::string_view job, std::string_view other);
// Whether both jobs have the same UID, which only processes of one job should have.
[[nodiscard]] bool have_one_uid(std::string_view job, std::string_view other);

struct ClaimNote {
  std::uint64_t number = 0;
  Owner owner{};
  bool is_released = false;
  // The owner of this claim is unknown, for example after a power cut. An owner that is alive creates the
  // next claim.
  bool is_unreadable = false;

  friend bool operator==(const ClaimNote&, const ClaimNote&) = default;
};

// Whether a process of the owner's job made the claim, held or released.
[[nodiscard]] bool is_of_job(const ClaimNote& note, const Owner& owner);
// Whether any process of the owner's job holds the claim.
[[nodiscard]] bool is_held_by_job(const ClaimNote& note, const Owner& owner);

struct ClaimTimes {
  Duration lease{std::chrono::seconds(30)};  // renewed at least three times per lease
  Duration look{std::chrono::seconds(1)};    // between two reads while watching
  // How long a deleted namesake may still renew its claim: its processes end within their grace period.
  Duration namesake_wait{std::chrono::minutes(5)};
};

// A newcomer's observations of the newest claim.
struct ClaimWatch {
  std::optional<ClaimNote> first{};
  std::optional<ClaimNote> now{};
  Duration watched{0};  // from the first to now
  Duration silent{0};   // without a change
};

enum class ClaimVerdict { kTake, kWatch, kRefuse };
// Pure. Another job that is alive keeps the place. A namesake that is still alive after its namesake_wait
// keeps its place, too. An earlier start of the same job never blocks the next start.
[[nodiscard]] ClaimVerdict judge_claim(const Owner& newcomer, const ClaimWatch& seen,
                                       const ClaimTimes& times);

[[nodiscard]] std::string encode_claim(const Owner& owner, bool is_released);
[[nodiscard]] Result<ClaimNote> decode_claim(std::uint64_t number, std::string_view text);

}  // namespace ratoon::checkpoint
