#include "agent/src/session/link/interruptible_sleep.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/src/session/shutdown/fail.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {

InterruptibleSleep::InterruptibleSleep() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.is_open())
    fail(ExitCode::kStartAgain,
         system_error(errno, "creating an eventfd to wake a thread").message() + "; start again");
}

void InterruptibleSleep::notify() const {
  const std::uint64_t one = 1;
  // The write fails only if the eventfd's counter is full, and then a notification is already pending.
  if (::write(event_.get(), &one, sizeof one) < 0) return;
}

InterruptibleSleep::Reason InterruptibleSleep::sleep(Duration at_most, int lifeline_fd) const {
  // If `lifeline_fd` is -1, poll() ignores its entry.
  std::array<pollfd, 2> ready{{{event_.get(), POLLIN, 0}, {lifeline_fd, POLLIN, 0}}};
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
  ::poll(ready.data(), ready.size(), static_cast<int>(std::clamp<std::int64_t>(millis, 0, 1'000'000'000)));
  if (ready[1].revents != 0) return kLifelineEnded;
  std::uint64_t count = 0;
  return ::read(event_.get(), &count, sizeof count) > 0 ? kNotified : kTimeUp;
}

}  // namespace ratoon::session
