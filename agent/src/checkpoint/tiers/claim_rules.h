// The rules for claims on a run's folder or store: which job owns a claim, and whether another process may
// take it over. The rules are pure functions: only claim.h reads a clock and files.
//
// A job has a name and a random UID: "team-a/digits of 6f1c...". Only the UID distinguishes two jobs of one
// name. People read the name, and claims of older agents contain only the name. In a cluster, two jobs with
// one name and two UIDs are namesakes. Namesakes exist if a user deletes a job and creates it again, or if
// two clusters have a job of one name. A job cannot know whether its namesake was deleted, but the processes
// of a deleted job end soon. Outside of clusters a job's name is a folder and a host, and one name with two
// UIDs means two jobs. Outside of clusters the UID is in a file, which may be copied: one UID in two folders
// means two jobs, and one UID on two hosts may mean one job that moves.
//
// A term is the time in which a folder or store belongs to one job without a break. The number of a term is
// the number of the job's first claim in that term. All later claims in the term contain this number. A
// process that slept while another job owned the folder finds another term in the newest claim, even if its
// own job owns the folder again.
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

// Returns the name and the UID of a job as one text, such as "team-a/digits of 6f1c...". If `uid` is empty,
// returns only the name. `uid` must not contain spaces. A claim contains name and UID as one text and not as
// two lines, so that an older agent that does not know UIDs sees another owner and stops.
[[nodiscard]] std::string job_text(const std::string& name, const std::string& uid);

// compare_jobs() compares two texts of job_text(). One job has one name and one UID. A text without a UID
// matches a text with any UID, since older agents write no UID.
enum class JobRelation { kSame, kNamesake, kOther };
[[nodiscard]] JobRelation compare_jobs(std::string_view job, std::string_view other);
// Returns true if both job texts have the same UID, which should mean that they name one job.
[[nodiscard]] bool have_same_uid(std::string_view job, std::string_view other);

inline constexpr std::uint64_t kUnknownTerm = 0;  // of claims of older versions, which have no term
inline constexpr std::uint64_t kNoTerm = ~std::uint64_t{0};  // while the place is another job's

struct ClaimRecord {
  std::uint64_t number = 0;
  Owner owner{};
  bool is_released = false;
  // The claim cannot be read, for example after a power cut, so its owner is unknown. If the owner is alive,
  // it soon creates the next claim, which can be read.
  bool is_unreadable = false;
  std::string read_fault{};  // why the disk did not read it; empty if its text is damaged
  std::uint64_t term = kUnknownTerm;

  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// Returns true if a process of the same job as `owner` made the claim, even if it has released the claim.
[[nodiscard]] bool was_made_by_job(const ClaimRecord& note, const Owner& owner);
// Returns true if any process of the same job as `owner` holds the claim.
[[nodiscard]] bool is_held_by_job(const ClaimRecord& note, const Owner& owner);

// Returns the term of the claim `number` that `owner` makes after the claim `now`.
[[nodiscard]] std::uint64_t next_term(const std::optional<ClaimRecord>& now, const Owner& owner,
                                      std::uint64_t number);
// kUnknownTerm, the term of claims that older versions of Ratoon wrote, matches every term except kNoTerm.
[[nodiscard]] bool is_same_term(std::uint64_t term, std::uint64_t other);

struct ClaimTimes {
  Duration lease{std::chrono::seconds(30)};         // renewed at least three times per lease
  Duration poll_interval{std::chrono::seconds(1)};  // between two reads while watching
  // If a deleted job had the name of this job, the processes of the deleted job may still renew its claim for
  // the time namesake_wait. These processes end within their grace period.
  Duration namesake_wait{std::chrono::minutes(5)};
};

// The observations of a process that wants to claim a folder or store in which a claim already exists.
struct ClaimObservation {
  std::optional<ClaimRecord> first{};
  std::optional<ClaimRecord> now{};
  Duration observed_duration{0};   // from the first to now
  Duration unchanged_duration{0};  // without a change
};

enum class ClaimVerdict { kTake, kWatch, kRefuse };
// Refuses the newcomer if another job renews the claim. A namesake blocks the newcomer only if it still
// renews after namesake_wait. An earlier start of the same job never blocks the next start.
[[nodiscard]] ClaimVerdict judge_claim(const Owner& newcomer, const ClaimObservation& seen,
                                       const ClaimTimes& times);

[[nodiscard]] std::string encode_claim(const Owner& owner, std::uint64_t term, bool is_released);
[[nodiscard]] Result<ClaimRecord> decode_claim(std::uint64_t number, std::string_view text);

}  // namespace ratoon::checkpoint
