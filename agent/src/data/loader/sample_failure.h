// Adds the name of the sample that was being read to the message of an exception.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/stream_reader.h>

namespace ratoon::data {

// Call rethrow_with_sample_name() in a catch block. Throws an exception that also names the operation and the
// sample, with the original exception nested in it. If the original exception is a ratoon::Failure, the new
// exception is a ratoon::Failure with the same exit code. Otherwise the new exception is a
// std::runtime_error.
[[noreturn]] void rethrow_with_sample_name(std::string_view doing, const Slot& slot, std::string_view source);

}  // namespace ratoon::data
