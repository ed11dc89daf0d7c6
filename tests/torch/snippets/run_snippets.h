// Registers the training functions that run_snippets runs. A frame defines each of them around snippets.
#pragma once

#include <functional>
#include <string>

#include <ratoon/session.h>

namespace snippets {

// Adds a training function, or a program with a main() of its own.
bool add(const std::string& name, std::function<void(ratoon::Session&)> train);
bool add_program(const std::string& name, std::function<int(int, char**)> main);
// The same for a session without train(): its process is started again when it ends with exit code 81.
bool add_in_place(const std::string& name, std::function<int(int, char**)> main);

// A program with a main() of its own calls work() in each step; the loss comes in one of these calls.
void work();

}  // namespace snippets

#define SNIPPETS(name)                                     \
  void name(ratoon::Session& session);                     \
  const bool is_added_##name = snippets::add(#name, name); \
  void name([[maybe_unused]] ratoon::Session& session)
