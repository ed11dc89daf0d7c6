#include "base/core/random_name.h"

#include <cerrno>
#include <cstdint>

#include <sys/random.h>
#include <unistd.h>

#include "base/core/hex.h"

namespace ratoon {

namespace {

bool fill_with_random_bytes(void* into, std::size_t bytes) {
  ssize_t got = 0;
  do {
    got = ::getrandom(into, bytes, 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes);
}

}  // namespace

std::string random_hex_name() {
  std::uint64_t salt = 0;
  if (!fill_with_random_bytes(&salt, sizeof salt)) salt = static_cast<std::uint64_t>(::getpid());
  return to_hex(salt);
}

Result<std::string> random_hex_secret(std::size_t bytes) {
  std::string drawn(bytes, '\0');
  if (!fill_with_random_bytes(drawn.data(), drawn.size())) return system_error(errno, "drawing a secret");
  return to_hex(drawn);
}

}  // namespace ratoon
