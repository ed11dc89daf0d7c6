// train(): calls a training function, and calls it again in the same process after an interruption. Each call
// of `function` continues from the newest checkpoint.
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

// Calls `function`, and calls it again each time that the set of processes changes, until the run reaches its
// end. Returns the process's exit code. If `function` returns before the end of the run, the run is not
// complete (Session::steps() describes the result). Ratoon starts no threads and prints nothing before
// train() is called. If `function` throws an exception other than Interrupted and Failure, train() prints the
// exception and returns 1.
[[nodiscard]] int train(Result<Options> options, const std::function<void(Session&)>& function);

}  // namespace ratoon
