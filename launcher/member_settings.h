// Reads the settings of a member from the environment that the operator or `ratoon run` gave its container.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/http/transport.h"
#include "launcher/program_control.h"

namespace ratoon::launcher {

struct MemberSettings {
  ProcessIdentity process;  // without `start`
  std::string coordinator_url;
  http::TlsClientOptions tls;
  std::string token_file;
  std::string host;               // on which the other members reach this one
  std::uint16_t master_port = 0;  // 0: a free port for each world
  int lifeline_fd = -1;           // reads end-of-file when `ratoon run` has ended; -1: there is none
  ProgramTimes times;
  std::string notice_file;
};

// Returns the value of a variable, or nothing if it is not set.
using FindVariable = std::function<std::optional<std::string>(const char* name)>;

// An error names the variable and says what to do.
[[nodiscard]] Result<MemberSettings> read_member_settings(const FindVariable& find);

}  // namespace ratoon::launcher
