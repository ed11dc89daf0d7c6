// train() of Python: the attempts of AttemptLoop, whose training function is a function of Python.
#include <exception>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "agent/src/session/api/attempt_loop.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "base/core/threads/ignore_signal.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/python_session.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

// The training function threw an exception that is not Ratoon's. Python has kept it.
struct EndedByProgram {};

// `attempt` gets the session, calls the training function, and returns the exception that ended it, or None.
void make_attempt(Session& session, const nb::callable& attempt) {
  const nb::gil_scoped_acquire acquired;
  const nb::object lent = nb::cast(new PythonSession(session), nb::rv_policy::take_ownership);
  struct Closing {
    PythonSession& lent;
    ~Closing() { lent.close(); }
  } const closing{nb::cast<PythonSession&>(lent)};
  const nb::object ended = attempt(lent);
  if (ended.is_none()) return;
  rethrow_if_known(ended);
  throw EndedByProgram();
}

// Returns the exit code of the process, or nothing if the program's own exception ends it.
std::optional<int> train(const nb::dict& values, const nb::callable& attempt) {
  Options options = options_of(values);
  int code = 0;
  try {
    const nb::gil_scoped_release released;
    ignore_broken_output_signals();
    Session::AttemptLoop(std::move(options)).run([&](Session& session) { make_attempt(session, attempt); });
  } catch (const EndedByProgram&) {
    return std::nullopt;
  } catch (...) {
    const nb::gil_scoped_release released;
    code = session::report_exception("the training function");
  }
  flush_python();
  return session::leave(code);
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", &train, "options"_a, "attempt"_a);
}

}  // namespace ratoon::python
