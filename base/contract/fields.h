// Fields reads the fields of a JSON object within bounds, and keeps the first error (the complaint). So a
// decoder can read all fields without a check after each field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

namespace ratoon {

// Parses JSON text of at most `bytes_max` bytes, nested at most `depth_max` levels deep. Throws no exception.
// If a key occurs twice, its last value counts.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, std::size_t bytes_max, int depth_max);

class Fields {
 public:
  // `path` is the object's place in the message, such as "process.job". The Fields of nested objects set the
  // same `complaint`.
  Fields(const nlohmann::json& object, std::string path, std::optional<Error>& complaint);

  [[nodiscard]] std::string text(const char* name, std::size_t bytes_max);           // required, not empty
  [[nodiscard]] std::string optional_text(const char* name, std::size_t bytes_max);  // absent: empty
  [[nodiscard]] std::uint64_t whole(const char* name, std::uint64_t max);            // required
  [[nodiscard]] std::uint64_t optional_whole_number(const char* name, std::uint64_t max);  // absent: 0
  [[nodiscard]] double seconds(const char* name);              // required, finite, 0 to 10 years
  [[nodiscard]] bool flag(const char* name);                   // absent: false
  [[nodiscard]] Fields object(const char* name);               // required
  [[nodiscard]] const nlohmann::json* find(const char* name);  // absent or null: nullptr
  [[nodiscard]] const nlohmann::json& list(const char* name, std::size_t items_max);  // absent: empty
  [[nodiscard]] Fields child(const nlohmann::json& value, const std::string& name);

  void complain(const char* name, std::string_view expectation);
  // Sets a complaint that does not quote the value, because an error message must not repeat a secret.
  void record_error_without_value(const char* name, std::string_view expectation);
  [[nodiscard]] bool is_sound() const { return !error_->has_value(); }

 private:
  const nlohmann::json* object_;
  std::string path_;
  std::optional<Error>* error_;  // shared with every child
};

}  // namespace ratoon
