#include "agent/src/checkpoint/tiers/claim_rules.h"

#include <charconv>

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kFirstLine = "ratoon claim 1\n";
constexpr std::string_view kUidSeparator = " of ";      // between a job's name and its UID
constexpr std::string_view kTermSeparator = " since ";  // between a start and its term

struct JobName {
  std::string_view name;
  std::string_view uid;  // empty: it has none
};

// Search for the last " of ", because outside of a cluster a job's name contains a path, and a path may
// contain " of ", too. The text after the last " of " is the UID, unless it contains a space.
JobName parse_job(std::string_view job) {
  const std::size_t at = job.rfind(kUidSeparator);
  if (at == std::string_view::npos) return {.name = job, .uid = {}};
  const std::string_view uid = job.substr(at + kUidSeparator.size());
  if (uid.empty() || uid.find(' ') != std::string_view::npos) return {.name = job, .uid = {}};
  return {.name = job.substr(0, at), .uid = uid};
}

// Returns true for the name of a job outside of a cluster, such as "/data/runs/digits on here", where `here`
// is a host. Returns false for the name of a job in a cluster, such as "team-a/digits".
bool is_folder_or_store(std::string_view name) {
  return name.starts_with('/') || name.find("://") != std::string_view::npos;
}

// Returns the job's name without its host: "/data/runs/digits" for "/data/runs/digits on here".
std::string_view folder_in_job_name(std::string_view place) {
  return place.substr(0, place.rfind(" on "));
}

// Removes the line "name value\n" from the beginning of the text and returns "value".
std::optional<std::string> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name) || end <= name.size() ||
      text[name.size()] != ' ')
    return std::nullopt;
  std::string value(text.substr(name.size() + 1, end - name.size() - 1));
  text.remove_prefix(end + 1);
  return value;
}

// Removes " since 7" from "0f3a since 7" and returns the term 7; without a valid term returns kUnknownTerm.
std::uint64_t take_claim_term(std::string& start) {
  const std::size_t at = start.rfind(kTermSeparator);
  if (at == std::string::npos) return kUnknownTerm;
  const std::string digits = start.substr(at + kTermSeparator.size());
  std::uint64_t term = kUnknownTerm;
  std::from_chars(digits.data(), digits.data() + digits.size(), term);
  if (std::to_string(term) != digits || term == kUnknownTerm || term == kNoTerm) return kUnknownTerm;
  start.resize(at);
  return term;
}

}  // namespace

std::string job_text(const std::string& name, const std::string& uid) {
  return uid.empty() ? name : name + std::string(kUidSeparator) + uid;
}

JobRelation compare_jobs(std::string_view job, std::string_view other) {
  const JobName a = parse_job(job);
  const JobName b = parse_job(other);
  const bool are_places = is_folder_or_store(a.name) && is_folder_or_store(b.name);
  if (a.name != b.name) {
    const bool is_other_host = are_places && !a.uid.empty() && a.uid == b.uid;
    return is_other_host && folder_in_job_name(a.name) == folder_in_job_name(b.name) ? JobRelation::kNamesake
                                                                                     : JobRelation::kOther;
  }
  if (a.uid.empty() || b.uid.empty() || a.uid == b.uid) return JobRelation::kSame;
  return are_places ? JobRelation::kOther : JobRelation::kNamesake;
}

bool have_same_uid(std::string_view job, std::string_view other) {
  const std::string_view uid = parse_job(job).uid;
  return !uid.empty() && uid == parse_job(other).uid;
}

bool was_made_by_job(const ClaimRecord& note, const Owner& owner) {
  return !note.is_unreadable && compare_jobs(owner.job, note.owner.job) == JobRelation::kSame;
}

bool is_held_by_job(const ClaimRecord& note, const Owner& owner) {
  return !note.is_released && was_made_by_job(note, owner);
}

std::uint64_t next_term(const std::optional<ClaimRecord>& now, const Owner& owner, std::uint64_t number) {
  const bool goes_on = now && was_made_by_job(*now, owner) && now->term != kUnknownTerm;
  return goes_on ? now->term : number;
}

bool is_same_term(std::uint64_t term, std::uint64_t other) {
  if (term == kNoTerm || other == kNoTerm) return false;
  return term == other || term == kUnknownTerm || other == kUnknownTerm;
}

ClaimVerdict judge_claim(const Owner& newcomer, const ClaimObservation& seen, const ClaimTimes& times) {
  if (!seen.now || seen.now->is_released) return ClaimVerdict::kTake;
  const JobRelation to_owner =
      seen.now->is_unreadable ? JobRelation::kOther : compare_jobs(newcomer.job, seen.now->owner.job);
  if (to_owner == JobRelation::kSame || seen.unchanged_duration >= times.lease) return ClaimVerdict::kTake;
  const bool has_shown_life = seen.first && seen.first->number != seen.now->number;
  const Duration borne = to_owner == JobRelation::kNamesake ? times.namesake_wait : Duration(0);
  return has_shown_life && seen.observed_duration >= borne ? ClaimVerdict::kRefuse : ClaimVerdict::kWatch;
}

// The term is at the end of the line "start", because older agents refuse a claim with an additional line.
std::string encode_claim(const Owner& owner, std::uint64_t term, bool is_released) {
  const std::string since = term == kUnknownTerm ? "" : std::string(kTermSeparator) + std::to_string(term);
  return std::string(kFirstLine) + "job " + owner.job + "\nstart " + owner.start + since + "\nstate " +
         (is_released ? "released" : "held") + "\n";
}

Result<ClaimRecord> decode_claim(std::uint64_t number, std::string_view text) {
  const Error refusal(ErrorKind::kCorrupted, "it is no claim that this version understands");
  if (!text.starts_with(kFirstLine)) return refusal;
  text.remove_prefix(kFirstLine.size());
  const auto job = take_line(text, "job");
  auto start = job ? take_line(text, "start") : std::nullopt;
  const auto state = start ? take_line(text, "state") : std::nullopt;
  if (!state || !text.empty() || (*state != "held" && *state != "released")) return refusal;
  const std::uint64_t term = take_claim_term(*start);
  return ClaimRecord{.number = number,
                     .owner = {.job = *job, .start = *std::move(start)},
                     .is_released = *state == "released",
                     .term = term};
}

}  // namespace ratoon::checkpoint
