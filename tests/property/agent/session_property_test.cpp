// Laws of the parts of a session, on random cases.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/every.h>
#include <ratoon/until.h>

#include "agent/src/session/telemetry/ledger.h"

namespace ratoon::session_property_test {
namespace {

namespace gen = rc::gen;

Amount any_amount() {
  const auto unit = *gen::element(CountedIn::kSteps, CountedIn::kBatches, CountedIn::kEpochs,
                                  CountedIn::kSamples, CountedIn::kTime);
  std::uint64_t count = *gen::inRange<std::uint64_t>(1, 1'000'000'000'000);
  // Amounts as texts have them: millionths of an epoch, microseconds.
  if (unit == CountedIn::kTime) count *= 1000;
  std::uint64_t parts =
      unit == CountedIn::kEpochs ? *gen::element<std::uint64_t>(1, 2, 4, 125, 1'000'000) : 1;
  while (count % 2 == 0 && parts % 2 == 0) count /= 2, parts /= 2;
  while (count % 5 == 0 && parts % 5 == 0) count /= 5, parts /= 5;
  return {.unit = unit, .period = {.count = count, .parts = parts}};
}

RC_GTEST_PROP(Amount, IsReadAsItWasWritten, ()) {
  const Amount amount = any_amount();
  RC_ASSERT(parse_amount(text_of(amount)).value() == amount);
}

RC_GTEST_PROP(Amount, AnyTextIsReadOrRefused, ()) {
  const auto text = *gen::container<std::string>(gen::elementOf(std::string("0123456789.stbaepdhm")));
  if (const auto amount = parse_amount(text)) RC_ASSERT(parse_amount(text_of(*amount)).value() == *amount);
}

// For every division of the way into steps, the event is due equally often.
RC_GTEST_PROP(Every, IsDueOnceAMultiple, ()) {
  const std::uint64_t epoch = *gen::inRange<std::uint64_t>(1, 500);
  const Period period{.count = *gen::inRange<std::uint64_t>(1, 5),
                      .parts = *gen::inRange<std::uint64_t>(1, 5)};
  const Every every = Every::epochs(period);
  RunPosition position{.epoch_samples = epoch};
  std::uint64_t times = 0;
  for (int steps = *gen::inRange(1, 60); steps > 0; --steps) {
    RunPosition next = position;
    // No step is so long that it contains two due events.
    next.samples += *gen::inRange<std::uint64_t>(1, 2 + epoch * period.count / period.parts / 2);
    if (epoch * period.count >= 2 * period.parts && every.is_due(position, next)) ++times;
    position = next;
  }
  RC_PRE(epoch * period.count >= 2 * period.parts);
  RC_ASSERT(times == position.samples * period.parts / (epoch * period.count));
}

RC_GTEST_PROP(Until, IsReachedFromItsTotalOn, ()) {
  const Until until = Until::parse(text_of(any_amount())).value();
  RunPosition position{.epoch_samples = *gen::inRange<std::uint64_t>(1, 10'000)};
  const std::uint64_t total = until.total(position);
  const auto reached_at = [&](std::uint64_t count) {
    position.steps = position.batches = position.samples = count;
    position.trained = std::chrono::nanoseconds(count);
    return until.is_reached(position);
  };
  RC_ASSERT(reached_at(total));
  RC_ASSERT(total > 0 && !reached_at(total - 1));
}

// Events in any order, with clocks that stop and run backwards: not a nanosecond is lost or counted twice.
RC_GTEST_PROP(Ledger, PartsSumToTheWhole, ()) {
  using session::Account, session::Ledger, session::Part;
  const auto any_part = [] { return static_cast<Part>(*gen::inRange(0, static_cast<int>(session::kParts))); };
  const auto any_moment = [] {
    return Timestamp{Duration(*gen::inRange<std::int64_t>(-1000, 100'000'000'000))};
  };
  Account before;
  for (int i = *gen::inRange(0, 4); i > 0; --i)
    before = before.plus(any_part(), Duration(*gen::inRange<std::int64_t>(-5, 1'000'000)));
  const Timestamp began = any_moment();
  Ledger ledger(began, before);
  Timestamp latest = began;
  for (int i = *gen::inRange(0, 40); i > 0; --i) {
    const Timestamp moment =
        *gen::arbitrary<bool>() ? latest + Duration(*gen::inRange(0, 1'000'000)) : any_moment();
    if (*gen::inRange(0, 4) == 0) {
      ledger.reclassify(any_part(), any_moment(), moment);
    } else {
      ledger.enter(any_part(), moment);
    }
    latest = std::max(latest, moment);
    const Account account = ledger.account(latest);
    RC_ASSERT(account.total() == before.total() + (latest - began));
    for (std::size_t part = 0; part < session::kParts; ++part)
      RC_ASSERT(account.of(static_cast<Part>(part)) >= before.of(static_cast<Part>(part)));
  }
  RC_ASSERT(ledger.account(latest + Duration(7)).total() == before.total() + (latest - began) + Duration(7));
}

}  // namespace
}  // namespace ratoon::session_property_test
