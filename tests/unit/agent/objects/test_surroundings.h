// A real transport with a clock, random numbers and an environment of the test. Time passes when a thread
// waits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/src/objects/remote/http_dependencies.h"

namespace ratoon::objects::test {

struct TestWorld {
  std::shared_ptr<ManualClock> clock =
      std::make_shared<ManualClock>(Timestamp{}, parse_rfc3339("2026-03-01T12:00:00Z").value());
  std::map<std::string, std::string> environment{};
  std::vector<Duration> pauses{};

  HttpDependencies dependencies() {
    return {.transport = http::make_transport(),
            .clock = clock,
            .environment = [this](const std::string& name) -> std::optional<std::string> {
              const auto found = environment.find(name);
              return found == environment.end() ? std::nullopt : std::optional(found->second);
            },
            .chance = [] { return 0.5; },
            .pause =
                [this](Duration time, const std::stop_token& stop) {
                  pauses.push_back(time);
                  clock->advance(time);
                  return !stop.stop_requested();
                }};
  }
};

}  // namespace ratoon::objects::test
