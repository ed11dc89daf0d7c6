// How a session tells people something.
#pragma once

#include <string_view>

namespace ratoon::session {

// "ratoon: <sentence>" on stderr. Much of what sentences name was read from disks and stores: a terminal
// obeys nothing in it, and lines after the first, as the words of other libraries have them, are indented.
void say(std::string_view sentence);

}  // namespace ratoon::session
