// What went wrong with a sample, and with which.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/stream_reader.h>

namespace ratoon::data {

// Called while an exception is handled: throws one that says what was being done with which sample as well,
// with the first one nested in it. A Failure stays one, with its exit code; all else becomes a
// std::runtime_error.
[[noreturn]] void throw_with_sample(std::string_view doing, const Slot& slot, std::string_view source);

}  // namespace ratoon::data
