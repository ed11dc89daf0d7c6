#include "base/core/random_name.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include <sys/random.h>
#include <unistd.h>

namespace ratoon {

std::string draw_name() {
  std::uint64_t salt = 0;
  if (::getrandom(&salt, sizeof salt, 0) != sizeof salt) salt = static_cast<std::uint64_t>(::getpid());
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(salt));
  return text.data();
}

}  // namespace ratoon
