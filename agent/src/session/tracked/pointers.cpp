#include <ratoon/failure.h>
#include <ratoon/session/pointers.h>

#include "base/contract/exit_code.h"

namespace ratoon::pointers {

void check_not_empty(bool is_empty, const std::string& name) {
  if (is_empty)
    throw Failure(static_cast<int>(ExitCode::kConfiguration), "tracked '" + name + "' " + kIsEmpty);
}

}  // namespace ratoon::pointers
