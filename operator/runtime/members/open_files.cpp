#include "operator/runtime/members/open_files.h"

#include <algorithm>

#include <sys/resource.h>

namespace ratoon::runtime {
namespace {

constexpr std::size_t kOpenFilesMin = 20;  // no system allows fewer
// This number is enough for the largest job (65,536 processes), in which each process needs two connections.
constexpr std::size_t kConnectionsMax = std::size_t{2} * 65'536;

}  // namespace

std::size_t raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenFilesMin;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

MemberConnections connections_of_members(std::size_t open_files) {
  const std::size_t each_namespace = std::min(open_files / 2, kConnectionsMax);
  return {.each_namespace = each_namespace, .all = each_namespace + each_namespace / 4};
}

}  // namespace ratoon::runtime
