// Prints the messages of a session to users.
#pragma once

#include <string_view>

namespace ratoon::session {

// Prints "ratoon: <sentence>" on stderr. Parts of a sentence may come from disks and stores, so control
// characters are replaced to protect terminals. All lines after the first, as in messages of other libraries,
// are indented.
void say(std::string_view sentence);

}  // namespace ratoon::session
