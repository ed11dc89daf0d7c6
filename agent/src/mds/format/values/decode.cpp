#include "agent/src/mds/format/values/decode.h"

#include <string>

#include "agent/src/mds/format/values/array_header.h"
#include "agent/src/mds/format/values/image_list.h"
#include "agent/src/mds/format/values/pil_header.h"
#include "base/core/utf8.h"

namespace ratoon::mds {
namespace {

using Bytes = std::span<const std::byte>;

Error corrupted_value(std::string what) {
  return Error(ErrorKind::kCorrupted, std::move(what));
}

void add_bytes(ElementType type, Bytes bytes, Sample& into) {
  const std::uint64_t length = bytes.size();
  into.add(type, std::span(&length, 1), bytes);
}

Result<void> add_pil(Bytes bytes, Sample& into) {
  const auto image = read_pil(bytes);
  if (!image) return image.error();
  into.add(ElementType::kUint8, image->shape(), image->pixels);
  return {};
}

Result<void> add_array(ElementType type, Bytes bytes, Sample& into) {
  const auto array = read_array(type, bytes);
  if (!array) return array.error();
  into.add(array->type, array->shape(), array->values);
  return {};
}

Result<void> add_field(const Encoding& encoding, Bytes bytes, Sample& into) {
  switch (encoding.kind) {
    case EncodingKind::kFixed:
      if (bytes.size() != encoding.size_bytes) {
        return corrupted_value("'" + encoding.name + "' takes " + std::to_string(encoding.size_bytes) +
                               " bytes, but there are " + std::to_string(bytes.size()));
      }
      into.add(Field{.type = encoding.type, .shape = *encoding.shape, .bytes = bytes});
      return {};
    case EncodingKind::kText:
      if (!is_utf8(bytes)) return corrupted_value("the text is not UTF-8");
      add_bytes(ElementType::kText, bytes, into);
      return {};
    case EncodingKind::kArray:
      return add_array(encoding.type, bytes, into);
    case EncodingKind::kPil:
      return add_pil(bytes, into);
    case EncodingKind::kJpegArray:
    case EncodingKind::kList:
      if (const auto list = ImageList::read(encoding.kind, bytes); !list) return list.error();
      break;
    case EncodingKind::kBytes:
      break;
  }
  add_bytes(ElementType::kBytes, bytes, into);
  return {};
}

}  // namespace

Result<void> decode_sample(const Columns& columns, Bytes bytes, Sample& into) {
  std::optional<Error> problem;
  const bool is_whole = columns.for_each_value(bytes, [&](std::size_t column, Bytes value) {
    auto added = add_field(columns.encodings()[column], value, into);
    if (added) return true;
    problem = added.error().with_context("column '" + columns.dataset_columns()[column].name + "'");
    return false;
  });
  if (problem) return *problem;
  if (!is_whole) {
    return corrupted_value("the sizes of the sample's columns do not match its " +
                           std::to_string(bytes.size()) + " bytes");
  }
  return {};
}

Result<void> decode_elements(const Encoding& list, Bytes bytes, Sample& into) {
  const auto images = ImageList::read(list.kind, bytes);
  if (!images) return images.error();
  const EncodingKind kind = element_kind(list);
  std::optional<Error> problem;
  images->for_each_value([&](Bytes element) {
    if (problem) return;
    if (kind != EncodingKind::kPil) return add_bytes(ElementType::kBytes, element, into);
    if (const auto added = add_pil(element, into); !added) problem = added.error();
  });
  if (problem) return *problem;
  return {};
}

}  // namespace ratoon::mds
