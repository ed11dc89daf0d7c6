// StoreOptions: how to reach data and checkpoints in a folder, on a web server or in an S3-compatible store.
//
//   ratoon::StoreOptions store;
//   store.endpoint = "https://minio.team-a:9000";
//   store.region = "eu-central-1";
//   store.attempts_max = 12;
//
// The defaults are right for AWS with credentials in the places where boto3 looks for them.
// docs/train/remote_data.md lists the places and explains each error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ratoon {

struct StoreOptions {
  // ---- Options for s3:// only.
  // The server's address, "https://host:port"; if empty, the first that is set of AWS_ENDPOINT_URL_S3,
  // AWS_ENDPOINT_URL, the profile's endpoint_url and S3_ENDPOINT_URL, else AWS in the region.
  std::string endpoint{};
  // The region; if empty, the first that is set (AWS_REGION, AWS_DEFAULT_REGION, the profile's region), else
  // us-east-1. For a bucket in another region of AWS, the server's answer names the region.
  std::string region{};
  // Whether a URL has the bucket as the first part of its path (true) or of its host's name (false). If not
  // set, the bucket is in the path for a custom endpoint and for a bucket with a dot in its name.
  std::optional<bool> uses_path_style{};
  // The profile in the shared AWS files. Empty: AWS_PROFILE, else "default". If a profile is set, keys in the
  // environment are ignored, as in boto3.
  std::string profile{};
  bool is_anonymous = false;  // requests are not signed: public buckets

  // ---- Options for http(s):// and s3://.
  std::string ca_file{};           // PEM of the CAs to trust; empty: AWS_CA_BUNDLE, else the system's
  double connect_seconds = 5;      // one connection
  double silence_seconds = 30;     // without a byte from the server
  double object_seconds = 300;     // one object, or one part of an upload: all attempts and pauses included
  std::uint32_t attempts_max = 8;  // of one request
};

}  // namespace ratoon
