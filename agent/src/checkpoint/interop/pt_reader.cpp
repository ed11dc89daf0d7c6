#include "agent/src/checkpoint/interop/pt_reader.h"

#include <unordered_set>

#include "agent/src/checkpoint/interop/pickle/pickle_reader.h"
#include "agent/src/checkpoint/interop/pt_archive.h"
#include "agent/src/checkpoint/interop/quoted.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;

// A small file can expand to large data, because values may be shared, so the limits below bound the memory
// of the result.
constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kVisitedValuesMax = std::size_t{1} << 22;
constexpr std::size_t kLeavesMax = std::size_t{1} << 20;
constexpr std::size_t kNameBytesMax = 4096;
constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;  // of all names and texts
constexpr std::uint64_t kExpansionMax = 16;                    // bytes of tensors for each byte of the file
constexpr std::uint64_t kExpandedBytesAlwaysAllowed = std::uint64_t{1} << 30;

Error refused_archive_error(const std::string& what) {
  return Error(ErrorKind::kInvalid, what);
}

// Returns the name of a tensor or value for error messages.
std::string message_name(const std::string& name) {
  return name.empty() ? "the outermost value" : quoted(name);
}

// Returns the bytes of a storage, or kCorrupted if their number does not fit the number of elements in the
// pickle.
Result<Bytes> bytes_of(const StorageValue& storage, const PtArchive& archive) {
  const std::string name = "data/" + storage.key;
  const auto record = archive.records.find(name);
  if (record == archive.records.end())
    return Error(ErrorKind::kCorrupted,
                 "the record " + quoted(archive.shown(name)) + " is not in the file; get the file again");
  const std::uint64_t element_bytes = storage.is_typed ? size_of(storage.type) : 1;
  if (record->second.size() / element_bytes != storage.elements)
    return Error(ErrorKind::kCorrupted, "the record " + quoted(archive.shown(name)) + " has " +
                                            std::to_string(record->second.size()) + " bytes, where " +
                                            std::to_string(storage.elements) + " elements of " +
                                            std::to_string(element_bytes) +
                                            " bytes are expected; get the file again");
  return record->second;
}

// Visits all values from the root of the pickle on, and gives each tensor and plain value its name.
class Flattener {
 public:
  Flattener(const Pickle& pickle, const PtArchive& archive, std::uint64_t file_bytes)
      : pickle_(pickle),
        archive_(archive),
        bytes_left_(kExpandedBytesAlwaysAllowed + kExpansionMax * file_bytes) {}

  Result<PtFile> run() {
    const bool is_tensor = std::holds_alternative<TensorIndex>(pickle_.values[pickle_.root]);
    if (auto done = visit(pickle_.root, is_tensor ? "tensor" : "", 0); !done) return done.error();
    return std::move(file_);
  }

 private:
  Result<void> visit(ValueId id, const std::string& name, std::size_t depth) {
    if (++visits_ > kVisitedValuesMax || leaves() > kLeavesMax)
      return refused_archive_error(
          "the pickle expands to over a million values; save the tensors in several files");
    if (depth > kDepthMax)
      return refused_archive_error("the containers are nested over " + std::to_string(kDepthMax) +
                                   " deep, or contain themselves, at " + message_name(name));
    const PickleValue& value = pickle_.values[id];
    if (const auto* list = std::get_if<ListValue>(&value)) return visit_list(*list, name, depth);
    if (const auto* dict = std::get_if<DictValue>(&value)) return visit_dict(*dict, name, depth);
    if (!names_.insert(name).second)
      return refused_archive_error("two values in the file have the name " + message_name(name) +
                                   " when keys are joined by dots; rename one of their keys");
    return add_leaf(value, name);
  }

  Result<void> visit_list(const ListValue& list, const std::string& name, std::size_t depth) {
    for (std::size_t i = 0; i < list.items.size(); ++i)
      if (auto done = visit_named(list.items[i], name, std::to_string(i), depth); !done) return done;
    return {};
  }

  Result<void> visit_dict(const DictValue& dict, const std::string& name, std::size_t depth) {
    for (const auto& [key, value] : dict.items) {
      const auto* text = std::get_if<std::string>(&pickle_.values[key]);
      const auto* number = std::get_if<std::int64_t>(&pickle_.values[key]);
      if (text == nullptr && number == nullptr)
        return refused_archive_error(message_name(name) +
                                     " has a key that is neither a text nor a whole number; rename it");
      auto done = visit_named(value, name, text != nullptr ? *text : std::to_string(*number), depth);
      if (!done) return done;
    }
    return {};
  }

  Result<void> visit_named(ValueId id, const std::string& parent, const std::string& key, std::size_t depth) {
    const std::string name = depth == 0 ? key : parent + "." + key;
    if (name.size() > kNameBytesMax)
      return refused_archive_error("the name of a value below " + message_name(parent) + " has over " +
                                   std::to_string(kNameBytesMax) + " bytes; shorten its keys");
    return visit(id, name, depth + 1);
  }

  Result<void> add_leaf(const PickleValue& value, const std::string& name) {
    const auto* text = std::get_if<std::string>(&value);
    text_bytes_ += name.size() + (text != nullptr ? text->size() : 0);
    if (text_bytes_ > kTextBytesMax)
      return refused_archive_error(
          "the pickle expands to over 256 MiB of names and texts; save the values in several files");
    if (const auto* index = std::get_if<TensorIndex>(&value))
      return add_tensor(pickle_.tensors[index->index], name);
    if (text != nullptr) return add_scalar(name, *text);
    if (const auto* number = std::get_if<std::int64_t>(&value)) return add_scalar(name, *number);
    if (const auto* number = std::get_if<double>(&value)) return add_scalar(name, *number);
    if (const auto* flag = std::get_if<bool>(&value)) return add_scalar(name, *flag);
    if (std::holds_alternative<NoneValue>(value)) return add_scalar(name, std::monostate{});
    return refused_archive_error(
        message_name(name) +
        " is a type or a bare storage, neither a tensor nor a plain value; leave it out, "
        "or save a text");
  }

  Result<void> add_scalar(const std::string& name, decltype(PtScalar::value) value) {
    file_.scalars.push_back({name, std::move(value)});
    return {};
  }

  Result<void> add_tensor(const TensorValue& tensor, const std::string& name) {
    const auto said = [&](const Error& error) { return error.with_context("tensor " + quoted(name)); };
    const auto storage = bytes_of(pickle_.storages[tensor.storage], archive_);
    if (!storage) return said(storage.error());
    auto stored = StoredTensor::make(tensor.type, tensor.shape, tensor.strides, tensor.offset, *storage);
    if (!stored) return said(stored.error());
    if (stored->size_bytes() > bytes_left_)
      return refused_archive_error(
          "the tensors up to and including " + quoted(name) +
          " have over 16 times the file's bytes; save tensor.clone() of tensors that share a storage");
    bytes_left_ -= stored->size_bytes();
    file_.tensors.push_back({name, std::move(*stored)});
    return {};
  }

  [[nodiscard]] std::size_t leaves() const { return file_.tensors.size() + file_.scalars.size(); }

  const Pickle& pickle_;
  const PtArchive& archive_;
  std::uint64_t bytes_left_;
  std::size_t visits_ = 0;
  std::size_t text_bytes_ = 0;
  std::unordered_set<std::string> names_;
  PtFile file_;
};

}  // namespace

Result<PtFile> read_pt(Bytes file, const PtReadOptions& options) {
  const auto archive = open_archive(file, options.checksums_may_be_missing);
  if (!archive) return archive.error();
  const auto pickle = read_pickle(archive->records.find("data.pkl")->second);
  if (!pickle) return pickle.error().with_context("record " + quoted(archive->shown("data.pkl")));
  return Flattener(*pickle, *archive, file.size()).run();
}

}  // namespace ratoon::checkpoint
