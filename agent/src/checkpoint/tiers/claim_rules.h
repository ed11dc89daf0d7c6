// Whose claim it is, and what it means to who comes next. Looks at no clock or file; claim.h does.
//
// A job has a name and a UID, which is drawn: "team-a/digits of 6f1c...". The UID alone tells two jobs apart;
// the name is for people, and for agents that wrote none. A namesake, of the same name in a cluster with
// another UID, is a job that was made anew after the owner was deleted, or one of another cluster. Which of
// them cannot be told; but the first one's processes end soon. Outside of clusters a name is a place and a
// host, which two jobs may share: there another UID is another job. A UID lies in a file there, and is copied
// with it: one UID in two places is two jobs, and on two hosts it may be one that is moving.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

struct Owner {
  std::string job;    // who trains, over all its restarts: see job_text(); printable ASCII
  std::string start;  // this start of it, drawn anew each time

  friend bool operator==(const Owner&, const Owner&) = default;
};

// "team-a/digits of 6f1c..."; without a UID the name alone. One text, and not two lines of the claim: agents
// that know no UIDs read it, see that the place is another's now, and stop. The UID has no spaces.
[[nodiscard]] std::string job_text(const std::string& name, const std::string& uid);

// Pure. One job has one name and one UID. A UID that one of the two does not have is no difference: older
// agents write none.
enum class Kinship { kSame, kNamesake, kOther };
[[nodiscard]] Kinship kinship(std::string_view job, std::string_view other);
// Of which only one job's processes should have it.
[[nodiscard]] bool have_one_uid(std::string_view job, std::string_view other);

struct ClaimNote {
  std::uint64_t number = 0;
  Owner owner{};
  bool is_released = false;
  // Nobody can tell whose it is, as after a power cut: an owner that is alive makes the next claim.
  bool is_unreadable = false;

  friend bool operator==(const ClaimNote&, const ClaimNote&) = default;
};

// Whether a process of the owner's job holds it, this or another.
[[nodiscard]] bool is_held_by_job(const ClaimNote& note, const Owner& owner);

struct ClaimTimes {
  Duration lease{std::chrono::seconds(30)};  // renewed at least three times within
  Duration look{std::chrono::seconds(1)};    // while watching
  // How long a namesake may still show signs of life: its processes end with their grace period.
  Duration farewell{std::chrono::minutes(5)};
};

// What a newcomer saw of a place.
struct ClaimWatch {
  std::optional<ClaimNote> first{};
  std::optional<ClaimNote> now{};
  Duration watched{0};  // from the first to now
  Duration silent{0};   // without a change
};

enum class ClaimVerdict { kTake, kWatch, kRefuse };
// Pure. Another job that is alive keeps its place, and so does a namesake that is still alive after its
// farewell; the same job's earlier start never stands in the way of the next.
[[nodiscard]] ClaimVerdict judge_claim(const Owner& newcomer, const ClaimWatch& seen,
                                       const ClaimTimes& times);

[[nodiscard]] std::string encode_claim(const Owner& owner, bool is_released);
[[nodiscard]] Result<ClaimNote> decode_claim(std::uint64_t number, std::string_view text);

}  // namespace ratoon::checkpoint
