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
      renewing_([this](const std::stop_token& stop) { renew_until(stop); }) {}

OwnershipGuard::~OwnershipGuard() = default;

checkpoint::Claim::Pause OwnershipGuard::said_once(std::size_t place,
                                                   const checkpoint::Claim::Pause& pause) const {
  return [this, place, pause, has_said = false](Duration look) mutable {
    if (!std::exchange(has_said, true)) {
      say(places_[place]->shown("") + " has an owner; checking whether the owner is alive");
    }
    return pause(look);
  };
}

Result<void> OwnershipGuard::claim_all(const TakePlace& take_place) {
  claims_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto claim = take_place(i);
    if (!claim) {
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
    return checkpoint::Claim::enter(places_[i], owner_, times_, clock, said_once(i, pause), seen_[i]);
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
  if (still_holds_all()) return {};
  const auto taken = claim_all([&](std::size_t i) -> Result<std::optional<checkpoint::Claim>> {
    auto claim = checkpoint::Claim::take(places_[i], owner_, times_, clock, said_once(i, pause), seen_[i]);
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

void OwnershipGuard::leave_to_others() {
  const std::lock_guard lock(mutex_);
  is_held_ = is_entering_ = false;
  lost_.reset();
}

void OwnershipGuard::release() {
  {
    const std::lock_guard lock(mutex_);
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
      static_cast<void>(changed_.wait_for(lock, stop, times_.lease / 4, [] { return false; }));
      if (!is_held_) continue;
    }
    if (!stop.stop_requested()) renew_or_tell();
  }
}

// An exception must not leave this thread. A claim that cannot be renewed now is renewed later, within the
// lease.
void OwnershipGuard::renew_or_tell() {
  try {
    renew_all();
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
  bool is_troubled = false;
  for (auto& claim : claims_) {
    const auto renewed = claim.renew();
    if (renewed) continue;
    if (renewed.error().kind() == ErrorKind::kConflict) {
      const std::lock_guard lock(mutex_);
      // Rank 0 of the first attempt checks whether the process that took the claim over belongs to its job.
      if (is_held_ && !is_entering_) lost_ = renewed.error().message();
      is_held_ = false;
      return;
    }
    tell_trouble(renewed.error().message());
    is_troubled = true;
  }
  is_troubled_ = is_troubled;
}

}  // namespace ratoon::session
