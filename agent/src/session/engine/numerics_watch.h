// NumericsWatch handles the numerics of this process: the library settings on which the bits of results
// depend. With --deterministic, NumericsWatch also sets the numerics. Each checkpoint records the numerics,
// and after a resume, NumericsWatch compares them with the recorded ones.
//
//   NumericsWatch watch(options.deterministic, options.seed, attached_numerics());  // throws where nothing
//                                                                                   // can be pinned
//   link.set_thread_count(watch.thread_count_to_set());  // before a world is joined
//   watch.begin_attempt(assignment.threads);             // before the training function is called
//   say(watch.resume(record_of_the_checkpoint));         // at most one sentence in all
//   record.numerics = watch.current_numerics();
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

  // Returns the number of threads that this process, as rank 0, would set on all ranks; 0 without
  // --deterministic or if the number is not known.
  [[nodiscard]] std::uint32_t thread_count_to_set() const;
  // Seeds the library on each rank at the beginning of an attempt and, with --deterministic, sets rank 0's
  // number of threads (0: not known).
  void begin_attempt(std::uint32_t threads_of_first) const;
  // With --deterministic, sets the number of threads with which the run began. Returns a text if results may
  // differ in bits from the restored run, such as "threads 2, now 4; seed 7, now 0". Only the first call of
  // resume() returns a text, so that the difference is reported once. Call resume() when all tracked objects
  // are restored.
  [[nodiscard]] std::string resume(const std::optional<checkpoint::RunRecord>& before);
  [[nodiscard]] std::optional<Numerics> current_numerics() const;

 private:
  const bool is_deterministic_;
  const std::uint64_t seed_;
  const std::optional<NumericsHook> hook_;
  bool has_reported_ = false;
};

}  // namespace ratoon::session
