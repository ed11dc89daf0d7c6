// NCCL's C interface for ranks that are threads of one process and train on the test accelerator. The library
// behaves like NCCL: a sum is done when it is queued, its error is reported only on request, a lost rank
// leaves the others waiting until they abort, and after an abort the numbers are garbage. The library
// replaces libnccl in tests of the one file that calls NCCL; sums are made in the order of the ranks.
#pragma once

namespace ratoon::test::nccl {

// From this call on each communicator reports that a rank is lost.
void lose_a_rank();
// From this call on ranks that connect are refused like ranks that share a device.
void refuse_ranks();
// The library reports an older version than the version that its user was compiled against.
void become_older();
// The time that ncclCommAbort() takes, as with NCCL.
void set_milliseconds_of_abort(int milliseconds);
void reset();

// Communicators that were made and neither destroyed nor aborted.
[[nodiscard]] int open_communicators();

}  // namespace ratoon::test::nccl
