#include "operator/api/status_account.h"

#include <algorithm>
#include <array>

#include "operator/api/status_fields.h"
#include "operator/api/training_job_status.h"

namespace ratoon::api {
namespace {

using nlohmann::json;

// Names of the parts of a job's time, in the order of the enum LedgerPart.
constexpr std::array<std::string_view, kLedgerParts> kLedgerPartNames = {
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

json encode_phases(const RecoveryPhases& p) {
  return {{"detectSeconds", rounded(p.detect_seconds)},         {"decideSeconds", rounded(p.decide_seconds)},
          {"placeSeconds", rounded(p.place_seconds)},           {"startSeconds", rounded(p.start_seconds)},
          {"rendezvousSeconds", rounded(p.rendezvous_seconds)}, {"loadSeconds", rounded(p.load_seconds)},
          {"firstStepSeconds", rounded(p.first_step_seconds)}};
}

}  // namespace

std::string_view name_of(LedgerPart part) {
  return kLedgerPartNames[static_cast<std::size_t>(part)];
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
          {"totalSeconds", rounded(d.phases.total_seconds())},
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
          .last_sign = read_time(f, "lastSign"),
          .lost_steps = f.optional_whole("lostSteps", kStatusCountMax)};
}

json encode_open_recovery(const OpenRecovery& open) {
  return {{"member", open.member},
          {"role", open.role},
          {"index", open.index},
          {"node", open.node},
          {"reason", open.reason},
          {"hung", open.is_hung},
          {"time", format_rfc3339(open.time)},
          {"lastSign", format_rfc3339(open.last_sign)},
          {"lostSteps", open.lost_steps}};
}

JobLedger read_ledger(Fields f) {
  JobLedger ledger{.seconds = {f.seconds("usefulSeconds"), f.seconds("recomputedSeconds"),
                               f.seconds("waitingForCapacitySeconds"), f.seconds("restartingSeconds"),
                               f.seconds("hungSeconds"), f.seconds("suspendedSeconds")}};
  ledger.newest_step = Step(f.optional_whole("newestStep", kStatusCountMax));
  ledger.newest_attempt = Attempt(f.optional_whole("newestAttempt", kStatusCountMax));
  ledger.resumed_step = Step(f.optional_whole("resumedStep", kStatusCountMax));
  ledger.steps_made_again = f.optional_whole("stepsMadeAgain", kStatusCountMax);
  if (f.find("since") == nullptr) return ledger;
  ledger.since = read_time(f, "since");
  const std::string part = f.text("part", 32);
  const auto known = std::ranges::find(kLedgerPartNames, part);
  if (known == kLedgerPartNames.end())
    f.complain("part", "the name of a part of the job's time");
  else
    ledger.part = static_cast<LedgerPart>(known - kLedgerPartNames.begin());
  return ledger;
}

json encode_ledger(const JobLedger& ledger) {
  const auto spent = [&](LedgerPart part) { return rounded(ledger.seconds[static_cast<std::size_t>(part)]); };
  json out = {{"newestStep", ledger.newest_step.value()},
              {"newestAttempt", ledger.newest_attempt.value()},
              {"resumedStep", ledger.resumed_step.value()},
              {"stepsMadeAgain", ledger.steps_made_again},
              {"usefulSeconds", spent(LedgerPart::kUseful)},
              {"recomputedSeconds", spent(LedgerPart::kRecomputed)},
              {"waitingForCapacitySeconds", spent(LedgerPart::kWaitingForCapacity)},
              {"restartingSeconds", spent(LedgerPart::kRestarting)},
              {"hungSeconds", spent(LedgerPart::kHung)},
              {"suspendedSeconds", spent(LedgerPart::kSuspended)}};
  if (ledger.since) {
    out["part"] = name_of(ledger.part);
    out["since"] = format_rfc3339(*ledger.since);
  }
  return out;
}

}  // namespace ratoon::api
