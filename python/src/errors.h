// Errors of the agent as exceptions of the package: ratoon.RatoonError, and ratoon.Interrupted within
// train().
#pragma once

#include <nanobind/nanobind.h>

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

// Throws what an exception of Python stands for in C++: an Interrupted, the very one that was raised in
// Python, or the Failure of a RatoonError. Returns if it is another one. Needs the interpreter's lock.
void rethrow_if_known(nanobind::handle error);

}  // namespace ratoon::python
