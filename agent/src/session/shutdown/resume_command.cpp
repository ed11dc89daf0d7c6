#include "agent/src/session/shutdown/resume_command.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

namespace ratoon::session {
namespace {

std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain = "-_./=:,@%+";
  const auto is_plain = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string shell_command_of(std::string_view words) {
  std::string command;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('\0'), words.size());
    command += (command.empty() ? "" : " ") + quoted(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return command;
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return shell_command_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace ratoon::session
