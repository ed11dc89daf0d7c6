#include "agent/src/session/state/load_file.h"

#include <algorithm>
#include <cstring>

#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "agent/src/data/sets/mapped_file.h"
#include "agent/src/session/shutdown/fail.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

using checkpoint::in_quotes;

std::string describe_tensor(ElementType type, const TensorShape& shape) {
  return std::string(checkpoint::safetensors_name(type)) + " of shape [" + checkpoint::to_text(shape) + "]";
}

// Copies the elements of `whole` that are in `box`, dimension by dimension.
void copy_box(const TensorView& whole, const TensorBox& box, const TensorShape& shape,
              std::span<std::byte> into, std::size_t dimension = 0, std::uint64_t offset = 0) {
  if (dimension == shape.size()) {
    const std::size_t bytes = size_of(whole.type);
    std::memcpy(into.data(), whole.bytes.data() + offset * bytes, bytes);
    return;
  }
  const std::size_t step = shape[dimension] == 0 ? 0 : into.size() / shape[dimension];
  for (std::uint64_t i = 0; i < shape[dimension]; ++i)
    copy_box(whole, box, shape, into.subspan(i * step, step), dimension + 1,
             offset * whole.shape[dimension] + box.begin[dimension] + i);
}

class FileReader final : public StateReader {
 public:
  FileReader(const std::vector<TensorView>& tensors, const std::string& shown)
      : tensors_(tensors), shown_(shown) {}

  void begin(const std::string& object) { object_ = &object; }
  void finish() const {
    for (const auto& copy : copies_) copy();
    for (const auto& act : at_end_) act();
  }

  std::optional<Form> find(const std::string& name) override {
    const TensorView* found = look_up(name);
    if (found == nullptr) return std::nullopt;
    return Form{.type = found->type, .shape = found->shape};
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const TensorView& tensor : tensors_) {
      if (tensor.name == *object_) names.emplace_back();
      if (tensor.name.starts_with(*object_ + ".")) names.push_back(tensor.name.substr(object_->size() + 1));
    }
    return names;
  }

  bool is_for_weights_alone() const override { return true; }

  void tensor(const WantedTensor& wanted, std::span<std::byte> into) override {
    const TensorView* found = look_up(wanted.name);
    if (found == nullptr) refuse(shown_ + " has no tensor " + in_quotes(full_name(wanted.name)));
    const TensorShape& whole = wanted.box ? wanted.box->whole_shape : wanted.shape;
    if (checkpoint::storage_order(found->type) != checkpoint::storage_order(wanted.type) ||
        found->shape != whole) {
      refuse("tensor " + in_quotes(found->name) + " is " + describe_tensor(found->type, found->shape) +
             " in " + shown_ + " and " + describe_tensor(wanted.type, whole) +
             " in the program: the file is of another model");
    }
    const bool has_room = checkpoint::count_bytes(wanted.type, wanted.shape) == into.size() &&
                          (!wanted.box || checkpoint::box_holds(*wanted.box, wanted.shape));
    if (!has_room)
      throw std::invalid_argument("tensor " + in_quotes(found->name) +
                                  " is to be loaded into memory of another size");
    copies_.emplace_back([found, box = wanted.box, shape = wanted.shape, into] {
      if (box) return copy_box(*found, *box, shape, into);
      if (!into.empty()) std::memcpy(into.data(), found->bytes.data(), into.size());
    });
  }

  void bytes(const std::string& name, std::function<void(std::string)> take) override {
    const TensorView* found = look_up(name);
    if (found == nullptr) refuse(shown_ + " has no tensor " + in_quotes(full_name(name)));
    at_end([found, take = std::move(take)] {
      take(std::string(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()));
    });
  }

  void at_end(std::function<void()> act) override { at_end_.push_back(std::move(act)); }

  [[noreturn]] void refuse(const std::string& why) const override {
    fail(ExitCode::kConfiguration, "loading " + in_quotes(*object_) + ": " + why);
  }

 private:
  [[nodiscard]] std::string full_name(const std::string& name) const {
    return name.empty() ? *object_ : *object_ + "." + name;
  }
  [[nodiscard]] const TensorView* look_up(const std::string& name) const {
    const auto found = std::ranges::find(tensors_, full_name(name), &TensorView::name);
    return found == tensors_.end() ? nullptr : &*found;
  }

  const std::vector<TensorView>& tensors_;
  const std::string& shown_;
  const std::string* object_ = nullptr;
  std::vector<std::function<void()>> copies_;
  std::vector<std::function<void()>> at_end_;
};

}  // namespace

LoadedFrom load_file(const std::string& path, const std::vector<LoadTarget>& targets) {
  const auto file = data::MappedFile::open(path);
  if (!file) {
    const bool is_missing = file.error().kind() == ErrorKind::kNotFound;
    fail(is_missing ? ExitCode::kConfiguration : ExitCode::kStorage, file.error().message());
  }
  const auto tensors = checkpoint::read_safetensors(file->bytes());
  if (!tensors)
    fail(ExitCode::kConfiguration, path + " is not a whole safetensors file: " + tensors.error().message());
  FileReader reader(*tensors, path);
  for (const LoadTarget& target : targets) {
    reader.begin(target.name);
    target.load(reader);
  }
  reader.finish();
  return {.what = path};
}

}  // namespace ratoon::session
