// The text of ncclGetLastError(): the last error in this process.
#pragma once

#include <string>

#include <nccl.h>

namespace ratoon::test::nccl_stand_in {

void say(std::string words);
[[nodiscard]] std::string last_words();
// Stores the words and returns the result, for `return refuse(ncclInvalidUsage, "...")`.
ncclResult_t refuse(ncclResult_t result, std::string words);

}  // namespace ratoon::test::nccl_stand_in
