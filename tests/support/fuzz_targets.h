// What is fuzzed: every decoder of bytes that another program wrote. Each takes any bytes and aborts if a law
// is broken: no crash, no exception, and what was taken can be written and read again as the same.
#pragma once

#include <cstdlib>
#include <string_view>

namespace ratoon::fuzz {

// Holds a law: a fuzzer and a test see the end of the process.
inline void require(bool law) {
  if (!law) std::abort();
}

void contract(std::string_view bytes);     // every message, each of the decoders
void pack_header(std::string_view bytes);  // as the beginning of a file that has what its header says
void board(std::string_view bytes);   // a frame of where the ranks meet, and what becomes of it as a request
void stream(std::string_view bytes);  // as the state of a stream, of each kind of order
void manifest(std::string_view bytes);  // and a receipt; each with the checksum line that is needed, too
void rollback(std::string_view bytes);  // the record of one, with that line as well
void claim(std::string_view bytes);
void slot_info(std::string_view bytes);    // the head of a slot of staged memory, as it is and with its sum
void objects(std::string_view bytes);      // answers of stores and token services, settings, names
void torch_order(std::string_view bytes);  // states of samplers, and positions that other packages saved
void pt_file(std::string_view bytes);      // as a file of torch.save, and as the pickle in one
void safetensors_file(std::string_view bytes);
// Built where operator/kube is.
void watch(std::string_view bytes);         // the first byte chooses how the rest is cut into pieces
void kube_objects(std::string_view bytes);  // as a pod, a node, a lease, a slice, a review, an error's body
void training_job(std::string_view bytes);  // and as the pods that are made of it
// Built where agent/src/mds is.
void mds_index(std::string_view bytes);
void mds_shard(std::string_view bytes);  // the first byte chooses columns; the rest is a shard, and a sample
void mds_compressed(std::string_view bytes);  // a byte says how, two how long it was, the rest is compressed

}  // namespace ratoon::fuzz
