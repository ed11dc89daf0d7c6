// The NCCL version that this program was compiled against and the version that it runs with. Needs no GPU.
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

// Decodes NCCL's version number: 22809 is 2.28.9, and 2708 (the form until 2.8) is 2.7.8.
[[nodiscard]] NcclVersion nccl_version_from_code(int code);

// "2.28.9"
[[nodiscard]] std::string to_string(NcclVersion version);

// Returns the compiled version and the version that the loaded NCCL library reports.
[[nodiscard]] Result<NcclVersions> nccl_versions();

// NCCL only adds functions within a major version: a library that is older than the compiled version may lack
// functions that Ratoon calls.
[[nodiscard]] Result<void> check_nccl(const NcclVersions& versions);

}  // namespace ratoon
