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
constexpr int kRacesMax = 100;  // each lost race means that another claim was created

std::string claim_name(std::uint64_t number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "c%010llu.txt", static_cast<unsigned long long>(number));
  return text.data();
}

std::string claim_path(std::uint64_t number) {
  return std::string(kClaims) + "/" + claim_name(number);
}

// Ignore a number above the maximum: Ratoon never uses it, and could not create a claim with a higher one.
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

// Returns false if another process created the claim of its number first, or created a later claim and then
// removed this process's temporary file.
Result<bool> create_claim(Disk& disk, const ClaimNote& claim, std::string_view writer) {
  const auto saved = save_durably(disk, claim_path(claim.number),
                                  encode_claim(claim.owner, claim.term, claim.is_released), writer);
  if (saved) return true;
  const ErrorKind kind = saved.error().kind();
  if (kind == ErrorKind::kAlreadyExists || kind == ErrorKind::kNotFound) return false;
  return saved.error();
}

// A slow process may create a claim with an old number, after another process has used that number and
// removed its claim. Checks that no claim with a higher number exists.
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

// Removes all claims that are older than this one, and temporary files that killed processes left.
void tidy_before(Disk& disk, std::uint64_t number) {
  const auto entries = list_if_there(disk, kClaims);
  if (!entries) return;  // old claims have no effect
  for (const DiskEntry& entry : *entries) {
    const auto claim = parse_claim_name(entry.name);
    const auto old = claim ? claim : parse_temporary_claim_name(entry.name);
    if (old && *old < number) static_cast<void>(disk.remove(std::string(kClaims) + "/" + entry.name));
  }
}

Error occupied(const Disk& disk, const ClaimNote& by, const Owner& newcomer) {
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
  if (have_one_uid(newcomer.job, by.owner.job)) {
    return {ErrorKind::kAlreadyExists,
            disk.shown(claim_path(by.number)) + " says that the job " + by.owner.job +
                " trains here, and that job is alive; this is " + newcomer.job +
                ", which has the same identity, as after a folder was copied or "
                "reached by another path: end that job, or give this run another name; nothing was changed"};
  }
  const bool is_namesake = relation_of(newcomer.job, by.owner.job) == JobRelation::kNamesake;
  return {ErrorKind::kAlreadyExists,
          disk.shown(claim_path(by.number)) + " says that the job " + by.owner.job + " trains here, and " +
              (is_namesake ? "it is still alive, while this job of the same name is " + newcomer.job +
                                 ": end that job, in whichever cluster it is, "
                           : "the job is alive: end it, ") +
              "or give this run another name; nothing was changed"};
}

// Return an error that the caller may retry: this process has lost no claim, and the request was valid.
Error change_all_the_time(const Disk& disk) {
  return {ErrorKind::kUnavailable,
          "the claims in " + disk.shown(kClaims) + " change all the time: start this run again"};
}

// Creates the claim. Returns false if another process created the claim of its number first.
Result<bool> take_number(Disk& disk, const ClaimNote& claim, std::string_view writer) {
  if (auto made = make_folders(disk, kClaims, Durability::kPowerCuts); !made) return made.error();
  const auto created = create_claim(disk, claim, writer);
  if (!created || !*created) return created;
  const auto is_ours = is_newest(disk, claim.number);
  if (!is_ours) return is_ours;
  if (*is_ours)
    tidy_before(disk, claim.number);
  else
    static_cast<void>(disk.remove(claim_path(claim.number)));
  return is_ours;
}

std::string described(const ClaimNote& note) {
  if (note.is_unreadable) return "a job whose claim cannot be read";
  return "the job " + note.owner.job + ", start " + note.owner.start;
}

Error lost_to(const Disk& disk, const std::optional<ClaimNote>& now) {
  return {ErrorKind::kConflict, disk.shown(kClaims) + " belongs to " +
                                    (now ? described(*now) : std::string("no job")) +
                                    " now, and no longer to this process: it stops writing here"};
}

Error superseded(const Disk& disk, const ClaimNote& now) {
  return {ErrorKind::kConflict,
          disk.shown(claim_path(now.number)) + " says that the job " + now.owner.job +
              " has this place since its claim " + std::to_string(now.term) +
              ", but this attempt began before: another job used the place since then and may have saved "
              "newer checkpoints; this attempt commits and reports nothing more"};
}

// `may_be_refused` decides about a claim that the disk fails to read: true counts it as
// unreadable, false returns the error.
Result<std::optional<ClaimNote>> read_newest_claim(const Disk& disk,
                                                   const std::function<bool(std::uint64_t)>& may_be_refused) {
  for (int i = 0; i < kRacesMax; ++i) {
    const auto numbers = list_numbers(disk);
    if (!numbers) return numbers.error();
    if (numbers->empty()) return std::optional<ClaimNote>();
    const std::string path = claim_path(numbers->back());
    const auto text = read_file_twice(disk, path, [&] { return read_whole(disk, path, kClaimBytesMax); });
    if (!text && text.error().kind() == ErrorKind::kNotFound) continue;  // renewed and removed since the list
    const bool is_refused = !text && text.error().kind() == ErrorKind::kIo && may_be_refused(numbers->back());
    const bool is_damaged = !text && text.error().kind() == ErrorKind::kCorrupted;
    if (!text && !is_damaged && !is_refused) return text.error();
    auto note = text ? decode_claim(numbers->back(), *text) : Result<ClaimNote>(text.error());
    if (!note)
      return std::optional(ClaimNote{.number = numbers->back(),
                                     .is_unreadable = true,
                                     .read_fault = is_refused ? text.error().message() : ""});
    return std::optional(*std::move(note));
  }
  return change_all_the_time(disk);
}

}  // namespace

Result<void> confirm_claim(const Disk& disk, const Owner& owner, std::uint64_t term) {
  const auto now = newest_claim(disk);
  if (!now) return now.error();
  if (*now && (*now)->is_unreadable) return {};
  if (!*now || !is_of_job(**now, owner)) return lost_to(disk, *now);
  return is_same_term((*now)->term, term) ? Result<void>() : superseded(disk, **now);
}

Result<bool> keep_alive(Disk& disk, const ClaimNote& claim, std::string_view writer) {
  return take_number(disk, {.number = claim.number + 1, .owner = claim.owner, .term = claim.term}, writer);
}

Result<std::optional<ClaimNote>> newest_claim(const Disk& disk) {
  return read_newest_claim(disk, [](std::uint64_t) { return false; });
}

bool may_clean_up(const Disk& disk, const Owner& owner, std::uint64_t term) {
  const auto newest = newest_claim(disk);
  if (!newest || !*newest) return true;
  const ClaimNote& now = **newest;
  return !now.is_unreadable && now.owner == owner && is_same_term(now.term, term);
}

Result<Claim> Claim::take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                          const Clock& clock, const Pause& pause, SeenClaim& seen) {
  auto taken =
      contend(std::move(disk), std::move(owner), times, clock, pause, seen, SameJobClaim::kIsReplaced);
  if (!taken) return taken.error();
  return *std::move(*taken);
}

Result<std::optional<Claim>> Claim::enter(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const Pause& pause, SeenClaim& seen) {
  return contend(std::move(disk), std::move(owner), times, clock, pause, seen, SameJobClaim::kIsEnough);
}

Result<std::optional<Claim>> Claim::contend(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                            const Clock& clock, const Pause& pause, SeenClaim& seen,
                                            SameJobClaim same_job_claim) {
  const Timestamp began = clock.now();
  ClaimWatch watch;
  std::uint64_t raced_after = kNumberMax;
  for (int races = 0; races < kRacesMax;) {
    // If the disk fails to read a claim, treat the claim as unreadable and do not return the error: a bad
    // sector stays unreadable, and no job could ever claim the folder again.
    auto now = read_newest_claim(*disk, [](std::uint64_t) { return true; });
    if (!now) return now.error();
    const Timestamp at = clock.now();
    const std::uint64_t newest = *now ? (*now)->number : 0;
    if (newest != seen.number)
      seen = {.number = newest, .since = at, .term = *now ? (*now)->term : kUnknownTerm};
    const bool is_of_the_job = *now && is_held_by_job(**now, owner);
    if (is_of_the_job && same_job_claim == SameJobClaim::kIsEnough) return std::optional<Claim>();
    if (!watch.first) watch.first = *now;
    watch = {.first = watch.first, .now = *now, .watched = at - began, .silent = at - seen.since};
    const ClaimVerdict verdict = judge_claim(owner, watch, times);
    if (verdict == ClaimVerdict::kRefuse) return occupied(*disk, **now, owner);
    if (verdict == ClaimVerdict::kWatch) {
      if (!pause(times.look))
        return Error(ErrorKind::kCancelled, "the wait for " + disk->shown(kClaims) + " was cancelled");
      continue;
    }
    const std::uint64_t term = next_term(*now, owner, newest + 1);
    const auto created =
        take_number(*disk, {.number = newest + 1, .owner = owner, .term = term}, owner.start);
    if (!created) return created.error();
    if (*created) {
      const bool follows_another_job = *now && !is_of_job(**now, owner);
      return std::optional(Claim(std::move(disk), std::move(owner), newest + 1, term, follows_another_job));
    }
    // A claim that another process of the same job has created does not count as a lost race.
    if (!is_of_the_job || newest == std::exchange(raced_after, newest)) ++races;
  }
  return change_all_the_time(*disk);
}

Result<void> Claim::write_next(bool is_released) {
  for (int races = 0; races < kRacesMax; ++races) {
    const auto now = read_newest_claim(*disk_, [this](std::uint64_t number) { return number == number_; });
    if (!now) return now.error();
    // If the newest claim is damaged and has the number of the claim that this process created, it is this
    // process's own claim.
    const bool is_ours =
        *now && ((*now)->owner == owner_ || ((*now)->is_unreadable && (*now)->number == number_));
    if (!is_ours) return lost_to(*disk_, *now);
    // The newest claim may belong to this process although its number is higher than number_: the reply to
    // its creation was lost, or another process of the job renewed it for this process.
    const std::uint64_t next = std::max((*now)->number, number_) + 1;
    const auto created = create_claim(
        *disk_, {.number = next, .owner = owner_, .is_released = is_released, .term = term_}, owner_.start);
    if (!created) return created.error();
    if (!*created) continue;  // of a new owner, or for this one: the next look tells
    number_ = next;
    tidy_before(*disk_, next);
    return {};
  }
  return change_all_the_time(*disk_);
}

Result<void> Claim::renew() {
  return write_next(false);
}

Result<void> Claim::release() {
  return write_next(true);
}

}  // namespace ratoon::checkpoint
