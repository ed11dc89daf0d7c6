#include "base/core/random_name.h"

#include <cerrno>
#include <cstdint>

#include <sys/random.h>
#include <unistd.h>

#include "base/core/hex.h"

namespace ratoon {

std::string draw_name() {
  std::uint64_t salt = 0;
  if (::getrandom(&salt, sizeof salt, 0) != sizeof salt) salt = static_cast<std::uint64_t>(::getpid());
  return to_hex(salt);
}

Result<std::string> draw_secret(std::size_t bytes) {
  std::string drawn(bytes, '\0');
  if (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size()))
    return system_error(errno, "drawing a secret");
  return to_hex(drawn);
}

}  // namespace ratoon
