// train(): the one call that gives a training function exact resume and restart in the same process.
//
//   int main(int argc, char** argv) {
//     return ratoon::train(ratoon::Options::from_environment(argc, argv), [](ratoon::Session& session) {
//       std::int64_t sum = 0;
//       session.track("sum", sum);
//       for (std::uint64_t step : session.steps(1000)) sum += work(step);
//     });
//   }
#pragma once

#include <functional>

#include <ratoon/failure.h>
#include <ratoon/options.h>
#include <ratoon/result.h>
#include <ratoon/session.h>

namespace ratoon {

// Calls `function` once per attempt until the run reaches its end, and returns the process's exit code. If
// the function returns earlier, the run is not complete: see Session::steps(). Nothing is started or printed
// before train(). train() prints any exception other than Interrupted and Failure; the exit code is then 1.
[[nodiscard]] int train(Result<Options> options, const std::function<void(Session&)>& function);

}  // namespace ratoon
