// say(): prints a message of a session for the user.
#pragma once

#include <string_view>

namespace ratoon::session {

// Prints "ratoon: <sentence>" on stderr. Control characters are replaced to protect the terminal, because
// parts of a message may come from disks and stores. If the message has several lines, all lines after the
// first are indented.
void say(std::string_view sentence);

}  // namespace ratoon::session
