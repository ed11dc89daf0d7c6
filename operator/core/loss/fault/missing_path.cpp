#include "operator/core/loss/fault/missing_path.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/core/utf8.h"
#include "operator/core/loss/fault/external_cause.h"

namespace ratoon::core {
namespace {

// The system's error messages for ENOENT, ENOTDIR, EISDIR and ENAMETOOLONG.
constexpr auto kMissingPathMessages = std::to_array<std::string_view>(
    {"no such file or directory", "not a directory", "is a directory", "file name too long"});

// Names of exception types, and phrases about calls that open or read a file. In an exception about a missing
// path, these phrases do not show a cause other than the missing path.
constexpr auto kAcceptedPhrases = std::to_array<std::string_view>(
    {"filenotfounderror", "notadirectoryerror", "isadirectoryerror", "oserror",
     "ioerror",           "filesystem_error",   "system_error",      "errno",
     "file not found",    "open file failed",   "cannot open",       "can't open",
     "could not open",    "failed to open",     "unable to open",    "cannot read",
     "could not read",    "failed to read",     "unable to read",    "file failed"});

// Words which show that the path is a socket, or a library that the container expects from the node.
constexpr auto kNotAFilePhrases = std::to_array<std::string_view>({"connect", "shared object", ".sock"});

// Folders of the system: a missing path there may be a device whose driver the node lacks.
constexpr auto kPlacesOfSystem =
    std::to_array<std::string_view>({"/dev/", "/proc/", "/sys/", "/run/", "/var/run/"});

bool has_any_word(std::string_view text, const auto& words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Returns the text without the phrases in `words`, regardless of case.
std::string without_words(std::string text, const auto& words) {
  for (const std::string_view word : words) {
    for (std::size_t at = to_lower_case(text).find(word); at != std::string::npos;
         at = to_lower_case(text).find(word))
      text.replace(at, word.size(), " ");
  }
  return text;
}

// Returns the text without file paths; URLs remain in it.
std::string without_paths(std::string_view text) {
  constexpr std::string_view kAround = " '\"()[]=,";
  std::string rest;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find_first_of(kAround), text.size());
    const std::string_view word = text.substr(0, size);
    const bool is_path =
        word.find('/') != std::string_view::npos && word.find("://") == std::string_view::npos;
    if (!is_path) rest += word;
    rest += ' ';
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return rest;
}

}  // namespace

bool is_missing_path(std::string_view fault) {
  const std::string small = to_lower_case(fault);
  if (!has_any_word(small, kMissingPathMessages) || has_any_word(small, kNotAFilePhrases) ||
      has_any_word(small, kPlacesOfSystem))
    return false;
  return !may_have_external_cause(
      without_words(without_words(without_paths(fault), kMissingPathMessages), kAcceptedPhrases));
}

}  // namespace ratoon::core
