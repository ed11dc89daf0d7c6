// NumericsWatch: the numerics of this process over all attempts: pinned where that is wanted, noted in each
// checkpoint, and compared with those of the checkpoint that is resumed from.
//
//   NumericsWatch watch(options.deterministic, options.seed, attached_numerics());  // throws where nothing
//                                                                                   // can be pinned
//   link.pin_threads(watch.pinned_threads());            // before a world is joined
//   watch.begin_attempt(assignment.threads);             // before the training function is called
//   say(watch.resume(record_of_the_checkpoint));         // at most one sentence in all
//   record.numerics = watch.now();
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ratoon/numerics.h>

#include "agent/src/checkpoint/run_record.h"

namespace ratoon::session {

// Of whatever computes in this process; nothing where nothing does.
[[nodiscard]] std::optional<NumericsHook> attached_numerics();

class NumericsWatch {
 public:
  NumericsWatch(bool is_pinned, std::uint64_t seed, std::optional<NumericsHook> hook);

  // What this process would pin those of all ranks to; 0: nothing is pinned, or the number is not known.
  [[nodiscard]] std::uint32_t pinned_threads() const;
  // All ranks begin alike, in each attempt: with the same weights, where they make any, and, pinned, with as
  // many threads as rank 0 has (0: not known).
  void begin_attempt(std::uint32_t threads_of_first) const;
  // Pinned, it goes on with as many threads as the run began with. Says, once, that bits may differ, and why:
  // "threads 2, now 4; seed 7, now 0"; else nothing. Called when all that is tracked was restored.
  [[nodiscard]] std::string resume(const std::optional<checkpoint::RunRecord>& before);
  [[nodiscard]] std::optional<Numerics> now() const;

 private:
  const bool is_pinned_;
  const std::uint64_t seed_;
  const std::optional<NumericsHook> hook_;
  bool has_said_ = false;
};

}  // namespace ratoon::session
