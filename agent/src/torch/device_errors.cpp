#include "agent/src/torch/device_errors.h"

#include <exception>
#include <optional>

#include <c10/util/Exception.h>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using devices::FaultKind;

std::optional<devices::DeviceFault> fault_of(const std::exception& error) {
  if (const auto* of_device = dynamic_cast<const c10::AcceleratorError*>(&error))
    return devices::DeviceFault{.kind = FaultKind::kCuda, .code = of_device->get_error_code()};
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr)
    return devices::DeviceFault{.kind = FaultKind::kMemory};
  return std::nullopt;
}

// A decision to continue in this process is replaced: the training function has thrown an exception, so this
// process ends even if its device works.
std::optional<session::ErrorMeaning> explain(const std::exception& error) {
  const auto fault = fault_of(error);
  if (!fault) return std::nullopt;
  const auto decision =
      devices::decide_after_fault(*fault, devices::FaultOrigin::kProgram, devices::AbortResult::kNotNeeded,
                                  devices::ProbeResult::kClean, devices::DeviceFacts());
  return session::ErrorMeaning{
      .exit_code = decision.exit_code.value_or(static_cast<int>(ExitCode::kStartAgain)),
      .sentence = decision.sentence,
      .must_skip_teardown = decision.skips_destructors};
}

}  // namespace

void attach_device_errors() {
  session::set_error_explainer(explain);
}

}  // namespace ratoon
