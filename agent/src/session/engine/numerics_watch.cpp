#include "agent/src/session/engine/numerics_watch.h"

#include <string_view>
#include <utility>

#include "agent/src/session/shutdown/fail.h"
#include "base/core/never_destroyed.h"
#include "base/core/utf8.h"

namespace ratoon {
namespace {

// The hook is a function-local variable, because a library may attach its hook before main(), when global
// variables may not be constructed yet.
std::optional<NumericsHook>& global_hook() {
  static const NeverDestroyed<std::optional<NumericsHook>> hook;
  return *hook;
}

}  // namespace

void attach_numerics(NumericsHook hook) {
  global_hook() = std::move(hook);
}

namespace session {
namespace {

class Comparison {
 public:
  // A setting counts as unchanged if its old or its new value is unknown (empty).
  void add(std::string_view what, const std::string& before, const std::string& now) {
    if (before.empty() || now.empty() || before == now) return;
    text_ += (text_.empty() ? "" : "; ") + std::string(what) + " " + before + ", now " + now;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string count_of(const Numerics& numerics) {
  return numerics.threads == 0 ? "" : std::to_string(numerics.threads);
}

void add_differences(Comparison& compared, const Numerics& before, const Numerics& now) {
  compared.add("library", before.library, now.library);
  compared.add("device", before.device, now.device);
  compared.add("CPU capability", before.cpu_capability, now.cpu_capability);
  compared.add("threads", count_of(before), count_of(now));
  compared.add("deterministic algorithms", before.is_deterministic ? "on" : "off",
               now.is_deterministic ? "on" : "off");
}

}  // namespace

std::optional<NumericsHook> attached_numerics() {
  return global_hook();
}

NumericsWatch::NumericsWatch(bool is_pinned, std::uint64_t seed, std::optional<NumericsHook> hook)
    : is_deterministic_(is_pinned), seed_(seed), hook_(std::move(hook)) {
  if (!is_deterministic_) return;
  if (!hook_) {
    fail(ExitCode::kConfiguration,
         "--deterministic sets the numerics of a computing library, but this program has attached none: "
         "include <ratoon/torch.h>, or call attach_numerics() of <ratoon/numerics.h>, or leave the flag out");
  }
  hook_->pin();
}

std::uint32_t NumericsWatch::thread_count_to_set() const {
  return is_deterministic_ ? hook_->now().threads : 0;
}

void NumericsWatch::begin_attempt(std::uint32_t threads_of_first) const {
  if (is_deterministic_ && threads_of_first != 0) hook_->set_threads(threads_of_first);
  if (hook_ && hook_->seed) hook_->seed(seed_);
}

std::string NumericsWatch::resume(const std::optional<checkpoint::RunRecord>& before) {
  if (!before) return "";
  Comparison compared;
  if (before->seed) compared.add("seed", std::to_string(*before->seed), std::to_string(seed_));
  if (hook_ && before->numerics) {
    if (is_deterministic_ && before->numerics->threads != 0) hook_->set_threads(before->numerics->threads);
    add_differences(compared, *before->numerics, *current_numerics());
  }
  if (compared.text().empty() || has_reported_) return "";
  has_reported_ = true;
  return "bits may differ from those of an uninterrupted run: " + compared.text();
}

std::optional<Numerics> NumericsWatch::current_numerics() const {
  if (!hook_) return std::nullopt;
  Numerics numerics = hook_->now();
  for (std::string* text : {&numerics.library, &numerics.device, &numerics.cpu_capability})
    *text = cut_text(std::move(*text), checkpoint::kNumericsTextBytesMax);
  return numerics;
}

}  // namespace session
}  // namespace ratoon
