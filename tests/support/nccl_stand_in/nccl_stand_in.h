// A stand-in for NCCL for tests without a GPU: a shared library with the functions of the real nccl.h, whose
// ranks are processes or threads of one machine that communicate over loopback sockets.
//
// What it keeps of NCCL's behaviour:
// - A collective returns when it is enqueued; its work is done later, on its stream, by
//   ratoon_test_stream_enqueue(), which the test program brings.
// - With config.blocking = 0 each call returns ncclInProgress. Until ncclCommGetAsyncError() says
// ncclSuccess, the
//   next call is refused with ncclInvalidArgument, and nothing may be enqueued on the stream.
// - A lost rank makes a collective hang until ncclCommAbort(). Errors are seen only by
// ncclCommGetAsyncError().
// - After an abort the results of unfinished collectives are garbage, and their stream goes on. A collective
// that
//   waits in its stream writes garbage when its turn comes: after the abort, if the stream is late.
// - ncclCommDestroy() waits for what is enqueued and for the other ranks.
//
// Sums are made in rank order, in the numbers' own type, rounded after each step: the result has the same
// bits on all ranks, as in a plain loop that begins with rank 0's number and adds the numbers of rank 1, 2,
// ... With ncclRedOpCreatePreMulSum() each number is first multiplied by its own rank's factor and rounded.
//
// One difference from NCCL is that ncclGetUniqueId() must be called by the process of rank 0. Stream 0 is
// refused.
#pragma once

extern "C" {

// The program that loads the library provides these two functions; both are weak, so that a program that
// never enqueues can do without them. `stream` is the cudaStream_t that the collective was given.
[[gnu::weak]] void ratoon_test_stream_enqueue(void* stream, void (*work)(void*), void* context);
// The device that ncclCommInitRank() uses; 0 if the program does not say.
[[gnu::weak]] int ratoon_test_current_device();

// Changes a setting for this process. Each setting is first read from the environment, as
// RATOON_NCCL_STAND_IN_<NAME>:
//
//   VERSION                 what ncclGetVersion() says, for instance 22703
//   ABORT_MS                how many milliseconds ncclCommAbort() takes before it aborts
//   ABORT_HANGS             1: ncclCommAbort() does nothing, and does not return until this is 0 again
//   REPORTS_LOST_RANKS      1: ncclCommGetAsyncError() says ncclRemoteError when a rank is lost
//   REFUSES_SHARED_DEVICES  1: two ranks of one process on one device get ncclInvalidUsage
//   GARBAGE_SEED            what the garbage after an abort depends on
//   GARBAGE_IS_NAN          1: the garbage in floating-point results is NaN
//
// Returns 1, or 0 if there is no such setting or the value is not a whole number from 0 on.
int ratoon_nccl_stand_in_set(const char* name, const char* value);

}  // extern "C"
