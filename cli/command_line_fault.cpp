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
  const auto is_shown = [](const CLI::App* one) { return !one->get_group().empty(); };
  for (const CLI::App* one : command.get_subcommands(is_shown)) names.push_back(one->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string add_suggestion(std::string sentence, const std::string& guess) {
  return guess.empty() ? sentence : sentence + "; did you mean '" + guess + "'?";
}

bool runs_a_trainer(const CLI::App& command) {
  return command.get_name() == "run" || command.get_name() == "launch";
}

// Returns the first argument that the command needs and that the command line lacks, or null.
const CLI::Option* find_missing_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->empty()) return option;
  return nullptr;
}

// Returns the part of an example command line between the command's name and the trainer's option.
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
    if (guess.empty() && runs_a_trainer(command)) {
      sentence +=
          "; put an option of the trainer behind --, as in '" + path + example_of(command) + option + "'";
    } else {
      sentence = add_suggestion(sentence, guess);
    }
  } else if (!left.empty() && !commands.empty()) {
    sentence =
        add_suggestion(path + " has no command '" + left.front() + "'", nearest_name(left.front(), commands));
  } else if (!left.empty()) {
    sentence = path + " takes no argument '" + left.front() + "'";
    if (command.get_option_no_throw("--run") != nullptr) sentence += "; name a run with --run";
    if (command.get_name() == "run") {
      sentence += "; put the arguments of the trainer behind --, as in '" + path + " job.yaml -- " +
                  left.front() + "'";
    } else if (command.get_name() == "launch") {
      sentence +=
          "; put the trainer and its arguments behind --, as in '" + path + " -- " + left.front() + "'";
    }
  } else if (!commands.empty()) {
    sentence = path + " needs a command";
  } else if (const CLI::Option* missing = find_missing_argument(command); missing != nullptr) {
    sentence =
        path + " needs the argument '" + missing->get_name() + "' (" + missing->get_description() + ")";
  }
  return sentence + (sentence.ends_with('?') ? " See `" : ": see `") + path + " --help`";
}

}  // namespace ratoon::cli
