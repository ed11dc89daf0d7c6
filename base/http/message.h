// HTTP messages as plain values, without sockets or libraries.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ratoon::http {

// HTTP header fields in order of arrival; their names compare without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void set(std::string name, std::string value);
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }

  // Returns the value of the first field with that name, or an empty text.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  [[nodiscard]] bool contains(std::string_view name) const;

  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
};

}  // namespace ratoon::http
