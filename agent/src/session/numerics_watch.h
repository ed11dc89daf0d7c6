// NumericsWatch: the numerics of this process over all attempts: pinned where that is wanted, noted in each
// checkpoint, and compared with those of the checkpoint that is resumed from.
//
//   NumericsWatch watch(options.deterministic, attached_numerics());   // throws where nothing can be pinned
//   say(watch.resume(record_of_the_checkpoint));                       // at most one sentence in all
//   record.numerics = watch.now();
#pragma once

#include <optional>
#include <string>

#include <ratoon/numerics.h>

namespace ratoon::session {

// Of whatever computes in this process; nothing where nothing does.
[[nodiscard]] std::optional<NumericsHook> attached_numerics();

// "threads 2, now 4; CPU capability AVX512, now AVX2"; empty where bits will be the same, as far as is known.
[[nodiscard]] std::string differences(const Numerics& before, const Numerics& now);

class NumericsWatch {
 public:
  NumericsWatch(bool is_pinned, std::optional<NumericsHook> hook);

  // Pinned, it goes on with as many threads as the run began with. Says, once, that bits may differ; else
  // nothing. Called when all that is tracked was restored.
  [[nodiscard]] std::string resume(const std::optional<Numerics>& before);
  [[nodiscard]] std::optional<Numerics> now() const;

 private:
  const bool is_pinned_;
  const std::optional<NumericsHook> hook_;
  bool has_said_ = false;
};

}  // namespace ratoon::session
