#include "base/contract/parse_json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/contract/fields.h"

namespace ratoon {
namespace {

using nlohmann::json;

// Returns the parser's message without its quote of the JSON text, which may be long and hold any bytes.
std::string describe(const json::exception& error) {
  constexpr std::size_t kBytesMax = 200;
  std::string text = error.what();
  if (const auto end = text.find("] "); end != std::string::npos) text = text.substr(end + 2);
  return text.substr(0, std::min(text.find("; last read:"), kBytesMax));
}

// Builds the JSON tree from the parser's events; a handler that returns false ends the parsing. The library's
// own builder can check bounds only by a callback for every value, and cannot omit values.
class Builder {
 public:
  // With `may_cut`, the builder omits values that are nested too deeply; without `may_cut`, it reports an
  // error.
  Builder(int depth_max, std::string_view left_out_list, bool may_cut)
      : depth_max_(static_cast<std::size_t>(depth_max)), left_out_list_(left_out_list), may_cut_(may_cut) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // JSON text has no binary values
  bool key(std::string& value) {
    if (left_out_levels_ == 0) key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t) { return begin(json::value_t::object); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) {
    const bool is_left_out = !left_out_list_.empty() && !open_.empty() && open_.back()->is_object() &&
                             key_ == left_out_list_ && left_out_levels_ == 0;
    if (!is_left_out) return begin(json::value_t::array);
    left_out_levels_ = 1;
    return true;
  }
  bool end_array() { return end(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    problem_ = "not valid JSON: " + describe(error);
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  json take() { return std::move(root_); }

 private:
  bool put(json value) {
    if (left_out_levels_ == 0) place(std::move(value));
    return true;
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (auto* list = parent.get_ptr<json::array_t*>()) return &list->emplace_back(std::move(value));
    auto& fields = parent.get_ref<json::object_t&>();
    return &fields.insert_or_assign(std::move(key_), std::move(value)).first->second;
  }

  bool begin(json::value_t kind) {
    if (left_out_levels_ > 0) {
      ++left_out_levels_;
      return true;
    }
    if (open_.size() < depth_max_) {
      open_.push_back(place(json(kind)));
      return true;
    }
    if (!may_cut_) {
      problem_ = "JSON is nested deeper than " + std::to_string(depth_max_) + " levels";
      return false;
    }
    left_out_levels_ = 1;
    place(nullptr);
    return true;
  }

  bool end() {
    if (left_out_levels_ > 0)
      --left_out_levels_;
    else
      open_.pop_back();
    return true;
  }

  const std::size_t depth_max_;
  const std::string_view left_out_list_;
  const bool may_cut_;
  json root_;
  std::vector<json*> open_;          // objects and lists that have not ended, the innermost last
  std::string key_;                  // of the next value in an object
  std::size_t left_out_levels_ = 0;  // depth within the skipped value
  std::string problem_;
};

Result<json> parse(std::string_view text, std::size_t bytes_max, Builder builder) {
  if (text.size() > bytes_max) {
    return Error(ErrorKind::kInvalid, "a message of " + std::to_string(text.size()) +
                                          " bytes is over the limit of " + std::to_string(bytes_max) +
                                          " bytes");
  }
  if (json::sax_parse(text, &builder)) return builder.take();
  return Error(ErrorKind::kInvalid, builder.problem());
}

}  // namespace

Result<json> parse_json(std::string_view text, std::size_t bytes_max, int depth_max) {
  return parse(text, bytes_max, Builder(depth_max, "", /*may_cut=*/false));
}

Result<json> parse_json_without_list(std::string_view left_out_list, std::string_view text,
                                     std::size_t bytes_max, int depth_max) {
  return parse(text, bytes_max, Builder(depth_max, left_out_list, /*may_cut=*/true));
}

}  // namespace ratoon
