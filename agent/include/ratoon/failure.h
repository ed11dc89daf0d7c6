// Exceptions that Ratoon throws into a training function.
//
//   try { ... } catch (const ratoon::Interrupted&) { throw; } catch (...) { ... }  // train() calls again
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ratoon {

// The world changed. The training function unwinds and is called again. Interrupted is not an error, and the
// class does not derive from std::exception: a handler of std::exception around the loop does not catch it.
// If a program throws Interrupted while the world has not changed, that is an error of the program, like any
// other exception.
class Interrupted {
 public:
  explicit Interrupted(std::string why) : why_(std::move(why)) {}
  virtual ~Interrupted() = default;
  Interrupted(const Interrupted&) = default;
  Interrupted& operator=(const Interrupted&) = default;

  [[nodiscard]] const char* what() const noexcept { return why_.c_str(); }

 private:
  std::string why_;
};

// The process cannot go on. train() prints the message and returns the exit code (README, "Exit codes").
class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

}  // namespace ratoon
