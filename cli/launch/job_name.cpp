#include "cli/launch/job_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace ratoon::cli {
namespace {

constexpr std::size_t kNameBytesMax = 40;

struct Interpreter {
  std::string_view name;             // without a version: python3.11 is python
  std::string_view value_options{};  // letters of the options that the next word belongs to
  std::string_view code_options{};   // letters of the options that bring code instead of a file
  char module_option = 0;            // the letter of the option that names a module
};

constexpr std::array kInterpreters = {
    Interpreter{.name = "python", .value_options = "WX", .code_options = "c", .module_option = 'm'},
    Interpreter{.name = "pypy", .value_options = "WX", .code_options = "c", .module_option = 'm'},
    Interpreter{.name = "sh", .value_options = "o", .code_options = "cs"},
    Interpreter{.name = "bash", .value_options = "oO", .code_options = "cs"},
    Interpreter{.name = "dash", .value_options = "o", .code_options = "cs"},
    Interpreter{.name = "zsh", .value_options = "o", .code_options = "cs"},
    Interpreter{.name = "perl", .value_options = "I", .code_options = "eE"},
    Interpreter{.name = "ruby", .value_options = "Ir", .code_options = "e"},
    Interpreter{.name = "julia", .value_options = "tpJLCHg", .code_options = "eE"},
    Interpreter{.name = "env", .value_options = "uC", .code_options = ""},
};

const Interpreter* find_interpreter(const std::string& program) {
  const std::string file = std::filesystem::path(program).filename();
  const std::string_view name = std::string_view(file).substr(0, file.find_last_not_of("0123456789.") + 1);
  const auto found =
      std::ranges::find_if(kInterpreters, [&](const Interpreter& one) { return one.name == name; });
  return found == kInterpreters.end() ? nullptr : &*found;
}

bool is_assignment(std::string_view word) {
  return word.find('=') != word.npos && word.find('/') > word.find('=');
}

// The file or module that an interpreter runs.
struct Script {
  std::size_t word = 0;  // the number of words of the command if there is none
  bool is_module = false;
};

// Finds the word that names the file or module that `by` runs, from word `first` on. The letters of an option
// are read from the left: an option with a value ends the word, and takes the next word if it is the last
// letter.
Script find_script(const std::vector<std::string>& command, std::size_t first, const Interpreter& by) {
  for (std::size_t i = first; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const bool is_option = word.size() > 1 && word.front() == '-';
    if (!is_option && !(by.name == "env" && is_assignment(word))) return {.word = i};
    if (!is_option || word.starts_with("--")) continue;
    const auto is_special = [&](char letter) {
      return by.code_options.find(letter) != by.code_options.npos ||
             by.value_options.find(letter) != by.value_options.npos || letter == by.module_option;
    };
    const auto found = std::find_if(word.begin() + 1, word.end(), is_special);
    if (found == word.end()) continue;
    if (by.code_options.find(*found) != by.code_options.npos) break;
    const bool takes_next = found + 1 == word.end();
    if (*found == by.module_option) return {.word = takes_next ? i + 1 : i, .is_module = true};
    if (takes_next) ++i;
  }
  return {.word = command.size()};
}

std::string make_valid_name(const std::string& file) {
  std::string name;
  for (const char c : file) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_inner = std::isdigit(letter) != 0 || c == '-';
    if (std::isalpha(letter) != 0 || (is_inner && !name.empty()))
      name += static_cast<char>(std::tolower(letter));
  }
  name.resize(std::min(name.size(), kNameBytesMax));
  name.resize(name.find_last_not_of('-') + 1);
  return name.empty() ? "trainer" : name;
}

}  // namespace

std::optional<std::string> job_name_of(const std::vector<std::string>& command) {
  const std::string program = std::filesystem::path(command.front()).filename();
  const Interpreter* by = find_interpreter(program);
  if (by == nullptr) return make_valid_name(program);
  Script script;
  while (by != nullptr) {
    script = find_script(command, script.word + 1, *by);
    if (script.word >= command.size()) return std::nullopt;
    by = script.is_module ? nullptr : find_interpreter(command[script.word]);
  }
  std::string name = command[script.word];
  if (!script.is_module) return make_valid_name(std::filesystem::path(name).stem());
  if (name.starts_with("-")) name.erase(0, name.find('m') + 1);
  std::ranges::replace(name, '.', '-');
  return make_valid_name(name);
}

}  // namespace ratoon::cli
