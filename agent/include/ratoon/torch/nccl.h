// Compares the NCCL version that this program was compiled against with the version of the loaded library.
// Needs no GPU.
//
//   const auto versions = ratoon::nccl_versions();
//   if (!versions) return versions.error();
//   if (auto fits = ratoon::check_nccl(*versions); !fits) return fits.error();
#pragma once

#include <compare>
#include <string>

#include <ratoon/result.h>

namespace ratoon {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  friend auto operator<=>(const NcclVersion&, const NcclVersion&) = default;
};

struct NcclVersions {
  NcclVersion compiled{};
  NcclVersion loaded{};
};

// Decodes the version number of NCCL: 22809 is 2.28.9. NCCL encodes versions before 2.9 with fewer digits:
// 2708 is 2.7.8.
[[nodiscard]] NcclVersion nccl_version_from_code(int code);

// "2.28.9"
[[nodiscard]] std::string to_string(NcclVersion version);

// Returns the compiled version and the version that the loaded NCCL library reports.
[[nodiscard]] Result<NcclVersions> nccl_versions();

// Returns an error if the loaded NCCL library is older than the compiled version (functions may be missing),
// or if the two major versions differ.
[[nodiscard]] Result<void> check_nccl(const NcclVersions& versions);

}  // namespace ratoon
