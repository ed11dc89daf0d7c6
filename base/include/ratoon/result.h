// Result<T>: a value, or an Error that says what happened, where, what was expected and what to do.
//
// Functions that may fail return a Result; Ratoon catches exceptions of other libraries where they arise.
//
//   ratoon::Result<int> parsed = parse_port(text);
//   if (!parsed) return parsed.error().with_context("reading --port");
//   listen(*parsed);
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace ratoon {

// From the kind of an error, a caller can decide how to handle the error. Add new kinds at the end, because
// the numbers appear in metrics.
enum class ErrorKind {
  kInvalid,           // the input is wrong; repeating it cannot help
  kNotFound,          // the named thing does not exist
  kAlreadyExists,     // another process made it first
  kConflict,          // it has changed since it was read; read again
  kPermissionDenied,  // the other side has identified us and refuses
  kUnavailable,       // may work later
  kTimeout,           // a deadline passed; the effect is unknown
  kCancelled,         // we asked it to stop
  kCorrupted,         // bytes are not the bytes that were written
  kNoSpace,           // a disk or a quota is full
  kIo,                // the system refused an operation on a file or socket
};

// Returns the kind as a short lower-case word for logs and metrics, for example "not_found".
[[nodiscard]] std::string_view name_of(ErrorKind kind);

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  // Returns the same error with the failed action before its message: "reading job.yaml: ...".
  [[nodiscard]] Error with_context(std::string_view doing) const;

  // Returns whether the same call with the same input can succeed later.
  [[nodiscard]] bool is_retryable() const;

  friend bool operator==(const Error&, const Error&) = default;

 private:
  ErrorKind kind_;
  std::string message_;
};

// Returns the error of a failed system call: its kind follows from `error_number`, its message from strerror.
[[nodiscard]] Error system_error(int error_number, std::string_view doing);

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  [[nodiscard]] T& value() & { return *checked(); }
  [[nodiscard]] const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  [[nodiscard]] T&& value() && { return std::move(*checked()); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return checked(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    if (has_value()) std::abort();
    return std::get<1>(state_);
  }

  template <class U>
  [[nodiscard]] T value_or(U&& fallback) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
  }

  // If there is a value, returns `next(value)`, which must be a Result. Otherwise returns the error.
  template <class F>
  [[nodiscard]] auto and_then(F&& next) && -> std::invoke_result_t<F, T&&> {
    if (!has_value()) return error();
    return std::forward<F>(next)(std::move(*this).value());
  }

 private:
  // Reading the value of a failed Result is a bug of the caller, so abort, in release builds too.
  T* checked() {
    if (!has_value()) std::abort();
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const {
    if (!error_) std::abort();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace ratoon
