// The fuzzed functions: every decoder of bytes that another program wrote. Each target takes any bytes and
// aborts if a law is broken: there is no crash and no exception, and accepted bytes can be written and read
// again as the same.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::fuzz {

// Checks a law: if it is broken, the process ends, and the message names the law.
inline void require(bool law, const std::source_location& where = std::source_location::current()) {
  if (law) return;
  std::fprintf(stderr, "%s:%u: the input breaks this law\n", where.file_name(),
               static_cast<unsigned>(where.line()));
  std::abort();
}

// A text with a digest of itself: if one bit is changed, at a few places that the text chooses, it is
// refused, or has the same meaning.
template <class Value, class Decode>
void check_seal(const std::string& text, const Value& value, Decode decode) {
  const std::size_t begin = std::hash<std::string>()(text);
  for (std::size_t i = 0; i < 16; ++i) {
    std::string changed = text;
    char& byte = changed[(begin + i * 37) % text.size()];
    byte = static_cast<char>(byte ^ 1 << i % 8);
    if (const auto known = decode(changed)) require(*known == value);
  }
}

// The message about refused bytes exists, and is short enough for a person.
inline void require_sentence(const Error& error) {
  require(!error.message().empty() && error.message().size() < 4096);
}

void contract(std::string_view bytes);     // every message, each of the decoders
void pack_header(std::string_view bytes);  // as the beginning of a file that has what its header says
void board(std::string_view bytes);    // a frame of where the ranks meet, and what becomes of it as a request
void history(std::string_view bytes);  // as the file of an attempt, and the files before it
void stream(std::string_view bytes);   // as the state of a stream, of each kind of order
void manifest(std::string_view bytes);  // and a receipt; each with the checksum line that is needed, too
void rollback(std::string_view bytes);  // the record of one, with that line as well
void claim(std::string_view bytes);
void slot_info(std::string_view bytes);    // the head of a slot of staged memory, as it is and with its sum
void objects(std::string_view bytes);      // answers of stores and token services, settings, names
void torch_order(std::string_view bytes);  // states of samplers, and positions that other packages saved
void pt_file(std::string_view bytes);      // as a file of torch.save, and as the pickle in one
void safetensors_file(std::string_view bytes);
// Built if operator/kube is built.
void watch(std::string_view bytes);         // the first byte chooses how the rest is cut into pieces
void kube_objects(std::string_view bytes);  // as a pod, a node, a lease, a slice, a review, an error's body
void training_job(std::string_view bytes);  // and as the pods that are made of it
void kubeconfig(std::string_view bytes);
void job_file(std::string_view bytes);
void control(
    std::string_view bytes);  // as packets to the socket of a run that goes on: a byte says how long each is
// The first byte chooses how the rest is cut into pieces, and the server's answers.
void http_server(std::string_view bytes);
void http_reply(
    std::string_view bytes);  // as a client hears it; also, as what is in a reply of our own, and as a URL
// Built if agent/src/mds is built.
void mds_index(std::string_view bytes);
void mds_shard(std::string_view bytes);  // the first byte chooses columns; the rest is a shard, and a sample
void mds_compressed(std::string_view bytes);  // a byte says how, two how long it was, the rest is compressed

}  // namespace ratoon::fuzz
