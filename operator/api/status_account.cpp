#include "operator/api/status_account.h"

#include <algorithm>
#include <array>

#include "base/contract/limits.h"
#include "operator/api/status_fields.h"
#include "operator/api/training_job_codec.h"

namespace ratoon::api {
namespace {

using nlohmann::json;

// Names of the parts of a job's time, in the order of the enum TimeLedgerPart.
constexpr std::array<std::string_view, kTimeLedgerPartCount> kTimeLedgerPartNames = {
    "useful", "recomputed", "waitingForCapacity", "restarting", "hung", "suspended"};

RecoveryPhases read_phases(Fields f) {
  return {.detect_seconds = f.seconds("detectSeconds"),
          .decide_seconds = f.seconds("decideSeconds"),
          .place_seconds = f.seconds("placeSeconds"),
          .start_seconds = f.seconds("startSeconds"),
          .rendezvous_seconds = f.seconds("rendezvousSeconds"),
          .load_seconds = f.seconds("loadSeconds"),
          .first_step_seconds = f.seconds("firstStepSeconds")};
}

// A clock that jumps by decades must not make the status unreadable.
double limited_seconds(double seconds) {
  return round_to_milliseconds(std::min(seconds, contract::kSecondsMax));
}

json encode_phases(const RecoveryPhases& p) {
  return {{"detectSeconds", limited_seconds(p.detect_seconds)},
          {"decideSeconds", limited_seconds(p.decide_seconds)},
          {"placeSeconds", limited_seconds(p.place_seconds)},
          {"startSeconds", limited_seconds(p.start_seconds)},
          {"rendezvousSeconds", limited_seconds(p.rendezvous_seconds)},
          {"loadSeconds", limited_seconds(p.load_seconds)},
          {"firstStepSeconds", limited_seconds(p.first_step_seconds)}};
}

}  // namespace

std::string_view name_of(TimeLedgerPart part) {
  return kTimeLedgerPartNames[static_cast<std::size_t>(part)];
}

Disruption read_disruption(Fields f) {
  return {.member = f.text("member", 253),
          .node = f.optional_text("node", 253),
          .reason = f.optional_text("reason", kStatusSentenceBytesMax),
          .time = read_time(f, "time"),
          .lost_steps = f.whole("lostSteps", kStatusCountMax),
          .phases = read_phases(f.object("phases"))};
}

json encode_disruption(const Disruption& d) {
  return {{"member", d.member},
          {"node", d.node},
          {"reason", d.reason},
          {"time", format_rfc3339(d.time)},
          {"lostSteps", d.lost_steps},
          {"totalSeconds", limited_seconds(d.phases.total_seconds())},
          {"phases", encode_phases(d.phases)}};
}

OpenRecovery read_open_recovery(Fields f) {
  return {.member = f.text("member", 253),
          .role = f.text("role", 63),
          .index = static_cast<std::uint32_t>(f.whole("index", kMembersMax)),
          .node = f.optional_text("node", 253),
          .reason = f.optional_text("reason", kStatusSentenceBytesMax),
          .is_hung = f.flag("hung"),
          .time = read_time(f, "time"),
          .last_message_at = read_time(f, "lastSign"),
          .lost_steps = f.optional_whole_number("lostSteps", kStatusCountMax)};
}

json encode_open_recovery(const OpenRecovery& open) {
  return {{"member", open.member},
          {"role", open.role},
          {"index", open.index},
          {"node", open.node},
          {"reason", open.reason},
          {"hung", open.is_hung},
          {"time", format_rfc3339(open.time)},
          {"lastSign", format_rfc3339(open.last_message_at)},
          {"lostSteps", open.lost_steps}};
}

JobTimeLedger read_time_ledger(Fields f) {
  JobTimeLedger ledger{.seconds = {f.seconds("usefulSeconds"), f.seconds("recomputedSeconds"),
                                   f.seconds("waitingForCapacitySeconds"), f.seconds("restartingSeconds"),
                                   f.seconds("hungSeconds"), f.seconds("suspendedSeconds")}};
  ledger.newest_step = Step(f.optional_whole_number("newestStep", kStatusCountMax));
  ledger.newest_attempt = Attempt(f.optional_whole_number("newestAttempt", kStatusCountMax));
  ledger.resumed_step = Step(f.optional_whole_number("resumedStep", kStatusCountMax));
  ledger.repeated_step_count = f.optional_whole_number("stepsMadeAgain", kStatusCountMax);
  if (f.find("since") == nullptr) return ledger;
  ledger.since = read_time(f, "since");
  const std::string part = f.text("part", 32);
  const auto known = std::ranges::find(kTimeLedgerPartNames, part);
  if (known == kTimeLedgerPartNames.end())
    f.complain("part", "the name of a part of the job's time");
  else
    ledger.part = static_cast<TimeLedgerPart>(known - kTimeLedgerPartNames.begin());
  return ledger;
}

json encode_time_ledger(const JobTimeLedger& ledger) {
  const auto spent = [&](TimeLedgerPart part) {
    return limited_seconds(ledger.seconds[static_cast<std::size_t>(part)]);
  };
  json out = {{"newestStep", ledger.newest_step.value()},
              {"newestAttempt", ledger.newest_attempt.value()},
              {"resumedStep", ledger.resumed_step.value()},
              {"stepsMadeAgain", ledger.repeated_step_count},
              {"usefulSeconds", spent(TimeLedgerPart::kUseful)},
              {"recomputedSeconds", spent(TimeLedgerPart::kRecomputed)},
              {"waitingForCapacitySeconds", spent(TimeLedgerPart::kWaitingForCapacity)},
              {"restartingSeconds", spent(TimeLedgerPart::kRestarting)},
              {"hungSeconds", spent(TimeLedgerPart::kHung)},
              {"suspendedSeconds", spent(TimeLedgerPart::kSuspended)}};
  if (ledger.since) {
    out["part"] = name_of(ledger.part);
    out["since"] = format_rfc3339(*ledger.since);
  }
  return out;
}

}  // namespace ratoon::api
