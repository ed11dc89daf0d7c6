#include "agent/src/session/locations/ownership_guard.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/src/session/telemetry/say.h"

namespace ratoon::session {
namespace {

constexpr int kRenewalsPerLease = 4;
constexpr int kLooksPerLease = 8;  // of a process that waits

bool holds_any(const std::vector<std::optional<checkpoint::Claim>>& claims) {
  return std::ranges::any_of(claims, [](const auto& claim) { return claim.has_value(); });
}

}  // namespace

OwnershipGuard::OwnershipGuard(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
                               std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times)
    : places_(std::move(places)),
      owner_(std::move(owner)),
      events_(std::move(events)),
      times_(times),
      terms_(places_.size(), checkpoint::kUnknownTerm),
      claims_(places_.size()),
      seen_(places_.size()),
      watched_(places_.size()),
      renewing_([this](const std::stop_token& stop) { renew_until(stop); }) {}

OwnershipGuard::~OwnershipGuard() = default;

checkpoint::Claim::Pause OwnershipGuard::while_watched(std::size_t place, const Clock& clock,
                                                       const checkpoint::Claim::Pause& pause) {
  return [this, place, &clock, pause, has_said = false, renewed = clock.now()](Duration look) mutable {
    if (!std::exchange(has_said, true)) {
      say(places_[place]->shown("") + " has an owner; checking whether the owner is alive");
    }
    if (clock.now() - renewed >= times_.lease / kRenewalsPerLease) {
      renewed = clock.now();
      for (auto& claim : claims_)
        if (claim) static_cast<void>(claim->renew());
    }
    return pause(look);
  };
}

Result<void> OwnershipGuard::claim_all(const TakePlace& take_place) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
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
    const std::lock_guard lock(mutex_);
    is_held_ = is_entering_ = holds_any(claims_);
    return claim.error();
  }
  return {};
}

Result<void> OwnershipGuard::enter(const Clock& clock, const checkpoint::Claim::Pause& pause) {
  const std::lock_guard claims_lock(claims_mutex_);
  const auto entered = claim_all([&](std::size_t i) {
    return checkpoint::Claim::enter(places_[i], owner_, times_, clock, while_watched(i, clock, pause),
                                    seen_[i]);
  });
  if (!entered) return entered;
  const std::lock_guard lock(mutex_);
  is_held_ = is_entering_ = holds_any(claims_);
  for (std::size_t i = 0; i < places_.size(); ++i)
    terms_[i] = claims_[i] ? claims_[i]->term() : seen_[i].term;
  return {};
}

bool OwnershipGuard::still_holds_all() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_held_ || is_entering_) return false;
  }
  // If renewing a claim fails for now, it is tried again within the lease.
  return std::none_of(claims_.begin(), claims_.end(), [](auto& claim) {
    const auto renewed = claim->renew();
    return !renewed && renewed.error().kind() == ErrorKind::kConflict;
  });
}

Result<void> OwnershipGuard::take(const Clock& clock, const checkpoint::Claim::Pause& pause) {
  const std::lock_guard claims_lock(claims_mutex_);
  {
    const std::lock_guard lock(mutex_);
    is_waiting_ = false;
    took_from_another_job_ = false;
  }
  if (still_holds_all()) return {};
  const auto taken = claim_all([&](std::size_t i) -> Result<std::optional<checkpoint::Claim>> {
    auto claim =
        checkpoint::Claim::take(places_[i], owner_, times_, clock, while_watched(i, clock, pause), seen_[i]);
    if (!claim) return claim.error();
    return std::optional(*std::move(claim));
  });
  if (!taken) return taken;
  const std::lock_guard lock(mutex_);
  is_held_ = true;
  is_entering_ = false;
  lost_.reset();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const checkpoint::Claim& claim = *claims_[i];
    // Another process of this job may have taken the location from the other job before this process did.
    const bool was_anothers =
        claim.follows_another_job() || !checkpoint::is_same_term(terms_[i], claim.term());
    took_from_another_job_ = took_from_another_job_ || was_anothers;
    terms_[i] = claim.term();
  }
  return {};
}

bool OwnershipGuard::took_from_another_job() const {
  const std::lock_guard lock(mutex_);
  return took_from_another_job_;
}

void OwnershipGuard::begin_waiting() {
  const std::lock_guard lock(mutex_);
  is_waiting_ = has_begun_to_wait_ = true;
  changed_.notify_all();
}

Result<void> OwnershipGuard::leave_to_others() {
  {
    const std::lock_guard lock(mutex_);
    is_held_ = is_entering_ = is_waiting_ = false;
    lost_.reset();
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto newest = checkpoint::newest_claim(*places_[i]);
    const std::lock_guard lock(mutex_);
    const bool is_known = terms_[i] != checkpoint::kUnknownTerm;
    if (!newest && !is_known) return newest.error();
    // Keep the known term, which is the current term or an older one, in which no claim is confirmed.
    if (!newest || (*newest && (*newest)->is_unreadable)) continue;
    const bool is_ours = *newest && checkpoint::is_of_job(**newest, owner_);
    terms_[i] = is_ours ? (*newest)->term : checkpoint::kNoTerm;
  }
  return {};
}

std::optional<std::size_t> OwnershipGuard::index_of(const checkpoint::Disk& place) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].get() == &place) return i;
  return std::nullopt;
}

std::uint64_t OwnershipGuard::term_at(const checkpoint::Disk& place) const {
  const auto index = index_of(place);
  const std::lock_guard lock(mutex_);
  return index ? terms_[*index] : checkpoint::kUnknownTerm;
}

void OwnershipGuard::release() {
  {
    const std::lock_guard lock(mutex_);
    is_waiting_ = false;
    if (!std::exchange(is_held_, false)) return;
  }
  const std::lock_guard lock(claims_mutex_);
  for (auto& claim : claims_) {
    if (claim) static_cast<void>(claim->release());
    claim.reset();
  }
}

Result<void> OwnershipGuard::confirm(const checkpoint::Disk& place, std::uint64_t term) {
  const auto index = index_of(place);
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return Error(ErrorKind::kConflict, *lost_);
  }
  auto confirmed = index ? checkpoint::confirm_claim(place, owner_, term) : Result<void>();
  if (confirmed || confirmed.error().kind() != ErrorKind::kConflict) return confirmed;
  const std::lock_guard lock(mutex_);
  // A failed confirmation in an older term does not mean that this process lost its current claim.
  if (terms_[*index] == term && std::exchange(is_held_, false)) lost_ = confirmed.error().message();
  return confirmed;
}

Result<void> OwnershipGuard::confirm_all() {
  for (const auto& place : places_)
    if (auto confirmed = confirm(*place, term_at(*place)); !confirmed) return confirmed;
  return {};
}

std::optional<std::string> OwnershipGuard::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void OwnershipGuard::renew_until(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const Duration pause = is_waiting_ ? times_.lease / kLooksPerLease : times_.lease / kRenewalsPerLease;
      static_cast<void>(changed_.wait_for(lock, stop, pause, [this] { return has_begun_to_wait_; }));
      if (std::exchange(has_begun_to_wait_, false)) std::ranges::fill(watched_, std::nullopt);
      if (!is_held_ && !is_waiting_) continue;
    }
    if (!stop.stop_requested()) renew_or_tell();
  }
}

// Catches all exceptions, because an exception that leaves this thread would end the process. If renewing a
// claim fails for now, it is tried again within the lease.
void OwnershipGuard::renew_or_tell() {
  try {
    const bool are_own_renewed = renew_own();
    const bool are_others_renewed = keep_others_alive();
    if (are_own_renewed && are_others_renewed) is_troubled_ = false;
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

bool OwnershipGuard::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return is_waiting_;
}

bool OwnershipGuard::renew_own() {
  const std::lock_guard claims_lock(claims_mutex_);
  bool has_answered = true;
  for (auto& claim : claims_) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_held_) break;
    }
    if (!claim) continue;
    const auto renewed = claim->renew();
    if (renewed) continue;
    if (renewed.error().kind() != ErrorKind::kConflict) {
      tell_trouble(renewed.error().message());
      has_answered = false;
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (is_entering_) {
      // Another process has taken the claim. Rank 0 of the first attempt checks whether that process belongs
      // to its job.
      claim.reset();
      is_held_ = is_entering_ = holds_any(claims_);
    } else {
      if (is_held_) lost_ = renewed.error().message();
      is_held_ = false;
    }
  }
  return has_answered;
}

// A running owner renews its claim four times within a lease. If a claim is renewed less often than that, its
// owner may be lost. At the first read of a claim, its age is unknown.
bool OwnershipGuard::keep_others_alive() {
  const std::lock_guard claims_lock(claims_mutex_);
  const SystemClock clock;
  bool has_answered = true;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_waiting_) break;
      if (is_held_ && claims_[i]) continue;
    }
    const auto newest = checkpoint::newest_claim(*places_[i]);
    if (!newest) {
      tell_trouble(newest.error().message());
      has_answered = false;
      continue;
    }
    if (!*newest || !checkpoint::is_held_by_job(**newest, owner_)) continue;
    const std::uint64_t number = (*newest)->number;
    auto& watched = watched_[i];
    const bool is_first = !watched;
    if (is_first || watched->number != number) watched = {.number = number, .since = clock.now()};
    if (!is_first && clock.now() - watched->since < times_.lease * 3 / kLooksPerLease) continue;
    if (!is_waiting()) break;  // the location may have answered late
    const auto kept = checkpoint::keep_alive(*places_[i], **newest, owner_.start);
    if (!kept) {
      tell_trouble(kept.error().message());
      has_answered = false;
    } else if (*kept) {
      watched = {.number = number + 1, .since = clock.now()};
    }
  }
  return has_answered;
}

}  // namespace ratoon::session
