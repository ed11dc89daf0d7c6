#include "agent/src/session/locations/ownership_guard.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/src/session/telemetry/say.h"

namespace ratoon::session {
namespace {

constexpr int kRenewalsPerLease = 4;
constexpr int kClaimChecksPerLease = 8;  // of a process that waits

bool holds_any(const std::vector<std::optional<checkpoint::Claim>>& claims) {
  return std::ranges::any_of(claims, [](const auto& claim) { return claim.has_value(); });
}

}  // namespace

OwnershipGuard::OwnershipGuard(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
                               std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times)
    : locations_(std::move(places)),
      owner_(std::move(owner)),
      events_(std::move(events)),
      claim_times_(times),
      terms_(locations_.size(), checkpoint::kUnknownTerm),
      claims_(locations_.size()),
      last_seen_claims_(locations_.size()),
      watched_claims_(locations_.size()),
      renewal_thread_([this](const std::stop_token& stop) { renew_until(stop); }) {}

OwnershipGuard::~OwnershipGuard() = default;

checkpoint::Claim::PauseFunction OwnershipGuard::make_reporting_pause(
    std::size_t place, const Clock& clock, const checkpoint::Claim::PauseFunction& pause) {
  bool has_said = false;
  Timestamp renewed = clock.now();
  return [=, this, &clock](Duration look) RATOON_REQUIRES(claims_mutex_) mutable {
    if (!std::exchange(has_said, true)) {
      say(locations_[place]->shown("") + " has an owner; checking whether the owner is alive");
    }
    if (clock.now() - renewed >= claim_times_.lease / kRenewalsPerLease) {
      renewed = clock.now();
      for (auto& claim : claims_)
        if (claim) static_cast<void>(claim->renew());
    }
    return pause(look);
  };
}

Result<void> OwnershipGuard::claim_all(const TakeClaim& take_place) {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    auto claim = take_place(i);
    if (claim) {
      claims_[i] = *std::move(claim);
      continue;
    }
    if (claim.error().kind() == ErrorKind::kAlreadyExists) {
      for (auto& one : claims_) {
        if (one) static_cast<void>(one->release());
        one.reset();
      }
    }
    const MutexLock lock(mutex_);
    holds_claims_ = may_be_taken_over_ = holds_any(claims_);
    return claim.error();
  }
  return {};
}

Result<void> OwnershipGuard::enter(const Clock& clock, const checkpoint::Claim::PauseFunction& pause) {
  const MutexLock claims_lock(claims_mutex_);
  const auto entered = claim_all([&](std::size_t i) RATOON_REQUIRES(claims_mutex_) {
    return checkpoint::Claim::take_for_job(locations_[i], owner_, claim_times_, clock,
                                           make_reporting_pause(i, clock, pause), last_seen_claims_[i]);
  });
  if (!entered) return entered;
  const MutexLock lock(mutex_);
  holds_claims_ = may_be_taken_over_ = holds_any(claims_);
  for (std::size_t i = 0; i < locations_.size(); ++i)
    terms_[i] = claims_[i] ? claims_[i]->term() : last_seen_claims_[i].term;
  return {};
}

bool OwnershipGuard::still_holds_all() {
  {
    const MutexLock lock(mutex_);
    if (!holds_claims_ || may_be_taken_over_) return false;
  }
  // If the renewal of a claim fails temporarily, the thread repeats it within the lease.
  return std::none_of(claims_.begin(), claims_.end(), [](auto& claim) {
    const auto renewed = claim->renew();
    return !renewed && renewed.error().kind() == ErrorKind::kConflict;
  });
}

Result<void> OwnershipGuard::take(const Clock& clock, const checkpoint::Claim::PauseFunction& pause) {
  const MutexLock claims_lock(claims_mutex_);
  {
    const MutexLock lock(mutex_);
    is_waiting_ = false;
    took_from_another_job_ = false;
  }
  if (still_holds_all()) return {};
  const auto taken = claim_all(
      [&](std::size_t i) RATOON_REQUIRES(claims_mutex_) -> Result<std::optional<checkpoint::Claim>> {
        auto claim = checkpoint::Claim::take(locations_[i], owner_, claim_times_, clock,
                                             make_reporting_pause(i, clock, pause), last_seen_claims_[i]);
        if (!claim) return claim.error();
        return std::optional(*std::move(claim));
      });
  if (!taken) return taken;
  const MutexLock lock(mutex_);
  holds_claims_ = true;
  may_be_taken_over_ = false;
  lost_reason_.reset();
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const checkpoint::Claim& claim = *claims_[i];
    // A changed term may mean that another process of this job took the location from another job.
    const bool was_anothers =
        claim.follows_another_job() || !checkpoint::is_same_term(terms_[i], claim.term());
    took_from_another_job_ = took_from_another_job_ || was_anothers;
    terms_[i] = claim.term();
  }
  return {};
}

bool OwnershipGuard::took_from_another_job() const {
  const MutexLock lock(mutex_);
  return took_from_another_job_;
}

void OwnershipGuard::begin_waiting() {
  const MutexLock lock(mutex_);
  is_waiting_ = has_new_wait_ = true;
  wait_changed_.notify_all();
}

Result<void> OwnershipGuard::leave_claims_to_others() {
  {
    const MutexLock lock(mutex_);
    holds_claims_ = may_be_taken_over_ = is_waiting_ = false;
    lost_reason_.reset();
  }
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const auto newest = checkpoint::newest_claim(*locations_[i]);
    const MutexLock lock(mutex_);
    const bool is_known = terms_[i] != checkpoint::kUnknownTerm;
    if (!newest && !is_known) return newest.error();
    // Keep the term that is already known. If that term is outdated, confirm() returns an error for it.
    if (!newest || (*newest && (*newest)->is_unreadable)) continue;
    const bool is_ours = *newest && checkpoint::was_made_by_job(**newest, owner_);
    terms_[i] = is_ours ? (*newest)->term : checkpoint::kNoTerm;
  }
  return {};
}

std::optional<std::size_t> OwnershipGuard::index_of(const checkpoint::Disk& place) const {
  for (std::size_t i = 0; i < locations_.size(); ++i)
    if (locations_[i].get() == &place) return i;
  return std::nullopt;
}

std::uint64_t OwnershipGuard::term_at(const checkpoint::Disk& place) const {
  const auto index = index_of(place);
  const MutexLock lock(mutex_);
  return index ? terms_[*index] : checkpoint::kUnknownTerm;
}

void OwnershipGuard::release() {
  {
    const MutexLock lock(mutex_);
    is_waiting_ = false;
    if (!std::exchange(holds_claims_, false)) return;
  }
  const MutexLock lock(claims_mutex_);
  for (auto& claim : claims_) {
    if (claim) static_cast<void>(claim->release());
    claim.reset();
  }
}

Result<void> OwnershipGuard::confirm(const checkpoint::Disk& place, std::uint64_t term) {
  const auto index = index_of(place);
  {
    const MutexLock lock(mutex_);
    if (lost_reason_) return Error(ErrorKind::kConflict, *lost_reason_);
  }
  auto confirmed = index ? checkpoint::confirm_claim(place, owner_, term) : Result<void>();
  if (confirmed || confirmed.error().kind() != ErrorKind::kConflict) return confirmed;
  const MutexLock lock(mutex_);
  // A failed confirmation in an older term does not mean that this process lost its current claim.
  if (terms_[*index] == term && std::exchange(holds_claims_, false))
    lost_reason_ = confirmed.error().message();
  return confirmed;
}

Result<void> OwnershipGuard::confirm_all_locations() {
  for (const auto& place : locations_)
    if (auto confirmed = confirm(*place, term_at(*place)); !confirmed) return confirmed;
  return {};
}

std::optional<std::string> OwnershipGuard::find_lost_reason() const {
  const MutexLock lock(mutex_);
  return lost_reason_;
}

void OwnershipGuard::renew_until(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      const Duration pause =
          is_waiting_ ? claim_times_.lease / kClaimChecksPerLease : claim_times_.lease / kRenewalsPerLease;
      static_cast<void>(wait_changed_.wait_for(lock, stop, pause,
                                               [this]() RATOON_REQUIRES(mutex_) { return has_new_wait_; }));
      if (std::exchange(has_new_wait_, false)) std::ranges::fill(watched_claims_, std::nullopt);
      if (!holds_claims_ && !is_waiting_) continue;
    }
    if (!stop.stop_requested()) renew_claims_or_report();
  }
}

// Catches all exceptions, because an exception that leaves this thread would end the process. If the renewal
// of a claim fails temporarily, it is repeated within the lease.
void OwnershipGuard::renew_claims_or_report() {
  try {
    const bool are_own_renewed = renew_own_claims();
    const bool are_others_renewed = renew_claims_of_others();
    if (are_own_renewed && are_others_renewed) has_reported_error_ = false;
  } catch (const std::exception& error) {
    report_error_once(error.what());
  }
}

void OwnershipGuard::report_error_once(const std::string& why) {
  if (std::exchange(has_reported_error_, true)) return;
  try {
    events_->add("this run's claim is not renewed for now: " + why);
  } catch (const std::exception&) {
    has_reported_error_ = false;  // the next failure reports it
  }
}

bool OwnershipGuard::is_waiting() const {
  const MutexLock lock(mutex_);
  return is_waiting_;
}

bool OwnershipGuard::renew_own_claims() {
  const MutexLock claims_lock(claims_mutex_);
  bool has_answered = true;
  for (auto& claim : claims_) {
    {
      const MutexLock lock(mutex_);
      if (!holds_claims_) break;
    }
    if (!claim) continue;
    const auto renewed = claim->renew();
    if (renewed) continue;
    if (renewed.error().kind() != ErrorKind::kConflict) {
      report_error_once(renewed.error().message());
      has_answered = false;
      continue;
    }
    const MutexLock lock(mutex_);
    if (may_be_taken_over_) {
      // Another process has taken the claim. In the first attempt, rank 0 checks whether that process belongs
      // to the same job.
      claim.reset();
      holds_claims_ = may_be_taken_over_ = holds_any(claims_);
    } else {
      if (holds_claims_) lost_reason_ = renewed.error().message();
      holds_claims_ = false;
    }
  }
  return has_answered;
}

// A running owner renews its claim four times within a lease. If a claim is renewed less often, the process
// that owns it may be lost. The first read of a claim does not show when it was renewed.
bool OwnershipGuard::renew_claims_of_others() {
  const MutexLock claims_lock(claims_mutex_);
  const SystemClock clock;
  bool has_answered = true;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    {
      const MutexLock lock(mutex_);
      if (!is_waiting_) break;
      if (holds_claims_ && claims_[i]) continue;
    }
    const auto newest = checkpoint::newest_claim(*locations_[i]);
    if (!newest) {
      report_error_once(newest.error().message());
      has_answered = false;
      continue;
    }
    if (!*newest || !checkpoint::is_held_by_job(**newest, owner_)) continue;
    const std::uint64_t number = (*newest)->number;
    auto& watched = watched_claims_[i];
    const bool is_first = !watched;
    if (is_first || watched->number != number) watched = {.number = number, .since = clock.now()};
    if (!is_first && clock.now() - watched->since < claim_times_.lease * 3 / kClaimChecksPerLease) continue;
    if (!is_waiting()) break;  // the location may have answered late
    const auto kept = checkpoint::renew_for_owner(*locations_[i], **newest, owner_.start);
    if (!kept) {
      report_error_once(kept.error().message());
      has_answered = false;
    } else if (*kept) {
      watched = {.number = number + 1, .since = clock.now()};
    }
  }
  return has_answered;
}

std::function<std::uint64_t(const checkpoint::Disk&)> term_reader(
    const std::shared_ptr<OwnershipGuard>& guard) {
  return [guard = std::weak_ptr(guard)](const checkpoint::Disk& place) {
    const auto still = guard.lock();
    return still ? still->term_at(place) : checkpoint::kUnknownTerm;
  };
}

}  // namespace ratoon::session
