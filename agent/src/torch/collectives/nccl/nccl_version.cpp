#include <nccl.h>

#include <ratoon/torch/nccl.h>

namespace ratoon {

NcclVersion nccl_version_from_code(int code) {
  // Since NCCL 2.9, the number that encodes the version has two digits for the minor version; before, it had
  // one digit.
  const int major_unit = code < 10000 ? 1000 : 10000;
  return {.major = code / major_unit, .minor = code % major_unit / 100, .patch = code % 100};
}

std::string to_string(NcclVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

Result<NcclVersions> nccl_versions() {
  int loaded = 0;
  if (const ncclResult_t result = ncclGetVersion(&loaded); result != ncclSuccess) {
    return Error(ErrorKind::kUnavailable,
                 std::string("asking NCCL for its version: ") + ncclGetErrorString(result));
  }
  return NcclVersions{.compiled = nccl_version_from_code(NCCL_VERSION_CODE),
                      .loaded = nccl_version_from_code(loaded)};
}

Result<void> check_nccl(const NcclVersions& versions) {
  const auto& [compiled, loaded] = versions;
  if (loaded.major == compiled.major && loaded >= compiled) return {};
  return Error(ErrorKind::kInvalid,
               "NCCL " + to_string(loaded) + " was loaded, but this program was compiled against " +
                   to_string(compiled) + " and needs that version or a later version of " +
                   std::to_string(compiled.major) +
                   ".x; put the folder of such a libnccl.so.2 first in LD_LIBRARY_PATH");
}

}  // namespace ratoon
