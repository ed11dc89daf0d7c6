#include "cli/command_line_fault.h"

#include <string_view>
#include <vector>

#include "cli/nearest.h"

namespace ratoon::cli {
namespace {

// The command that the line had come to.
const CLI::App& innermost(const CLI::App& app) {
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

// The words between the command and an option of the trainer.
std::string example_of(const CLI::App& command) {
  return command.get_name() == "run" ? " job.yaml -- " : " -- trainer ";
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string path = path_of(command);
  const std::vector<std::string> left = command.remaining();
  const auto commands = names_of_commands(command);
  std::string sentence = error.what();
  if (!left.empty() && left.front().starts_with('-')) {
    const std::string option = left.front().substr(0, left.front().find('='));
    sentence = path + " takes no option '" + option + "'";
    const std::string guess = nearest(option, names_of_options(command));
    if (guess.empty() && starts_trainers(command)) {
      sentence +=
          "; an option of the trainer stands behind --, as in '" + path + example_of(command) + option + "'";
    } else {
      sentence = with_guess(sentence, guess);
    }
  } else if (!left.empty() && !commands.empty()) {
    sentence = with_guess(path + " has no command '" + left.front() + "'", nearest(left.front(), commands));
  } else if (!left.empty()) {
    sentence = path + " has no place for '" + left.front() + "'";
    if (command.get_option_no_throw("--run") != nullptr) sentence += "; a run is named with --run";
    if (starts_trainers(command)) sentence += "; the words of the trainer stand behind --";
  } else if (!commands.empty()) {
    sentence = path + " wants a command";
  }
  return sentence + (sentence.ends_with('?') ? " See `" : ": see `") + path + " --help`";
}

}  // namespace ratoon::cli
