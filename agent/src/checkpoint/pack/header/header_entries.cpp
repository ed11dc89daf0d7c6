#include "agent/src/checkpoint/pack/header/header_entries.h"

#include <array>
#include <optional>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header_json.h"
#include "agent/src/checkpoint/pack/header/json_scanner.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kUsualNumberCount = 2;  // a matrix's shape and the offsets have two numbers

// A JSON parser that accepts only the structure of a safetensors header. Each of the following functions
// parses the part of the header that its name says. Every function of the parser returns false after an error
// and stores the message of the error.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view json) : scanner_(json) {}

  Result<HeaderEntries> read() && {
    const bool is_sound = take_object([this](std::string& name) { return take_member(name); }) &&
                          (scanner_.is_at_end() || complain_of_syntax());
    if (!is_sound) return invalid_pack_error(complaint_);
    return std::move(found_);
  }

 private:
  // Parses an object. For each key, calls `take_value(key)` to parse the value that follows the key.
  template <class TakeValue>
  bool take_object(TakeValue take_value) {
    if (!scanner_.take('{')) return complain_of_kind();
    if (scanner_.take('}')) return true;
    do {
      auto key = scanner_.take_text();
      if (!key || !scanner_.take(':')) return complain_of_syntax();
      if (!take_value(*key)) return false;
    } while (scanner_.take(','));
    return scanner_.take('}') || complain_of_syntax();
  }

  bool take_member(std::string& name) {
    if (name != kMetadataKey) {
      tensor_name_ = &found_.tensors.emplace_back().name;
      *tensor_name_ = std::move(name);
      return take_entry(found_.tensors.back());
    }
    tensor_name_ = nullptr;
    if (has_metadata_) return complain("the key appears twice");
    has_metadata_ = true;
    return take_object([this](std::string& key) {
      found_.metadata.emplace_back(std::move(key), std::string());
      return take_text(found_.metadata.back().second);
    });
  }

  bool take_entry(TensorEntry& entry) {
    constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};
    std::array<bool, kFields.size()> seen{};
    const auto take_field = [&](const std::string& key) {
      std::size_t field = 0;
      while (field < kFields.size() && kFields[field] != key) ++field;
      if (field == kFields.size()) return complain("found the unknown key " + in_quotes(key));
      if (seen[field]) return complain("the key " + key + " appears twice");
      seen[field] = true;
      if (field == 0) return take_text(entry.type_name);
      return take_numbers(field == 1 ? entry.shape : entry.offsets);
    };
    if (!take_object(take_field)) return false;
    if (!seen[0] || !seen[1] || !seen[2]) return complain("the dtype, shape or data_offsets are missing");
    return entry.offsets.size() == 2 || complain("the data_offsets are not two numbers");
  }

  bool take_text(std::string& text) {
    if (scanner_.peek() != '"') return complain_of_kind();
    auto found = scanner_.take_text();
    if (!found) return complain_of_syntax();
    text = std::move(*found);
    return true;
  }

  bool take_numbers(std::vector<std::uint64_t>& numbers) {
    if (!scanner_.take('[')) return complain_of_kind();
    if (scanner_.take(']')) return true;
    numbers.reserve(kUsualNumberCount);
    do {
      const char first = scanner_.peek();
      const auto number = scanner_.take_whole_number();
      if (!number)
        return first >= '0' && first <= '9' ? complain("a number is not whole") : complain_of_kind();
      if (numbers.size() == kDimensionsMax) return complain("there are too many dimensions");
      numbers.push_back(*number);
    } while (scanner_.take(','));
    return scanner_.take(']') || complain_of_syntax();
  }

  bool complain(const std::string& what) {
    complaint_ =
        (tensor_name_ != nullptr ? "tensor " + in_quotes(*tensor_name_) : std::string(kMetadataKey)) + ": " +
        what;
    return false;
  }

  bool complain_of_syntax() {
    complaint_ = "the header is not JSON at byte " + std::to_string(scanner_.position());
    return false;
  }

  // Stores an error message about a value of the wrong type.
  bool complain_of_kind() {
    switch (const char first = scanner_.peek()) {
      case '{':
        return complain("an object is not allowed in this place");
      case '[':
        return complain("a list is not allowed in this place");
      case '"':
        return complain("a text is not allowed in this place");
      case '-':
        return complain("a number is below zero");
      case 'n':
        return complain("a null is not allowed in this place");
      case 't':
      case 'f':
        return complain("a true or false is not allowed in this place");
      default:
        return first >= '0' && first <= '9' ? complain("a number is not allowed in this place")
                                            : complain_of_syntax();
    }
  }

  JsonScanner scanner_;
  HeaderEntries found_;
  std::string* tensor_name_ = nullptr;  // the name of the current tensor; null: in the metadata
  bool has_metadata_ = false;
  std::string complaint_;
};

}  // namespace

Error invalid_pack_error(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a sound pack: " + what);
}

Result<HeaderEntries> parse_header_entries(std::string_view json) {
  return HeaderReader(json).read();
}

}  // namespace ratoon::checkpoint
