#include "python/src/interruptible.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace ratoon::python {
namespace {

void end_at_once(int exit_code, void* /*unused*/) {
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace

// What is registered last runs first: the interpreter's end registers it behind all that the thread needs.
void leave_behind() {
  static bool is_told = false;  // under the interpreter's lock
  if (!is_told) is_told = Py_AtExit([] { ::on_exit(end_at_once, nullptr); }) == 0;
}

}  // namespace ratoon::python
