// StoreOptions: how data and checkpoints in a folder, on a web server or in an S3-compatible store are
// reached.
//
//   ratoon::StoreOptions store;
//   store.endpoint = "https://minio.team-a:9000";
//   store.region = "eu-central-1";
//   store.attempts_max = 12;
//
// The defaults are right for AWS with credentials where boto3 looks for them. docs/train/remote_data.md says
// where that is, and what each error means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ratoon {

struct StoreOptions {
  // ---- s3:// only
  // "https://host:port" of another S3-compatible server. Empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the
  // profile's endpoint_url, S3_ENDPOINT_URL, else AWS in the region.
  std::string endpoint{};
  // Empty: AWS_REGION, AWS_DEFAULT_REGION, the profile's region, else us-east-1; a bucket of AWS that is
  // elsewhere says where.
  std::string region{};
  // Whether the bucket is the first part of the path (true) or of the host's name. Nothing: in the path for
  // an endpoint of one's own and for buckets with a dot in their name.
  std::optional<bool> uses_path_style{};
  // Of the shared files. Empty: AWS_PROFILE, else "default". A name given here means that keys in the
  // environment are not looked at, as in boto3.
  std::string profile{};
  bool is_anonymous = false;  // requests are not signed: public buckets

  // ---- http(s):// and s3://
  std::string ca_file{};           // PEM of the authorities to trust; empty: AWS_CA_BUNDLE, else the system's
  double connect_seconds = 5;      // one connection
  double silence_seconds = 30;     // between two bytes of the other side
  double object_seconds = 300;     // one object, or one part of an upload: all attempts and pauses included
  std::uint32_t attempts_max = 8;  // of one request
};

}  // namespace ratoon
