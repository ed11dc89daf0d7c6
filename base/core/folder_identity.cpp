#include "base/core/folder_identity.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/core/random_name.h"

namespace ratoon {
namespace {

constexpr std::size_t kIdentityBytes = 16;
constexpr std::size_t kFolderMarkDigits = 16;

std::string folder_mark_digits(std::uint64_t mark) {
  std::array<char, kFolderMarkDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, mark);
  return text.data();
}

}  // namespace

bool is_identity(std::string_view text) {
  return text.size() == 2 * kIdentityBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> make_random_identity(std::uint64_t mark) {
  auto drawn = random_hex_secret(kIdentityBytes);
  if (!drawn) return drawn;
  return identity_of_folder(*drawn, mark);
}

std::string identity_of_folder(const std::string& read, std::uint64_t mark) {
  return mark == 0 ? read : read.substr(0, read.size() - kFolderMarkDigits) + folder_mark_digits(mark);
}

}  // namespace ratoon
