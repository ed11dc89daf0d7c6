// NumericsWatch handles the numerics of this process in all its attempts. The numerics are pinned on request,
// recorded in each checkpoint, and compared with those of the checkpoint that is resumed from.
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

#include "agent/src/checkpoint/format/run_record.h"

namespace ratoon::session {

// Returns the hook of the library that computes in this process; nullopt if no library is attached.
[[nodiscard]] std::optional<NumericsHook> attached_numerics();

class NumericsWatch {
 public:
  NumericsWatch(bool is_pinned, std::uint64_t seed, std::optional<NumericsHook> hook);

  // Returns the number of threads to which this process would pin all ranks; 0 if nothing is pinned or the
  // number is not known.
  [[nodiscard]] std::uint32_t pinned_threads() const;
  // Lets all ranks begin an attempt alike: with one random seed and, if numerics are pinned, with rank 0's
  // number of threads (0 if not known).
  void begin_attempt(std::uint32_t threads_of_first) const;
  // If numerics are pinned, continues with the number of threads with which the run began. Reports once that
  // bits may differ, and why: "threads 2, now 4; seed 7, now 0". Later calls return an empty text, because
  // the difference was reported. Call resume() when all tracked objects are restored.
  [[nodiscard]] std::string resume(const std::optional<checkpoint::RunRecord>& before);
  [[nodiscard]] std::optional<Numerics> now() const;

 private:
  const bool is_pinned_;
  const std::uint64_t seed_;
  const std::optional<NumericsHook> hook_;
  bool has_said_ = false;
};

}  // namespace ratoon::session
