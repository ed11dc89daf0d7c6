#include "cli/completion.h"

#include <vector>

#include "base/core/lists.h"

namespace ratoon::cli {
namespace {

struct Level {
  std::string path;  // " checkpoint list"; empty: the program itself
  std::vector<std::string> subcommands;
  std::vector<std::string> options;
  std::vector<std::string> options_with_value;
};

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

void collect(const CLI::App& command, const std::string& path, std::vector<Level>& levels) {
  Level level{.path = path};
  for (const CLI::Option* option : command.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    for (const auto& name : names_of(*option)) {
      level.options.push_back(name);
      if (takes_value) level.options_with_value.push_back(name);
    }
  }
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* one : below) level.subcommands.push_back(one->get_name());
  levels.push_back(std::move(level));
  for (const CLI::App* one : below) collect(*one, path + " " + one->get_name(), levels);
}

std::string case_of(const Level& level) {
  return "    '" + level.path + "') words='" + join(level.subcommands, " ") + "' options='" +
         join(level.options, " ") + "' valued='" + join(level.options_with_value, " ") + "' ;;\n";
}

// The script offers no words for the value of an option, for the trainer's arguments after --, and for
// commands that take a file: in these cases the shell itself completes file names.
std::string function_of(const std::vector<Level>& levels) {
  std::vector<std::string> paths;
  std::string cases;
  for (const auto& level : levels) {
    if (!level.path.empty()) paths.push_back("'" + level.path + "'");
    cases += case_of(level);
  }
  return R"(_ratoon() {
  local word=${COMP_WORDS[COMP_CWORD]} command= words= options= valued= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
      *' --') return ;;
      )" +
         join(paths, " | ") +
         R"() command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command" in
)" + cases +
         R"(  esac
  case " $valued " in *" ${COMP_WORDS[COMP_CWORD-1]} "*) return ;; esac
  case "$word" in -*) words=$options ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
)";
}

}  // namespace

std::string completion_script(const CLI::App& program, Shell shell) {
  std::vector<Level> levels;
  collect(program, "", levels);
  const std::string begin = shell == Shell::kBash ? ""
                                                  : "autoload -U +X compinit && compinit\n"
                                                    "autoload -U +X bashcompinit && bashcompinit\n";
  return begin + function_of(levels) + "complete -o default -F _ratoon ratoon\n";
}

}  // namespace ratoon::cli
