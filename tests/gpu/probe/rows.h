// Rows: results that a stage measured or observed, each written as a line of JSON as soon as it is known.
#pragma once

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

namespace ratoon::gpu_probe {

class Rows {
 public:
  explicit Rows(std::string stage) : stage_(std::move(stage)) {}

  void add(nlohmann::ordered_json row) {
    nlohmann::ordered_json whole{{"stage", stage_}};
    whole.update(row);
    std::printf("%s\n", whole.dump().c_str());
    std::fflush(stdout);
  }
  // A promise, and whether it was kept.
  void expect(bool holds, const std::string& what) {
    add({{"check", what}, {"holds", holds}});
    is_good_ = is_good_ && holds;
  }
  [[nodiscard]] int exit_code() const { return is_good_ ? 0 : 1; }

 private:
  std::string stage_;
  bool is_good_ = true;
};

}  // namespace ratoon::gpu_probe
