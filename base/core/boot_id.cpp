#include "base/core/boot_id.h"

#include <array>

#include <fcntl.h>
#include <unistd.h>

#include "base/core/unique_fd.h"

namespace ratoon {

std::optional<std::string> boot_id() {
  std::array<char, 64> text{};
  const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t got = fd.is_open() ? ::read(fd.get(), text.data(), text.size()) : 0;
  if (got <= 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(got));
}

}  // namespace ratoon
