#include "agent/src/session/locations/ownership_guard.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/src/session/telemetry/say.h"

namespace ratoon::session {

OwnershipGuard::OwnershipGuard(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
                               std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times)
    : places_(std::move(places)),
      owner_(std::move(owner)),
      events_(std::move(events)),
      times_(times),
      seen_(places_.size()),
      of_job_(places_.size()),
      renewing_([this](const std::stop_token& stop) { renew_until(stop); }) {}

OwnershipGuard::~OwnershipGuard() = default;

checkpoint::Claim::Pause OwnershipGuard::said_once(std::size_t place, const Clock& clock,
                                                   const checkpoint::Claim::Pause& pause) {
  return [this, place, &clock, pause, has_said = false, renewed = clock.now()](Duration look) mutable {
    if (!std::exchange(has_said, true)) {
      say(places_[place]->shown("") + " has an owner: it is watched to see whether it is alive");
    }
    // The wait may be longer than a lease. A claim that was lost meanwhile is noticed once all are taken.
    if (clock.now() - renewed >= times_.lease / 4) {
      renewed = clock.now();
      for (auto& claim : claims_) static_cast<void>(claim.renew());
    }
    return pause(look);
  };
}

Result<void> OwnershipGuard::claim_all(const TakePlace& take_place) {
  claims_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto claim = take_place(i);
    if (!claim) {
      if (claim.error().kind() == ErrorKind::kAlreadyExists)
        for (auto& one : claims_) static_cast<void>(one.release());
      claims_.clear();
      return claim.error();
    }
    if (*claim) claims_.push_back(**std::move(claim));
  }
  return {};
}

Result<void> OwnershipGuard::enter(const Clock& clock, const checkpoint::Claim::Pause& pause) {
  const std::lock_guard claims_lock(claims_mutex_);
  const auto entered = claim_all([&](std::size_t i) {
    return checkpoint::Claim::enter(places_[i], owner_, times_, clock, said_once(i, clock, pause), seen_[i]);
  });
  if (!entered) return entered;
  const std::lock_guard lock(mutex_);
  is_held_ = is_entering_ = !claims_.empty();
  return {};
}

bool OwnershipGuard::still_holds_all() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_held_ || is_entering_) return false;
  }
  // A claim that cannot be renewed for now is renewed later, within the lease.
  return std::none_of(claims_.begin(), claims_.end(), [](auto& claim) {
    const auto renewed = claim.renew();
    return !renewed && renewed.error().kind() == ErrorKind::kConflict;
  });
}

Result<void> OwnershipGuard::take(const Clock& clock, const checkpoint::Claim::Pause& pause) {
  const std::lock_guard claims_lock(claims_mutex_);
  {
    const std::lock_guard lock(mutex_);
    is_waiting_ = false;
  }
  if (still_holds_all()) return {};
  const auto taken = claim_all([&](std::size_t i) -> Result<std::optional<checkpoint::Claim>> {
    auto claim =
        checkpoint::Claim::take(places_[i], owner_, times_, clock, said_once(i, clock, pause), seen_[i]);
    if (!claim) return claim.error();
    return std::optional(*std::move(claim));
  });
  if (!taken) return taken;
  const std::lock_guard lock(mutex_);
  is_held_ = true;
  is_entering_ = false;
  lost_.reset();
  return {};
}

void OwnershipGuard::begin_waiting() {
  const std::lock_guard lock(mutex_);
  is_waiting_ = has_news_ = true;
  changed_.notify_all();
}

void OwnershipGuard::leave_to_others() {
  const std::lock_guard lock(mutex_);
  is_held_ = is_entering_ = is_waiting_ = false;
  lost_.reset();
}

void OwnershipGuard::release() {
  {
    const std::lock_guard lock(mutex_);
    is_waiting_ = false;
    if (!std::exchange(is_held_, false)) return;
  }
  const std::lock_guard lock(claims_mutex_);
  for (auto& claim : claims_) static_cast<void>(claim.release());
  claims_.clear();
}

Result<void> OwnershipGuard::confirm(const checkpoint::Disk& place) {
  const bool is_claimed = std::ranges::any_of(places_, [&](const auto& one) { return one.get() == &place; });
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return Error(ErrorKind::kConflict, *lost_);
  }
  auto confirmed = is_claimed ? checkpoint::confirm_claim(place, owner_) : Result<void>();
  if (confirmed || confirmed.error().kind() != ErrorKind::kConflict) return confirmed;
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_held_, false)) lost_ = confirmed.error().message();
  return confirmed;
}

std::optional<std::string> OwnershipGuard::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void OwnershipGuard::renew_until(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      static_cast<void>(changed_.wait_for(lock, stop, times_.lease / (is_waiting_ ? 8 : 4),
                                          [this] { return std::exchange(has_news_, false); }));
      if (!is_held_ && !is_waiting_) continue;
    }
    if (!stop.stop_requested()) renew_or_tell();
  }
}

// An exception must not leave this thread. A claim that is not renewed now is renewed later, within the
// lease.
void OwnershipGuard::renew_or_tell() {
  try {
    renew_all();
    stand_in_for_owner();
  } catch (const std::exception& error) {
    tell_trouble(error.what());
  }
}

void OwnershipGuard::tell_trouble(const std::string& why) {
  if (std::exchange(is_troubled_, true)) return;
  try {
    events_->add("this run's claim is not renewed for now: " + why);
  } catch (const std::exception&) {
    is_troubled_ = false;  // the next failure reports it
  }
}

void OwnershipGuard::renew_all() {
  const std::lock_guard claims_lock(claims_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (!is_held_) return;
  }
  bool is_troubled = false;
  for (auto claim = claims_.begin(); claim != claims_.end();) {
    const auto renewed = claim->renew();
    if (renewed) {
      ++claim;
    } else if (renewed.error().kind() == ErrorKind::kConflict) {
      const std::lock_guard lock(mutex_);
      // Rank 0 of the next attempt checks whether the process that took the claim over belongs to its job.
      if (is_held_ && !is_entering_ && !is_waiting_) lost_ = renewed.error().message();
      claim = claims_.erase(claim);
      is_held_ = is_held_ && !lost_ && !claims_.empty();
      if (!is_held_) return;
    } else {
      tell_trouble(renewed.error().message());
      is_troubled = true;
      ++claim;
    }
  }
  is_troubled_ = is_troubled;
}

// The owner renews four times in a lease. This process looks eight times, and takes over while an eighth of
// the lease is left: before another job may.
void OwnershipGuard::stand_in_for_owner() {
  const std::lock_guard claims_lock(claims_mutex_);
  const SystemClock clock;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_waiting_) return;
    }
    const auto newest = checkpoint::newest_claim(*places_[i]);
    if (!newest) {
      tell_trouble(newest.error().message());
      continue;
    }
    const bool is_of_others =
        *newest && checkpoint::is_held_by_job(**newest, owner_) && !((*newest)->owner == owner_);
    if (!is_of_others) continue;
    checkpoint::SeenClaim& seen = of_job_[i];
    if (seen.number != (*newest)->number) seen = {.number = (*newest)->number, .since = clock.now()};
    if (clock.now() - seen.since < times_.lease * 5 / 8) continue;
    auto claim = checkpoint::Claim::take_over(places_[i], owner_, seen.number);
    if (!claim) {
      tell_trouble(claim.error().message());
      continue;
    }
    if (!*claim) continue;  // another process of the job was faster
    const std::lock_guard lock(mutex_);
    if (!is_held_) claims_.clear();
    claims_.push_back(**std::move(claim));
    is_held_ = is_entering_ = true;
  }
}

}  // namespace ratoon::session
