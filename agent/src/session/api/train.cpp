#include <ratoon/train.h>

#include "agent/src/session/api/attempt_loop.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "base/core/threads/ignore_signal.h"

namespace ratoon {

int train(Result<Options> options, const std::function<void(Session&)>& function) {
  int code = 0;
  ignore_broken_output_signals();
  try {
    if (!session::is_help_request(options)) Session::AttemptLoop(*options).run(function);
  } catch (...) {
    code = session::report_exception("the training function");
  }
  return session::leave(code);
}

}  // namespace ratoon
