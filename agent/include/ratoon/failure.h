// Exceptions that Ratoon throws into a training function.
//
//   try { ... } catch (const ratoon::Interrupted&) { throw; } catch (...) { ... }  // train() calls again
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ratoon {

// Ratoon throws Interrupted when the set of training processes has changed. The exception ends the call of
// the training function, and train() calls the function again. Interrupted does not derive from
// std::exception, so that a handler for errors in the training function does not catch it. If a program
// throws Interrupted although the set of processes has not changed, train() treats this exception as an error
// of the program.
class Interrupted {
 public:
  explicit Interrupted(std::string why) : message_(std::move(why)) {}
  virtual ~Interrupted() = default;
  Interrupted(const Interrupted&) = default;
  Interrupted& operator=(const Interrupted&) = default;

  [[nodiscard]] const char* what() const noexcept { return message_.c_str(); }

 private:
  std::string message_;
};

// An error after which the process must end. train() prints the message and returns the exit code
// (docs/reference/exit_codes.md).
class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

}  // namespace ratoon
