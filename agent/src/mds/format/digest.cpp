#include "agent/src/mds/format/digest.h"

#include <span>

namespace ratoon::mds {
namespace {

// Writes the length of a text and then the text, as in "5:label", so that different lists of texts give
// different bytes.
void append_length_prefixed_text(std::string& to, std::string_view text) {
  to += std::to_string(text.size());
  to += ':';
  to += text;
  to += '\n';
}

}  // namespace

Result<std::string> digest_of(const Index& index) {
  std::string text = "ratoon mds 1\n";
  for (std::size_t i = 0; i < index.columns.size(); ++i) {
    text += "column\n";
    append_length_prefixed_text(text, index.columns.dataset_columns()[i].name);
    append_length_prefixed_text(text, index.columns.encodings()[i].name);
  }
  for (const ShardInfo& shard : index.shards) {
    if (shard.samples == 0) continue;  // an empty shard has no effect on readers
    text += "shard " + std::to_string(shard.samples) + " " + std::to_string(shard.raw.size_bytes) + "\n";
    for (const FileHash& hash : shard.raw.hashes) text += hash.algorithm + " " + hash.digest + "\n";
  }
  return hash_of("sha256", std::as_bytes(std::span(text)));
}

}  // namespace ratoon::mds
