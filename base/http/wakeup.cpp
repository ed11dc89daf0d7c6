#include "base/http/wakeup.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace ratoon::http {

Wakeup::Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

// Ignore the results of write() and read(): an eventfd whose counter is full still wakes the thread, and a
// counter of 0 needs no reset by read().
void Wakeup::notify() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

void Wakeup::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace ratoon::http
