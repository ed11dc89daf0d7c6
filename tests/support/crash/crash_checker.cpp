#include "tests/support/crash/crash_checker.h"

#include "base/core/xxh3.h"

namespace ratoon::test {
namespace {

std::uint64_t key_of(const CrashState& state) {
  Xxh3Stream hash;
  for (const std::string& what : state.acknowledged) hash.update(std::as_bytes(std::span(what)));
  // A state that was good before an acknowledgement may be bad after it, so the acknowledged steps are part
  // of the key.
  return fingerprint(state.image) * 31 + hash.digest64();
}

class Checker {
 public:
  Checker(const CrashPlan& plan, const CrashJudge& judge)
      : plan_(plan), judge_(judge), chance_(plan.seed), seen_(plan.judged != nullptr ? *plan.judged : own_) {}

  CrashReport run() {
    for (std::size_t cut = 0; cut <= plan_.ops.size(); ++cut) {
      for (const Fate fate : {Fate::kNothing, Fate::kEverything, Fate::kNamesOnly, Fate::kBytesOnly})
        check(cut, fate, NameOrder::kOrdered);
      for (std::uint32_t i = 0; i < plan_.chances_a_cut; ++i)
        check(cut, Fate::kChance, i % 2 == 0 ? NameOrder::kOrdered : NameOrder::kAnyOrder);
    }
    return report_;
  }

 private:
  void check(std::size_t cut, Fate fate, NameOrder order) {
    const CrashState state = crash(plan_.before, std::span(plan_.ops).first(cut), fate, order, chance_);
    ++report_.states;
    const auto [seen, is_new] = seen_.try_emplace(key_of(state), false);
    if (is_new) {
      ++report_.distinct;
      if (const auto problem = judge_(state)) {
        seen->second = true;
        if (report_.first_bad.empty())
          report_.first_bad = *problem + " (power cut after operation " + std::to_string(cut) + " of " +
                              std::to_string(plan_.ops.size()) + ", seed " + std::to_string(plan_.seed) + ")";
      }
    }
    if (seen->second) ++report_.bad;
  }

  const CrashPlan& plan_;
  const CrashJudge& judge_;
  std::mt19937_64 chance_;
  JudgedStates own_;
  JudgedStates& seen_;
  CrashReport report_;
};

}  // namespace

CrashReport check_crashes(const CrashPlan& plan, const CrashJudge& judge) {
  return Checker(plan, judge).run();
}

void add(CrashReport& sum, const CrashReport& more) {
  sum.states += more.states;
  sum.distinct += more.distinct;
  sum.bad += more.bad;
  if (sum.first_bad.empty()) sum.first_bad = more.first_bad;
}

}  // namespace ratoon::test
