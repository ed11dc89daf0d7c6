// What to tell somebody whose question about a cluster's jobs was not answered. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/failure.h"

namespace ratoon::cli {

// Who was asked about what.
struct Asked {
  std::string server;
  std::string name_space;                     // empty: all
  std::optional<WallTime> certificate_end{};  // of the one that we showed
};

// "namespace 'prod' at https://10.0.0.1:6443".
[[nodiscard]] std::string place_text(const Asked& asked);

// Why a list was not given. `refusal` is what the server answered, where it did.
[[nodiscard]] Error explain_list(const Asked& asked, const Error& error,
                                 const std::optional<kube::Failure>& refusal, WallTime now);
// Why the server does not go on telling what changes.
[[nodiscard]] Error explain_watch(const Asked& asked, const Error& error);
// There is no job of that name. `names` are those that are there.
[[nodiscard]] Error explain_missing(const Asked& asked, const std::string& job,
                                    const std::vector<std::string>& names);

}  // namespace ratoon::cli
