#include "agent/src/checkpoint/interop/pickle/pickle_reader.h"

#include <bit>
#include <optional>
#include <string_view>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/pickle/pickle_names.h"
#include "agent/src/checkpoint/interop/pickle/pickle_opcode.h"
#include "agent/src/checkpoint/interop/pickle/pickle_stack.h"
#include "base/core/utf8.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;
using VoidResult = Result<void>;

constexpr std::size_t kPickleBytesMax = std::size_t{256} << 20;  // a million tensors take less
constexpr std::size_t kValuesMax = std::size_t{1} << 24;
constexpr std::size_t kWordBytes = 8;

// Reads the instructions of the pickle one by one.
class PickleMachine {
 public:
  explicit PickleMachine(Bytes bytes) : bytes_(bytes) {}

  Result<Pickle> run() {
    if (bytes_.size() < 2 || code_at(0) != opcode::kProto)
      return broken_pickle_error("the pickle does not begin with its protocol number");
    while (at_ < bytes_.size()) {
      instruction_at_ = at_;
      const std::uint8_t code = code_at(at_++);
      if (code == opcode::kStop) return finish();
      if (stack_.size() >= kValuesMax)
        return Error(ErrorKind::kInvalid,
                     "the pickle has over 16 million values; save the tensors in several files");
      if (auto done = step(code); !done)
        return done.error().with_context("at byte " + std::to_string(instruction_at_));
    }
    return broken_pickle_error("the pickle ends in the middle");
  }

 private:
  [[nodiscard]] std::uint8_t code_at(std::size_t at) const {
    return std::to_integer<std::uint8_t>(bytes_[at]);
  }

  Result<Pickle> finish() {
    if (at_ != bytes_.size()) return broken_pickle_error("bytes follow the end of the pickle");
    return stack_.finish();
  }

  VoidResult step(std::uint8_t code) {
    switch (code) {
      case opcode::kProto:
        return protocol();
      case opcode::kMark:
        return stack_.mark();
      case opcode::kNone:
        return push(NoneValue{});
      case opcode::kTrue:
        return push(true);
      case opcode::kFalse:
        return push(false);
      case opcode::kInt1:
        return push_number<std::uint8_t>();
      case opcode::kInt2:
        return push_number<std::uint16_t>();
      case opcode::kInt4:
        return push_number<std::int32_t>();
      case opcode::kLong:
        return push_long();
      case opcode::kFloat:
        return push_float();
      case opcode::kUnicode:
        return push_text();
      case opcode::kGlobal:
        return push_name();
      case opcode::kEmptyTuple:
        return push(ListValue{.items = {}, .is_tuple = true});
      case opcode::kEmptyList:
        return push(ListValue{});
      case opcode::kEmptyDict:
        return push(DictValue{});
      case opcode::kTuple1:
        return stack_.make_tuple(1);
      case opcode::kTuple2:
        return stack_.make_tuple(2);
      case opcode::kTuple3:
        return stack_.make_tuple(3);
      case opcode::kPut:
        return put_memo(take<std::uint8_t>());
      case opcode::kLongPut:
        return put_memo(take<std::uint32_t>());
      case opcode::kGet:
        return get_memo(take<std::uint8_t>());
      case opcode::kLongGet:
        return get_memo(take<std::uint32_t>());
      default:
        return combine(code);
    }
  }

  // Executes the pickle instructions that combine values on the stack, such as appending values to a list.
  VoidResult combine(std::uint8_t code) {
    switch (code) {
      case opcode::kTuple:
        return stack_.make_marked_tuple();
      case opcode::kAppend:
        return stack_.append(1);
      case opcode::kAppends:
        return stack_.append_marked();
      case opcode::kSetItem:
        return stack_.set_items(2);
      case opcode::kSetItems:
        return stack_.set_marked_items();
      case opcode::kReduce:
        return stack_.reduce();
      case opcode::kBuild:
        return stack_.build();
      case opcode::kPersistentId:
        return stack_.replace_by_storage();
      default:
        return Error(ErrorKind::kInvalid,
                     "the pickle has the instruction " + name_of_opcode(code) +
                         ", which tensors and plain containers do not need; save those alone, with "
                         "torch.save's default protocol 2");
    }
  }

  template <class T>
  std::optional<T> take() {
    if (bytes_.size() - at_ < sizeof(T)) return std::nullopt;
    const T value = get<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }

  std::optional<Bytes> take_bytes(std::size_t count) {
    if (bytes_.size() - at_ < count) return std::nullopt;
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  static Error cut_off() { return broken_pickle_error("the pickle's last instruction is cut off"); }

  VoidResult protocol() {
    const auto version = take<std::uint8_t>();
    if (!version) return cut_off();
    if (*version == 2 && instruction_at_ == 0) return {};
    return Error(ErrorKind::kInvalid, "the pickle is of protocol " + std::to_string(*version) +
                                          "; save it again with torch.save's default protocol 2");
  }

  template <class T>
  VoidResult push_number() {
    const auto number = take<T>();
    if (!number) return cut_off();
    return push(std::int64_t{*number});
  }

  VoidResult push_long() {
    const auto size = take<std::uint8_t>();
    if (!size) return cut_off();
    const auto digits = take_bytes(*size);
    if (!digits) return cut_off();
    if (*size > kWordBytes)
      return Error(ErrorKind::kInvalid, "the pickle has a whole number of over 64 bits; save it as a text");
    std::uint64_t number = 0;
    if (*size > 0 && (std::to_integer<unsigned>(digits->back()) & 0x80) != 0) number = ~number;
    for (std::size_t i = *size; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>((*digits)[i]);
    return push(std::bit_cast<std::int64_t>(number));
  }

  VoidResult push_float() {
    const auto digits = take_bytes(kWordBytes);
    if (!digits) return cut_off();
    std::uint64_t number = 0;
    for (const std::byte digit : *digits) number = number << 8 | std::to_integer<std::uint64_t>(digit);
    return push(std::bit_cast<double>(number));
  }

  VoidResult push_text() {
    const auto size = take<std::uint32_t>();
    if (!size) return cut_off();
    const auto text = take_bytes(*size);
    if (!text) return cut_off();
    if (!is_utf8(*text)) return broken_pickle_error("the pickle has a text that is not UTF-8");
    return push(std::string(reinterpret_cast<const char*>(text->data()), text->size()));
  }

  std::optional<std::string_view> take_line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    at_ += end + 1;
    return rest.substr(0, end);
  }

  VoidResult push_name() {
    const auto module = take_line();
    const auto name = module ? take_line() : std::nullopt;
    if (!name) return cut_off();
    const auto found = find_name(*module, *name);
    if (!found) return found.error();
    return push(*found);
  }

  VoidResult put_memo(std::optional<std::uint32_t> index) {
    return index ? stack_.put_memo(*index) : cut_off();
  }
  VoidResult get_memo(std::optional<std::uint32_t> index) {
    return index ? stack_.get_memo(*index) : cut_off();
  }
  VoidResult push(PickleValue value) { return stack_.push(std::move(value)); }

  const Bytes bytes_;
  std::size_t at_ = 0;
  std::size_t instruction_at_ = 0;
  PickleStack stack_;
};

}  // namespace

Result<Pickle> read_pickle(Bytes bytes) {
  if (bytes.size() > kPickleBytesMax)
    return Error(ErrorKind::kInvalid, "the pickle has over 256 MiB; save the tensors in several files");
  return PickleMachine(bytes).run();
}

}  // namespace ratoon::checkpoint
