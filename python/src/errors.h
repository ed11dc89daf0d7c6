// Errors of the agent as the one exception of the package, ratoon.RatoonError.
#pragma once

#include <ratoon/failure.h>
#include <ratoon/result.h>

namespace ratoon::python {

// The same sentence, with the exit code that a trainer would end with.
[[noreturn]] void fail(const Error& error);

template <class T>
[[nodiscard]] T value_of(Result<T> result) {
  if (!result) fail(result.error());
  return *std::move(result);
}
inline void check(const Result<void>& result) {
  if (!result) fail(result.error());
}

}  // namespace ratoon::python
