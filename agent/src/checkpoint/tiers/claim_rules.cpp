#include "agent/src/checkpoint/tiers/claim_rules.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kFirstLine = "ratoon claim 1\n";
constexpr std::string_view kOf = " of ";  // between a job's name and its UID

struct JobName {
  std::string_view name;
  std::string_view uid;  // empty: it has none
};

// The place of a run that is in no pod may have " of " in it, and then a space behind that.
JobName parse_job(std::string_view job) {
  const std::size_t at = job.rfind(kOf);
  if (at == std::string_view::npos) return {.name = job, .uid = {}};
  const std::string_view uid = job.substr(at + kOf.size());
  if (uid.empty() || uid.find(' ') != std::string_view::npos) return {.name = job, .uid = {}};
  return {.name = job.substr(0, at), .uid = uid};
}

// "/data/runs/digits on here", "s3://bucket/runs/digits on here", and no "team-a/digits".
bool is_place(std::string_view name) {
  return name.starts_with('/') || name.find("://") != std::string_view::npos;
}

// "/data/runs/digits" of "/data/runs/digits on here".
std::string_view folder_named_in(std::string_view place) {
  return place.substr(0, place.rfind(" on "));
}

// "value" of the line "name value\n" at the beginning of the text, which it takes away.
std::optional<std::string> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name) || end <= name.size() ||
      text[name.size()] != ' ')
    return std::nullopt;
  std::string value(text.substr(name.size() + 1, end - name.size() - 1));
  text.remove_prefix(end + 1);
  return value;
}

}  // namespace

std::string job_text(const std::string& name, const std::string& uid) {
  return uid.empty() ? name : name + std::string(kOf) + uid;
}

Kinship kinship(std::string_view job, std::string_view other) {
  const JobName a = parse_job(job);
  const JobName b = parse_job(other);
  const bool are_places = is_place(a.name) && is_place(b.name);
  if (a.name != b.name) {
    const bool is_other_host = are_places && !a.uid.empty() && a.uid == b.uid;
    return is_other_host && folder_named_in(a.name) == folder_named_in(b.name) ? Kinship::kNamesake
                                                                               : Kinship::kOther;
  }
  if (a.uid.empty() || b.uid.empty() || a.uid == b.uid) return Kinship::kSame;
  return are_places ? Kinship::kOther : Kinship::kNamesake;
}

bool have_one_uid(std::string_view job, std::string_view other) {
  const std::string_view uid = parse_job(job).uid;
  return !uid.empty() && uid == parse_job(other).uid;
}

bool is_held_by_job(const ClaimNote& note, const Owner& owner) {
  return !note.is_released && !note.is_unreadable && kinship(owner.job, note.owner.job) == Kinship::kSame;
}

ClaimVerdict judge_claim(const Owner& newcomer, const ClaimWatch& seen, const ClaimTimes& times) {
  if (!seen.now || seen.now->is_released) return ClaimVerdict::kTake;
  const Kinship to_owner =
      seen.now->is_unreadable ? Kinship::kOther : kinship(newcomer.job, seen.now->owner.job);
  if (to_owner == Kinship::kSame || seen.silent >= times.lease) return ClaimVerdict::kTake;
  const bool has_shown_life = seen.first && seen.first->number != seen.now->number;
  const Duration borne = to_owner == Kinship::kNamesake ? times.farewell : Duration(0);
  return has_shown_life && seen.watched >= borne ? ClaimVerdict::kRefuse : ClaimVerdict::kWatch;
}

std::string encode_claim(const Owner& owner, bool is_released) {
  return std::string(kFirstLine) + "job " + owner.job + "\nstart " + owner.start + "\nstate " +
         (is_released ? "released" : "held") + "\n";
}

Result<ClaimNote> decode_claim(std::uint64_t number, std::string_view text) {
  const Error refusal(ErrorKind::kCorrupted, "it is no claim that this version understands");
  if (!text.starts_with(kFirstLine)) return refusal;
  text.remove_prefix(kFirstLine.size());
  const auto job = take_line(text, "job");
  const auto start = job ? take_line(text, "start") : std::nullopt;
  const auto state = start ? take_line(text, "state") : std::nullopt;
  if (!state || !text.empty() || (*state != "held" && *state != "released")) return refusal;
  return ClaimNote{
      .number = number, .owner = {.job = *job, .start = *start}, .is_released = *state == "released"};
}

}  // namespace ratoon::checkpoint
