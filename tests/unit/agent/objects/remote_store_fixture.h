// Helpers for the tests of remote stores: an environment of one's own, a scripted server, a sink that counts.
#pragma once

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/remote/open_with.h"
#include "tests/support/scripted_http.h"
#include "tests/unit/agent/objects/test_surroundings.h"

namespace ratoon::objects::test {

using ratoon::test::ScriptedHttp;

// A sink that counts how often it was begun.
class CountingSink final : public ObjectSink {
 public:
  Result<void> begin(const ObjectInfo& object) override {
    ++begins;
    size_bytes = object.size_bytes;
    bytes.clear();
    return {};
  }
  Result<void> write(std::string_view more) override {
    bytes += more;
    return {};
  }
  int begins = 0;
  std::uint64_t size_bytes = 0;
  std::string bytes;
};

class RemoteStoreTest : public testing::Test {
 protected:
  RemoteStoreTest() {
    world_.environment = {
        {"AWS_ACCESS_KEY_ID", "AKID"}, {"AWS_SECRET_ACCESS_KEY", "S"}, {"HOME", "/nowhere"}};
  }
  std::shared_ptr<ObjectStore> web(const ScriptedHttp& server, const std::string& query = "") {
    return open_remote_store_with(parse_store_uri(server.url() + "/data" + query).value(), options_,
                                  world_.dependencies())
        .value();
  }
  std::shared_ptr<ObjectStore> s3(const ScriptedHttp& server) {
    options_.endpoint = server.url();
    return open_remote_store_with(parse_store_uri("s3://bucket/data").value(), options_,
                                  world_.dependencies())
        .value();
  }
  Result<ObjectInfo> get(ObjectStore& store, std::optional<ByteRange> range = {}) {
    return store.get("a b/c+d", sink_, {.range = range});
  }

  test::TestWorld world_;
  StoreOptions options_;
  CountingSink sink_;
};

}  // namespace ratoon::objects::test
