#include "cli/command_line_fault.h"

#include <string_view>
#include <vector>

#include "cli/text/nearest_name.h"

namespace ratoon::cli {
namespace {

// Returns the innermost subcommand that the parser had reached when it failed.
const CLI::App& innermost_subcommand(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : path_of(*parent) + " ") + command.get_name();
}

std::vector<std::string> names_of_commands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string with_guess(std::string sentence, const std::string& guess) {
  return guess.empty() ? sentence : sentence + "; did you mean '" + guess + "'?";
}

bool starts_trainers(const CLI::App& command) {
  return command.get_name() == "run" || command.get_name() == "launch";
}

// Returns the example words to print between the ratoon command and an option of the trainer.
std::string example_of(const CLI::App& command) {
  return command.get_name() == "run" ? " job.yaml -- " : " -- trainer ";
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost_subcommand(app);
  const std::string path = path_of(command);
  const std::vector<std::string> left = command.remaining();
  const auto commands = names_of_commands(command);
  std::string sentence = error.what();
  if (!left.empty() && left.front().starts_with('-')) {
    const std::string option = left.front().substr(0, left.front().find('='));
    sentence = path + " takes no option '" + option + "'";
    const std::string guess = nearest_name(option, names_of_options(command));
    if (guess.empty() && starts_trainers(command)) {
      sentence +=
          "; put an option of the trainer behind --, as in '" + path + example_of(command) + option + "'";
    } else {
      sentence = with_guess(sentence, guess);
    }
  } else if (!left.empty() && !commands.empty()) {
    sentence =
        with_guess(path + " has no command '" + left.front() + "'", nearest_name(left.front(), commands));
  } else if (!left.empty()) {
    sentence = path + " takes no argument '" + left.front() + "'";
    if (command.get_option_no_throw("--run") != nullptr) sentence += "; name a run with --run";
    if (starts_trainers(command)) sentence += "; put the arguments of the trainer behind --";
  } else if (!commands.empty()) {
    sentence = path + " needs a command";
  }
  return sentence + (sentence.ends_with('?') ? " See `" : ": see `") + path + " --help`";
}

}  // namespace ratoon::cli
