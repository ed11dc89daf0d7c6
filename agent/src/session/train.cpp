#include <ratoon/train.h>

#include "agent/src/session/attempts.h"
#include "agent/src/session/last_words.h"
#include "agent/src/session/leaving.h"
#include "base/core/ignore_signal.h"

namespace ratoon {

int train(Result<Options> options, const std::function<void(Session&)>& function) {
  int code = 0;
  ignore_signals_of_writes();
  try {
    if (!session::is_only_asked_for_help(options)) Session::Attempts(*options).run(function);
  } catch (...) {
    code = session::say_why("the training function");
  }
  return session::leave(code);
}

}  // namespace ratoon
