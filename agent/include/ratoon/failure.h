// What a training function may see thrown by Ratoon.
//
//   try { ... } catch (const ratoon::Interrupted&) { throw; }  // let it pass: train() calls again
#pragma once

#include <stdexcept>
#include <string>

namespace ratoon {

// The world changed. The training function unwinds and is called again; it is not an error and must not be
// swallowed.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(const std::string& why) : std::runtime_error(why) {}
};

// The process cannot go on; train() prints the sentence and returns the exit code (README, "Exit codes").
class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& sentence) : std::runtime_error(sentence), exit_code(code) {}
  int exit_code;
};

}  // namespace ratoon
