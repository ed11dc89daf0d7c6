// Adds the name of the sample that was read to an exception.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/stream_reader.h>

namespace ratoon::data {

// Call throw_with_sample() in a catch block. Throws an exception that also names the operation and the
// sample, with the original exception nested in it. A Failure stays a Failure with its exit code; every other
// exception becomes a std::runtime_error.
[[noreturn]] void throw_with_sample(std::string_view doing, const Slot& slot, std::string_view source);

}  // namespace ratoon::data
