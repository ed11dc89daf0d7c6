#include "cli/report/ledger_bars.h"

#include <algorithm>
#include <array>

namespace ratoon::cli {
namespace {

using api::LedgerPart;

struct PartText {
  const char* name;  // as in the agents' ledger
  const char* what;
};

// Names and texts of the parts of time, in the order of the enum LedgerPart.
constexpr std::array<PartText, api::kLedgerParts> kTexts = {
    {{"useful", "makes steps"},
     {"recomputed", "makes steps again"},
     {"waiting_for_capacity", "no world trains, and no node takes a member"},
     {"restarting", "no world makes steps"},
     {"hung", "a process hung"},
     {"suspended", "it was suspended"}}};

TimelineBar bar_of(LedgerPart part, const api::JobLedger& ledger, double begin, double end) {
  const PartText& text = kTexts[static_cast<std::size_t>(part)];
  const bool has_world = part == LedgerPart::kUseful || part == LedgerPart::kRecomputed;
  const std::string who =
      has_world ? "attempt " + std::to_string(ledger.newest_attempt.value()) + " " : std::string();
  return {begin, end, text.name, who + text.what};
}

// Adds bars for the time between two ledger events: the first part is the one that the earlier event names.
// More parts may follow the first: if the operator found a loss late, a new part began before the next event.
void add_between(const api::JobLedger& ledger, const api::JobLedger& next, std::vector<TimelineBar>& bars) {
  double at = seconds(ledger.since->since_epoch);
  const auto add = [&](LedgerPart part) {
    const auto i = static_cast<std::size_t>(part);
    const double spent = next.seconds[i] - ledger.seconds[i];
    if (spent <= 0) return;
    bars.push_back(bar_of(part, ledger, at, at + spent));
    at += spent;
  };
  add(ledger.part);
  for (std::size_t i = 0; i < api::kLedgerParts; ++i)
    if (i != static_cast<std::size_t>(ledger.part)) add(static_cast<LedgerPart>(i));
}

}  // namespace

std::vector<TimelineBar> ledger_bars(const std::vector<RunEvent>& events, double end) {
  std::vector<TimelineBar> bars;
  const api::JobLedger* last = nullptr;
  for (const RunEvent& event : events) {
    if (!event.ledger) continue;
    if (last != nullptr && last->since) add_between(*last, *event.ledger, bars);
    last = &*event.ledger;
  }
  if (last != nullptr && last->since) {
    const double begin = seconds(last->since->since_epoch);
    bars.push_back(bar_of(last->part, *last, begin, std::max(begin, end)));
  }
  return bars;
}

}  // namespace ratoon::cli
