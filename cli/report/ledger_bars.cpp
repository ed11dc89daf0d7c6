#include "cli/report/ledger_bars.h"

#include <algorithm>
#include <array>

namespace ratoon::cli {
namespace {

using api::TimeLedgerPart;

struct PartNames {
  const char* name;  // as in the agents' ledger
  const char* what;
};

// Names and texts of the parts of time, in the order of the enum TimeLedgerPart.
constexpr std::array<PartNames, api::kTimeLedgerPartCount> kPartNames = {
    {{"useful", "makes steps"},
     {"recomputed", "makes steps again"},
     {"waiting_for_capacity", "no world trains, and no node takes a member"},
     {"restarting", "no world makes steps"},
     {"hung", "a process hung"},
     {"suspended", "it was suspended"}}};

TimelineBar bar_of(TimeLedgerPart part, const api::JobTimeLedger& ledger, double begin, double end) {
  const PartNames& text = kPartNames[static_cast<std::size_t>(part)];
  const bool has_world = part == TimeLedgerPart::kUseful || part == TimeLedgerPart::kRecomputed;
  const std::string who =
      has_world ? "attempt " + std::to_string(ledger.newest_attempt.value()) + " " : std::string();
  return {begin, end, text.name, who + text.what};
}

// Adds bars for the time between two ledger events. The first bar has the part that the earlier event names.
// More bars follow if the operator found a loss late, because the time since this loss is in another part.
void add_bars_between(const api::JobTimeLedger& ledger, const api::JobTimeLedger& next,
                      std::vector<TimelineBar>& bars) {
  double at = seconds(ledger.since->since_epoch);
  const auto add = [&](TimeLedgerPart part) {
    const auto i = static_cast<std::size_t>(part);
    const double spent = next.seconds[i] - ledger.seconds[i];
    if (spent <= 0) return;
    bars.push_back(bar_of(part, ledger, at, at + spent));
    at += spent;
  };
  add(ledger.part);
  for (std::size_t i = 0; i < api::kTimeLedgerPartCount; ++i)
    if (i != static_cast<std::size_t>(ledger.part)) add(static_cast<TimeLedgerPart>(i));
}

}  // namespace

std::string_view ledger_part_name(TimeLedgerPart part) {
  return kPartNames[static_cast<std::size_t>(part)].name;
}

std::vector<TimelineBar> ledger_bars(const std::vector<RunEvent>& events, double end) {
  std::vector<TimelineBar> bars;
  const api::JobTimeLedger* last = nullptr;
  for (const RunEvent& event : events) {
    if (!event.ledger) continue;
    if (last != nullptr && last->since) add_bars_between(*last, *event.ledger, bars);
    last = &*event.ledger;
  }
  if (last != nullptr && last->since) {
    const double begin = seconds(last->since->since_epoch);
    bars.push_back(bar_of(last->part, *last, begin, std::max(begin, end)));
  }
  return bars;
}

}  // namespace ratoon::cli
