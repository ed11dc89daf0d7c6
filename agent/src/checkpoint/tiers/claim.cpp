#include "agent/src/checkpoint/tiers/claim.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kClaimBytesMax = 4096;
constexpr int kLostRacesMax = 100;  // each lost race means that another claim was created

std::string claim_name(std::uint64_t number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "c%010llu.txt", static_cast<unsigned long long>(number));
  return text.data();
}

std::string claim_path(std::uint64_t number) {
  return std::string(kClaims) + "/" + claim_name(number);
}

// Ignores numbers above kNumberMax, because Ratoon could not create the next claim after a claim with such a
// number.
std::optional<std::uint64_t> parse_claim_name(std::string_view name) {
  std::uint64_t number = 0;
  if (name.size() > 1) std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (number > kNumberMax || claim_name(number) != name) return std::nullopt;
  return number;
}

Result<std::vector<std::uint64_t>> list_numbers(const Disk& disk) {
  const auto entries = list_if_there(disk, kClaims);
  if (!entries) return entries.error();
  std::vector<std::uint64_t> numbers;
  for (const DiskEntry& entry : *entries) {
    if (const auto number = parse_claim_name(entry.name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Returns false if another process created a claim with the number of `claim` first, or created a later claim
// and then removed this process's temporary file.
Result<bool> create_claim(Disk& disk, const ClaimRecord& claim, std::string_view writer) {
  const auto saved = save_durably(disk, claim_path(claim.number),
                                  encode_claim(claim.owner, claim.term, claim.is_released), writer);
  if (saved) return true;
  const ErrorKind kind = saved.error().kind();
  if (kind == ErrorKind::kAlreadyExists || kind == ErrorKind::kNotFound) return false;
  return saved.error();
}

// Returns true if no claim has a higher number. A slow process may create a claim with an old number, if
// another process has already used that number and removed its claim.
Result<bool> is_newest(const Disk& disk, std::uint64_t number) {
  const auto numbers = list_numbers(disk);
  if (!numbers) return numbers.error();
  return !numbers->empty() && numbers->back() == number;
}

// Returns the number of the claim that the writer of a temporary file, such as ".c0000000012.txt.0123.tmp",
// wanted to create.
std::optional<std::uint64_t> parse_temporary_claim_name(std::string_view name) {
  constexpr std::string_view kEnding = ".tmp";
  const std::size_t bytes = claim_name(0).size();
  if (!name.starts_with('.') || !name.ends_with(kEnding) || name.size() <= bytes + 1) return std::nullopt;
  return parse_claim_name(name.substr(1, bytes));
}

// Removes all claims with a smaller number than `number`, and the temporary files of such claims that killed
// processes left.
void remove_older_claims(Disk& disk, std::uint64_t number) {
  const auto entries = list_if_there(disk, kClaims);
  if (!entries) return;  // old claims have no effect
  for (const DiskEntry& entry : *entries) {
    const auto claim = parse_claim_name(entry.name);
    const auto old = claim ? claim : parse_temporary_claim_name(entry.name);
    if (old && *old < number) static_cast<void>(disk.remove(std::string(kClaims) + "/" + entry.name));
  }
}

Error claim_held_error(const Disk& disk, const ClaimRecord& by, const Owner& newcomer) {
  if (!by.read_fault.empty()) {  // of this machine, perhaps: the job may be this one
    return {ErrorKind::kIo, disk.shown(claim_path(by.number)) +
                                " cannot be read, although newer claims follow it (" + by.read_fault +
                                "): start this run again once the disk can be read; nothing was changed"};
  }
  if (by.is_unreadable) {
    return {ErrorKind::kAlreadyExists, disk.shown(claim_path(by.number)) +
                                           " cannot be read, and newer claims follow it: a job trains here; "
                                           "end it, or give this run another name; nothing was changed"};
  }
  if (have_same_uid(newcomer.job, by.owner.job)) {
    return {ErrorKind::kAlreadyExists,
            disk.shown(claim_path(by.number)) + " says that the job " + by.owner.job +
                " trains here, and that job is alive; this job is " + newcomer.job +
                " and has the same identity, for example because its folder was copied or is "
                "reached by another path: end that job, or give this run another name; nothing was changed"};
  }
  const bool is_namesake = compare_jobs(newcomer.job, by.owner.job) == JobRelation::kNamesake;
  return {ErrorKind::kAlreadyExists,
          disk.shown(claim_path(by.number)) + " says that the job " + by.owner.job + " trains here, and " +
              (is_namesake ? "that job is alive; this job has the same name, but is " + newcomer.job +
                                 ": end the other job, which may run in another cluster, "
                           : "the job is alive: end it, ") +
              "or give this run another name; nothing was changed"};
}

// Returns an error after which the caller may retry: this process lost no claim, and its request was valid.
Error claims_change_too_fast_error(const Disk& disk) {
  return {ErrorKind::kUnavailable,
          "the claims in " + disk.shown(kClaims) + " change all the time: start this run again"};
}

// Creates the claim. Returns false if another process created a claim with the same number first.
Result<bool> create_numbered_claim(Disk& disk, const ClaimRecord& claim, std::string_view writer) {
  if (auto made = make_folders(disk, kClaims, Durability::kSurvivesPowerCuts); !made) return made.error();
  const auto created = create_claim(disk, claim, writer);
  if (!created || !*created) return created;
  const auto is_ours = is_newest(disk, claim.number);
  if (!is_ours) return is_ours;
  if (*is_ours)
    remove_older_claims(disk, claim.number);
  else
    static_cast<void>(disk.remove(claim_path(claim.number)));
  return is_ours;
}

std::string describe_owner(const ClaimRecord& note) {
  if (note.is_unreadable) return "a job whose claim cannot be read";
  return "the job " + note.owner.job + ", start " + note.owner.start;
}

Error claim_lost_error(const Disk& disk, const std::optional<ClaimRecord>& now) {
  return {ErrorKind::kConflict, disk.shown(kClaims) + " now belongs to " +
                                    (now ? describe_owner(*now) : std::string("no job")) +
                                    " and no longer to this process, which stops writing here"};
}

Error claim_superseded_error(const Disk& disk, const ClaimRecord& now) {
  return {ErrorKind::kConflict,
          disk.shown(claim_path(now.number)) + " says that the job " + now.owner.job +
              " owns this folder or store since its claim " + std::to_string(now.term) +
              ", but this attempt began before that claim: another job wrote here since and may have saved "
              "newer checkpoints; this attempt commits and reports nothing more"};
}

// If the disk fails to read the newest claim, calls may_be_refused() with the number of the claim. If
// may_be_refused() returns true, treats the claim as unreadable. If it returns false, returns the disk's
// error.
Result<std::optional<ClaimRecord>> read_newest_claim(
    const Disk& disk, const std::function<bool(std::uint64_t)>& may_be_refused) {
  for (int i = 0; i < kLostRacesMax; ++i) {
    const auto numbers = list_numbers(disk);
    if (!numbers) return numbers.error();
    if (numbers->empty()) return std::optional<ClaimRecord>();
    const std::string path = claim_path(numbers->back());
    const auto text =
        read_file_with_retry(disk, path, [&] { return read_whole_file(disk, path, kClaimBytesMax); });
    if (!text && text.error().kind() == ErrorKind::kNotFound) continue;  // renewed and removed since the list
    const bool is_refused = !text && text.error().kind() == ErrorKind::kIo && may_be_refused(numbers->back());
    const bool is_damaged = !text && text.error().kind() == ErrorKind::kCorrupted;
    if (!text && !is_damaged && !is_refused) return text.error();
    auto note = text ? decode_claim(numbers->back(), *text) : Result<ClaimRecord>(text.error());
    if (!note)
      return std::optional(ClaimRecord{.number = numbers->back(),
                                       .is_unreadable = true,
                                       .read_fault = is_refused ? text.error().message() : ""});
    return std::optional(*std::move(note));
  }
  return claims_change_too_fast_error(disk);
}

}  // namespace

Result<void> confirm_claim(const Disk& disk, const Owner& owner, std::uint64_t term) {
  const auto now = newest_claim(disk);
  if (!now) return now.error();
  if (*now && (*now)->is_unreadable) return {};
  if (!*now || !was_made_by_job(**now, owner)) return claim_lost_error(disk, *now);
  return is_same_term((*now)->term, term) ? Result<void>() : claim_superseded_error(disk, **now);
}

Result<bool> renew_for_owner(Disk& disk, const ClaimRecord& claim, std::string_view writer) {
  return create_numbered_claim(disk, {.number = claim.number + 1, .owner = claim.owner, .term = claim.term},
                               writer);
}

Result<std::optional<ClaimRecord>> newest_claim(const Disk& disk) {
  return read_newest_claim(disk, [](std::uint64_t) { return false; });
}

bool may_clean_up(const Disk& disk, const Owner& owner, std::uint64_t term) {
  const auto newest = newest_claim(disk);
  if (!newest || !*newest) return true;
  const ClaimRecord& now = **newest;
  return !now.is_unreadable && now.owner == owner && is_same_term(now.term, term);
}

Result<Claim> Claim::take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                          const Clock& clock, const PauseFunction& pause, SeenClaim& seen) {
  auto taken = compete_for_claim(std::move(disk), std::move(owner), times, clock, pause, seen,
                                 SameJobClaim::kIsReplaced);
  if (!taken) return taken.error();
  return *std::move(*taken);
}

Result<std::optional<Claim>> Claim::take_for_job(std::shared_ptr<Disk> disk, Owner owner,
                                                 const ClaimTimes& times, const Clock& clock,
                                                 const PauseFunction& pause, SeenClaim& seen) {
  return compete_for_claim(std::move(disk), std::move(owner), times, clock, pause, seen,
                           SameJobClaim::kIsEnough);
}

Result<std::optional<Claim>> Claim::compete_for_claim(std::shared_ptr<Disk> disk, Owner owner,
                                                      const ClaimTimes& times, const Clock& clock,
                                                      const PauseFunction& pause, SeenClaim& seen,
                                                      SameJobClaim same_job_claim) {
  const Timestamp began = clock.now();
  ClaimObservation watch;
  std::uint64_t raced_after = kNumberMax;
  for (int races = 0; races < kLostRacesMax;) {
    // If the disk fails to read a claim, treat the claim as unreadable and do not return the error. A bad
    // sector stays unreadable, so with the error no job could ever claim the folder again.
    auto now = read_newest_claim(*disk, [](std::uint64_t) { return true; });
    if (!now) return now.error();
    const Timestamp at = clock.now();
    const std::uint64_t newest = *now ? (*now)->number : 0;
    if (newest != seen.number)
      seen = {.number = newest, .since = at, .term = *now ? (*now)->term : kUnknownTerm};
    const bool is_of_the_job = *now && is_held_by_job(**now, owner);
    if (is_of_the_job && same_job_claim == SameJobClaim::kIsEnough) return std::optional<Claim>();
    if (!watch.first) watch.first = *now;
    watch = {.first = watch.first,
             .now = *now,
             .observed_duration = at - began,
             .unchanged_duration = at - seen.since};
    const ClaimVerdict verdict = judge_claim(owner, watch, times);
    if (verdict == ClaimVerdict::kRefuse) return claim_held_error(*disk, **now, owner);
    if (verdict == ClaimVerdict::kWatch) {
      if (!pause(times.poll_interval))
        return Error(ErrorKind::kCancelled, "the wait for " + disk->shown(kClaims) + " was cancelled");
      continue;
    }
    const std::uint64_t term = next_term(*now, owner, newest + 1);
    const auto created =
        create_numbered_claim(*disk, {.number = newest + 1, .owner = owner, .term = term}, owner.start);
    if (!created) return created.error();
    if (*created) {
      const bool follows_another_job = *now && !was_made_by_job(**now, owner);
      return std::optional(Claim(std::move(disk), std::move(owner), newest + 1, term, follows_another_job));
    }
    // A claim that another process of the same job created does not count as a lost race.
    if (!is_of_the_job || newest == std::exchange(raced_after, newest)) ++races;
  }
  return claims_change_too_fast_error(*disk);
}

Result<void> Claim::write_next(bool is_released) {
  for (int races = 0; races < kLostRacesMax; ++races) {
    const auto now = read_newest_claim(*disk_, [this](std::uint64_t number) { return number == number_; });
    if (!now) return now.error();
    // A damaged claim names no owner. It is this process's own claim if it has the number of the claim that
    // this process created.
    const bool is_ours =
        *now && ((*now)->owner == owner_ || ((*now)->is_unreadable && (*now)->number == number_));
    if (!is_ours) return claim_lost_error(*disk_, *now);
    // The newest claim may belong to this process although its number is higher than number_: the reply to
    // its creation was lost, or another process of the job renewed it for this process.
    const std::uint64_t next = std::max((*now)->number, number_) + 1;
    const auto created = create_claim(
        *disk_, {.number = next, .owner = owner_, .is_released = is_released, .term = term_}, owner_.start);
    if (!created) return created.error();
    if (!*created) continue;  // of a new owner, or for this one: the next look tells
    number_ = next;
    remove_older_claims(*disk_, next);
    return {};
  }
  return claims_change_too_fast_error(*disk_);
}

Result<void> Claim::renew() {
  return write_next(false);
}

Result<void> Claim::release() {
  return write_next(true);
}

}  // namespace ratoon::checkpoint
