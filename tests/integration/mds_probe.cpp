// mds_probe [--cache FOLDER] [--limit BYTES] [--split NAME] [--expect] [--attempts N] [--silence S]
//           [--seconds S] COMMAND URI ...
//
//   dump URI           every field of every sample, as JSON in the form of golden/*/expected.json
//   copy FROM TO       the same samples, written again, with the compression and hashes that follow:
//                      [zstd:7] [sha1 ...]
//   meet URI ID ...    a thread for each of these samples, all at once; a line for each: "have ID" or why not
//
// An error is one line on standard output, with exit code 1.
#include <charconv>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <ratoon/failure.h>
#include <ratoon/mds_dataset.h>

#include "agent/src/mds/format/compression.h"
#include "agent/src/mds/format/hash.h"
#include "base/core/hex.h"
#include "tests/support/mds_copy.h"

namespace {

using namespace ratoon;  // NOLINT
using nlohmann::json;

struct Arguments {
  MdsOptions options;
  bool expects = false;
  std::vector<std::string> words;
};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--expect")
      arguments.expects = true;
    else if (word == "--cache")
      arguments.options.cache_folder = argv[++i];
    else if (word == "--limit")
      arguments.options.cache_bytes_max = number(argv[++i]);
    else if (word == "--split")
      arguments.options.split = argv[++i];
    else if (word == "--attempts")
      arguments.options.store.attempts_max = static_cast<std::uint32_t>(number(argv[++i]));
    else if (word == "--silence")
      arguments.options.store.silence_seconds = std::stod(argv[++i]);
    else if (word == "--seconds")
      arguments.options.store.object_seconds = std::stod(argv[++i]);
    else
      arguments.words.push_back(word);
  }
  return arguments;
}

json describe(const Field& field) {
  json said = {{"type", name_of(field.type)}, {"shape", json::array()}};
  for (const std::uint64_t length : field.shape) said["shape"].push_back(length);
  if (field.bytes.size() <= 1000)
    said["hex"] = to_hex(field.bytes);
  else
    said["sha256"] = mds::hash_of("sha256", field.bytes).value();
  return said;
}

void dump(const MdsDataset& data, bool expects) {
  if (expects) {
    std::vector<std::uint64_t> ids(data.size());
    std::iota(ids.begin(), ids.end(), 0U);
    data.expect(ids);
  }
  json samples = json::array();
  Sample sample, elements;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, sample);
    json fields = json::object();
    for (std::size_t i = 0; i < sample.size(); ++i) {
      json& field = fields[data.columns()[i].name];
      if (!test::is_list(data.encoding(i))) {
        field = describe(sample.field(i));
        continue;
      }
      data.elements(i, sample.field(i), elements);
      field["elements"] = json::array();
      for (const Field& element : elements.fields()) field["elements"].push_back(describe(element));
    }
    samples.push_back(std::move(fields));
  }
  std::puts(samples.dump().c_str());
}

std::string outcome_of(const MdsDataset& data, std::uint64_t id) {
  Sample sample;
  try {
    data.read(id, sample);
    return "have " + std::to_string(id);
  } catch (const Failure& failure) {
    return failure.what();
  }
}

// Whether all of them arrived.
bool meet(const MdsDataset& data, std::span<const std::string> ids, bool expects) {
  std::vector<std::uint64_t> wanted;
  for (const std::string& id : ids) wanted.push_back(number(id));
  if (expects) data.expect(wanted);
  std::vector<std::string> outcomes(wanted.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      threads.emplace_back([&, i] { outcomes[i] = outcome_of(data, wanted[i]); });
  }
  bool all_came = true;
  for (const std::string& outcome : outcomes) {
    std::puts(outcome.c_str());
    all_came = all_came && outcome.starts_with("have ");
  }
  return all_came;
}

void copy(const MdsDataset& data, const std::string& to, std::vector<std::string> how) {
  MdsWriterOptions options;
  if (!how.empty() && mds::parse_compression(how.front())) {
    options.compression = how.front();
    how.erase(how.begin());
  }
  options.hashes = how;
  options.size_limit_bytes = 20'000;
  test::MdsColumns columns;
  for (std::size_t i = 0; i < data.columns().size(); ++i) {
    if (data.encoding(i) != "pil") columns.emplace_back(data.columns()[i].name, data.encoding(i));
  }
  MdsWriter writer(to, columns, options);
  test::copy_samples(data, columns, writer);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const auto& words = arguments.words;
  try {
    const auto data = MdsDataset::open(words.at(1), arguments.options);
    if (words[0] == "dump") dump(*data, arguments.expects);
    if (words[0] == "meet") return meet(*data, std::span(words).subspan(2), arguments.expects) ? 0 : 1;
    if (words[0] == "copy") copy(*data, words.at(2), {words.begin() + 3, words.end()});
    return 0;
  } catch (const Failure& failure) {
    std::puts(failure.what());
    return 1;
  }
}
