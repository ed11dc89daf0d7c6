// Samples of an MDS data set written again, from values as a user would give them: numbers as numbers, arrays
// as arrays, lists as lists.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ratoon/mds_dataset.h>
#include <ratoon/mds_values.h>
#include <ratoon/mds_writer.h>

namespace ratoon::test {

using MdsColumns = std::vector<std::pair<std::string, std::string>>;

inline bool is_list(const std::string& encoding) {
  return encoding.starts_with("list[") || encoding == "jpeg_array" || encoding == "jpegarray";
}

// Images of Pillow stay bytes: an array does not say its mode.
inline MdsValue value_of(const std::string& encoding, const Field& field) {
  if (encoding == "str_float") return nearest_double(field.text()).value();
  if (encoding == "str_int" && exact_integer(field.text())) return *exact_integer(field.text());
  if (field.type == ElementType::kText) return field.text();
  if (encoding == "int" || encoding == "int64") return field.as<std::int64_t>();
  if (encoding == "uint8") return field.as<std::uint8_t>();
  if (encoding == "int8") return field.as<std::int8_t>();
  if (encoding == "uint16") return field.as<std::uint16_t>();
  if (encoding == "int16") return field.as<std::int16_t>();
  if (encoding == "uint32") return field.as<std::uint32_t>();
  if (encoding == "int32") return field.as<std::int32_t>();
  if (encoding == "uint64") return field.as<std::uint64_t>();
  if (encoding == "float32") return field.as<float>();
  if (encoding == "float64") return field.as<double>();
  return field;
}

// Of those columns.
inline void copy_samples(const MdsDataset& data, const MdsColumns& columns, MdsWriter& writer) {
  Sample sample;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, sample);
    std::vector<MdsWriter::Value> values;
    std::vector<std::unique_ptr<Sample>> lists;
    for (const auto& [name, encoding] : columns) {
      const std::size_t column = data.column(name);
      if (!is_list(encoding)) {
        values.push_back({name, value_of(encoding, sample.field(column))});
        continue;
      }
      data.elements(column, sample.field(column), *lists.emplace_back(std::make_unique<Sample>()));
      values.push_back({name, lists.back()->fields()});
    }
    writer.write(values);
  }
  writer.finish();
}

}  // namespace ratoon::test
