#include "agent/src/session/telemetry/say.h"

#include <cstdio>
#include <string>

#include "base/core/utf8.h"

namespace ratoon::session {

void say(std::string_view sentence) {
  std::string text = "ratoon: ";
  for (std::size_t end = sentence.find('\n'); end != std::string_view::npos; end = sentence.find('\n')) {
    text += printable(sentence.substr(0, end)) + "\n  ";
    sentence.remove_prefix(end + 1);
  }
  text += printable(sentence) + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace ratoon::session
