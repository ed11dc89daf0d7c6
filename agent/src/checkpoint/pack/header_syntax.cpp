#include "agent/src/checkpoint/pack/header_syntax.h"

#include <array>

#include <nlohmann/json.hpp>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header_json.h"

namespace ratoon::checkpoint {
namespace {

// Called value by value, so that a header of 100,000 tensors never becomes a tree. Each call says whether the
// value may stand where it does; the first that may not ends the parse.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) return enter(Place::kHeader);
    if (place_ != Place::kHeader) return refuse("has an object where there is none");
    if (is_metadata_) return has_metadata_ ? refuse("is there twice") : enter(Place::kMetadata);
    return enter(Place::kEntry);
  }

  bool end_object() override {
    if (place_ == Place::kMetadata) has_metadata_ = true;
    if (place_ == Place::kEntry && !is_complete()) return refuse("lacks its dtype, shape or data_offsets");
    return enter(place_ == Place::kHeader ? Place::kOutside : Place::kHeader);
  }

  bool key(string_t& text) override {
    if (place_ == Place::kHeader) return start_entry(text);
    if (place_ == Place::kMetadata) {
      found_.metadata.emplace_back(std::move(text), std::string());
      return true;
    }
    for (std::size_t field = 0; field < kFields.size(); ++field) {
      if (text != kFields[field]) continue;
      field_ = field;
      const bool is_first = !seen_[field];
      seen_[field] = true;
      return is_first || refuse("has its " + text + " twice");
    }
    return refuse("has a key " + in_quotes(text) + ", which no tensor has");
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      found_.metadata.back().second = std::move(text);
      return true;
    }
    if (place_ != Place::kEntry || field_ != kType) return refuse("has a text where there is none");
    found_.tensors.back().type_name = std::move(text);
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || field_ == kType) return refuse("has a list where there is none");
    return enter(Place::kList);
  }

  bool end_array() override {
    if (field_ == kOffsets && found_.tensors.back().offsets.size() != 2)
      return refuse("has data_offsets that are not two numbers");
    return enter(Place::kEntry);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kList) return refuse("has a number where there is none");
    TensorEntry& entry = found_.tensors.back();
    auto& list = field_ == kShape ? entry.shape : entry.offsets;
    if (list.size() == kDimensionsMax) return refuse("has too many dimensions");
    list.push_back(value);
    return true;
  }

  bool null() override { return refuse("has a null"); }
  bool boolean(bool) override { return refuse("has a true or false"); }
  bool number_integer(number_integer_t) override { return refuse("has a number below zero"); }
  bool number_float(number_float_t, const string_t&) override {
    return refuse("has a number that is not whole");
  }
  bool binary(binary_t&) override { return refuse("has bytes"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    complaint_ = "its header is not JSON at byte " + std::to_string(position);
    return false;
  }

  Result<HeaderSyntax> take(bool is_parsed) && {
    if (!is_parsed) return unsound(complaint_);
    return std::move(found_);
  }

 private:
  enum class Place { kOutside, kHeader, kMetadata, kEntry, kList };
  enum Field : std::size_t { kType, kShape, kOffsets };
  static constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  bool start_entry(string_t& name) {
    is_metadata_ = name == kMetadataKey;
    if (is_metadata_) return true;
    seen_ = {};
    found_.tensors.emplace_back();
    found_.tensors.back().name = std::move(name);
    return true;
  }

  bool is_complete() const { return seen_[kType] && seen_[kShape] && seen_[kOffsets]; }

  bool refuse(const std::string& why) {
    if (place_ == Place::kOutside)
      complaint_ = "its header is not an object";
    else if (is_metadata_)
      complaint_ = std::string(kMetadataKey) + " " + why;
    else
      complaint_ =
          (found_.tensors.empty() ? "its header" : "tensor " + in_quotes(found_.tensors.back().name)) + " " +
          why;
    return false;
  }

  HeaderSyntax found_;
  Place place_ = Place::kOutside;
  bool is_metadata_ = false;   // the entry that was begun last
  bool has_metadata_ = false;  // one was seen
  std::size_t field_ = kType;  // of the entry, the key that was seen last
  std::array<bool, 3> seen_{};
  std::string complaint_;
};

}  // namespace

Error unsound(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a sound pack: " + what);
}

Result<HeaderSyntax> read_syntax(std::string_view json) {
  Handler handler;
  const bool is_parsed = nlohmann::json::sax_parse(json, &handler);
  return std::move(handler).take(is_parsed);
}

}  // namespace ratoon::checkpoint
