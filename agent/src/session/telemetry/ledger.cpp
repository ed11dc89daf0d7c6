#include "agent/src/session/telemetry/ledger.h"

#include <algorithm>
#include <numeric>

namespace ratoon::session {

std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, kParts> kNames = {
      "useful",     "recomputed", "save_stall", "data_wait", "waiting_for_capacity",
      "restarting", "hung",       "validation"};
  return kNames[static_cast<std::size_t>(part)];
}

Duration Account::total() const {
  return std::accumulate(parts_.begin(), parts_.end(), Duration(0));
}

Account Account::plus(Part part, Duration time) const {
  Account sum = *this;
  sum.parts_[static_cast<std::size_t>(part)] += std::max(time, Duration(0));
  return sum;
}

Account Account::plus(const Account& other) const {
  Account sum = *this;
  for (std::size_t i = 0; i < kParts; ++i) sum.parts_[i] += other.parts_[i];
  return sum;
}

Ledger::Ledger(Timestamp began, const Account& before) : closed_account_(before), part_began_at_(began) {}

void Ledger::enter(Part part, Timestamp at) {
  closed_account_ = account(at);
  part_began_at_ = std::max(part_began_at_, at);
  part_ = part;
}

void Ledger::reclassify(Part part, Timestamp since, Timestamp at) {
  const Timestamp end = std::max(part_began_at_, at);
  enter(part, std::min(since, end));
  enter(part, end);
}

Account Ledger::account(Timestamp at) const {
  return closed_account_.plus(part_, at - part_began_at_);
}

Part part_of_step(std::uint64_t step, std::uint64_t newest_step_before) {
  return step < newest_step_before ? Part::kRecomputed : Part::kUseful;
}

Part part_of_validation(std::uint64_t step, std::optional<std::uint64_t> newest_validated_before) {
  return newest_validated_before && step <= *newest_validated_before ? Part::kRecomputed : Part::kValidation;
}

Duration downtime(WallTime last_word, WallTime now) {
  return std::max(now.since_epoch - last_word.since_epoch, Duration(0));
}

}  // namespace ratoon::session
