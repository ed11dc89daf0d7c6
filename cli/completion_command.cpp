#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "base/contract/exit_code.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/run/find_run.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::cli {
namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  ratoon completion bash                   the script; in ~/.bashrc: source <(ratoon completion bash)
  ratoon completion zsh                    in ~/.zshrc: source <(ratoon completion zsh)
  ratoon completion fish > ~/.config/fish/completions/ratoon.fish
  ratoon completion members --run digits   the names that the scripts offer after `ratoon kill`

Exit codes: 0 printed, 82 there is no run or the command line is wrong, 84 standard output cannot be
written.)";

struct CompletionArguments {
  std::string what;
  std::string run;
};

// Prints the names of the members or nodes that status.json lists, one a line.
int print_names(const std::string& list, const std::string& run) {
  const auto folder = find_run(run);
  if (!folder) return print_error_and_exit_code(folder.error());
  const auto document = local::RunFolder::read_document(*folder);
  if (!document) return print_error_and_exit_code(document.error());
  std::string lines;
  if (*document && (*document)->contains(list)) {
    for (const auto& one : (**document)[list])
      if (const auto name = one.find("name"); name != one.end() && name->is_string())
        lines += printable(name->get<std::string>()) + "\n";
  }
  print_text(lines);
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

void add_completion_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompletionArguments>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print the script with which a shell completes the commands of ratoon");
  command->footer(kCompletionExamples);
  command
      ->add_option("shell", arguments->what,
                   "bash, zsh or fish; or members or nodes, to print the names that the scripts offer")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "members", "nodes"}));
  command->add_option("--run", arguments->run,
                      "The run to list: its folder, or its job's name in ratoon-runs/ (default: the "
                      "running one there)");
  command->callback([&app, arguments, &exit_code] {
    const std::string& what = arguments->what;
    if (what == "members" || what == "nodes") {
      exit_code = print_names(what, arguments->run);
      return;
    }
    print_text(completion_script(app, what == "bash"  ? Shell::kBash
                                      : what == "zsh" ? Shell::kZsh
                                                      : Shell::kFish));
    exit_code = static_cast<int>(ExitCode::kDone);
  });
}

}  // namespace ratoon::cli
