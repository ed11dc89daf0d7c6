// ratoon-launcher: starts any program as a member of a TrainingJob (agent: Launcher) and reports to the
// operator in the program's place. The program is linked statically, so that it runs in every image.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/core/clock.h"
#include "base/core/streams/standard_output.h"
#include "launcher/install.h"
#include "launcher/member_launcher.h"
#include "launcher/member_settings.h"

namespace {

constexpr const char* kHelp = R"(Usage: ratoon-launcher -- PROGRAM [ARGUMENT]...
       ratoon-launcher --install PATH

Runs PROGRAM as a member of a TrainingJob whose role has `agent: Launcher`. The operator and `ratoon run`
start this program; you need not start it yourself. It sends heartbeats to the operator, starts PROGRAM with
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in each world, sends SIGTERM to PROGRAM before its node ends,
and starts PROGRAM again after the loss of another member.

  --               the program and its arguments follow; $(RANK), $(WORLD_SIZE), $(MASTER_ADDR) and
                   $(MASTER_PORT) in them are replaced
  --install PATH   copy this program to PATH, and end
  --help           show this text, and end

Exit codes: that of PROGRAM (128 + n after signal n); 80 it left on request, 81 another pod has its place, 82
the variables of the member are wrong, 84 the operator was not accepted for a minute or standard output
cannot be written, 127 PROGRAM cannot be started.
)";

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "ratoon-launcher: %s\n", sentence.c_str());
  return static_cast<int>(ratoon::ExitCode::kConfiguration);
}

int end_with(const ratoon::Error& error) {
  static_cast<void>(refuse(error.message()));
  return static_cast<int>(ratoon::exit_code_of(error.kind()));
}

int launch(const std::vector<std::string>& command) {
  if (command.empty())
    return refuse("no program to launch: put it behind --, as in 'ratoon-launcher -- python train.py'");
  const auto settings =
      ratoon::launcher::read_member_settings([](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      });
  if (!settings) return end_with(settings.error());
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const auto code = ratoon::launcher::launch_member(*settings, command, environment, ratoon::SystemClock());
  return code ? *code : end_with(code.error());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (words.empty()) return launch({});
  const std::string& first = words.front();
  if (first == "--") return launch({words.begin() + 1, words.end()});
  if (first == "--help" && words.size() == 1) {
    std::fputs(kHelp, stdout);
    const auto written = ratoon::flush_output();
    return written ? 0 : end_with(written.error());
  }
  if (first == "--install" && words.size() == 2) {
    const auto installed = ratoon::launcher::install_to(words[1]);
    return installed ? 0 : end_with(installed.error());
  }
  return refuse("unknown arguments, beginning with '" + first + "': see ratoon-launcher --help");
}
