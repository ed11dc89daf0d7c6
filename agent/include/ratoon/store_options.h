// StoreOptions: how to reach data and checkpoints in a folder, on a web server or in an S3-compatible store.
//
//   ratoon::StoreOptions store;
//   store.endpoint = "https://minio.team-a:9000";
//   store.region = "eu-central-1";
//   store.attempts_max = 12;
//
// The defaults work for AWS if the credentials are where boto3 finds them. docs/train/remote_data.md lists
// these places and explains each error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ratoon {

struct StoreOptions {
  // ---- Options for s3:// only.
  // The server's address, "https://host:port". If `endpoint` is empty, Ratoon uses the first of these that is
  // set: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint_url, S3_ENDPOINT_URL. If no endpoint
  // is set, Ratoon uses the endpoint of AWS.
  std::string endpoint{};
  // The region. If `region` is empty, Ratoon uses AWS_REGION, else AWS_DEFAULT_REGION, else the profile's
  // region, else us-east-1. If the bucket is in another AWS region, Ratoon takes the region from the server's
  // answer.
  std::string region{};
  // Whether the bucket's name is the first part of a URL's path (true) or of its host name (false). Default:
  // a URL has the bucket in its path if the endpoint is custom or the bucket's name has a dot.
  std::optional<bool> uses_path_style{};
  // The profile in the AWS configuration and credentials files. If `profile` is empty, Ratoon uses
  // AWS_PROFILE, else "default". If a profile is set, access keys in environment variables are ignored, as in
  // boto3.
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
