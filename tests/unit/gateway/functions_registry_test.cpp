#include "functions/function_registry.h"

#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

constexpr uid_t tenant = 7;

FunctionReference reference(std::string_view text) {
  return parse_function_reference(text).value();
}

TEST_CASE("a function is found by name, entry and version") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a', {"one", "two"}), 1);
  registry.put(tenant, make_version("f", 'b', {"only"}), 2);
  const FunctionTable& table = *registry.table();
  CHECK(table.resolve(tenant, reference("f"))->version->digest.back() == 'b');
  const auto old = table.resolve(tenant, reference("f.two@aaaaaa"));
  REQUIRE(old.has_value());
  CHECK(old->version->digest.back() == 'a');
  CHECK(old->entry == 1);
}

TEST_CASE("what does not exist is not found, and the message names what does") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a', {"one", "two"}), 1);
  const FunctionTable& table = *registry.table();
  CHECK(table.resolve(tenant, reference("g")).error().code == ErrorCode::not_found);
  CHECK(table.resolve(tenant, reference("f.one@bbbbbb")).error().code == ErrorCode::not_found);
  const auto entry = table.resolve(tenant, reference("f.three"));
  CHECK(entry.error().code == ErrorCode::not_found);
  CHECK(entry.error().message.find("one, two") != std::string::npos);
  const auto ambiguous = table.resolve(tenant, reference("f"));
  CHECK(ambiguous.error().code == ErrorCode::bad_request);
  CHECK(ambiguous.error().message.find("one, two") != std::string::npos);
}

TEST_CASE("a module is found by the beginning of its digest, whichever functions have it") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a'), 1);
  registry.put(tenant, make_version("f", 'b'), 2);
  registry.put(tenant, make_version("g", 'a'), 3);
  const FunctionTable& table = *registry.table();
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const std::string& prefix : {digest, digest.substr(0, 23)})
    CHECK(table.find_digest(tenant, prefix).value()->version->digest == digest);
  CHECK(table.find_digest(tenant, "sha256:").error().code == ErrorCode::bad_request);
  CHECK(table.find_digest(tenant, digest + "a").error().code == ErrorCode::not_found);
  CHECK(table.find_digest(tenant + 1, digest).error().code == ErrorCode::not_found);
}

TEST_CASE("a tenant does not see another tenant's function") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a'), 1);
  CHECK_FALSE(registry.table()->resolve(tenant + 1, reference("f")).has_value());
  CHECK(registry.table()->of_tenant(tenant + 1).empty());
  CHECK(registry.table()->of_tenant(tenant).size() == 1);
}

TEST_CASE("the same bytes again are the version that is there") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a'), 1);
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto same = registry.find_same(tenant, "f", digest, {});
  REQUIRE(same.has_value());
  CHECK((*same)->created == 1);
  CHECK(registry.find_same(tenant, "f", "sha256:other", {}).value() == nullptr);
}

TEST_CASE("an older version that is deployed again becomes the newest") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a'), 1);
  registry.put(tenant, make_version("f", 'b'), 2);
  CHECK(registry.find_same(tenant, "f", "sha256:" + std::string(64, 'a'), {}).value() == nullptr);
  registry.put(tenant, make_version("f", 'a'), 3);
  CHECK(registry.table()->find(tenant, "f")->versions.size() == 2);
  CHECK(registry.table()->find(tenant, "f")->newest().version->digest.back() == 'a');
}

TEST_CASE("preconditions are honoured") {
  FunctionRegistry registry({});
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto check = [&](Precondition precondition) {
    const auto result = registry.find_same(tenant, "f", "sha256:new", precondition);
    return result ? ErrorCode::internal : result.error().code;
  };
  CHECK(check({.if_match = {"*"}}) == ErrorCode::conflict);
  CHECK(check({.if_none_match = true}) == ErrorCode::internal);
  registry.put(tenant, make_version("f", 'a'), 1);
  CHECK(check({.if_match = {"*"}}) == ErrorCode::internal);
  CHECK(check({.if_match = {"sha256:x", digest}}) == ErrorCode::internal);
  CHECK(check({.if_match = {"sha256:x"}}) == ErrorCode::conflict);
  CHECK(check({.if_none_match = true}) == ErrorCode::conflict);
}

TEST_CASE("a published table never changes") {
  FunctionRegistry registry({});
  registry.put(tenant, make_version("f", 'a'), 1);
  const auto before = registry.table();
  registry.put(tenant, make_version("f", 'b'), 2);
  registry.remove(tenant, "f");
  CHECK(before->find(tenant, "f")->newest().version->digest.back() == 'a');
  CHECK(registry.table()->find(tenant, "f") == nullptr);
}

TEST_CASE("the oldest versions make room, and there is a quota of all") {
  FunctionRegistry registry({.versions_per_function = 2, .versions = 3});
  for (const char digit : {'a', 'b', 'c'}) registry.put(tenant, make_version("f", digit), 1);
  CHECK(registry.table()->find(tenant, "f")->versions.size() == 2);
  CHECK(registry.replaced_by(tenant, "f", "sha256:new").size() == 1);
  registry.put(tenant, make_version("g", 'd'), 1);
  CHECK(registry.find_same(tenant, "h", "sha256:new", {}).error().code == ErrorCode::quota);
}

TEST_CASE("a manifest is taken for what it is only as far as the gateway cannot know better") {
  module::Manifest manifest;
  manifest.digest = "sha256:forged";
  manifest.entries = {{.name = "a", .signature = std::nullopt}};
  const auto checked = check_manifest(manifest, "sha256:real", ByteCount{5});
  REQUIRE(checked.has_value());
  CHECK(checked->digest == "sha256:real");
  CHECK(checked->size == ByteCount{5});
  manifest.entries = {};
  CHECK(check_manifest(manifest, "d", ByteCount{5}).error().code == ErrorCode::module_rejected);
  manifest.entries = {{.name = "a", .signature = std::nullopt},
                      {.name = "a", .signature = std::nullopt}};
  CHECK_FALSE(check_manifest(manifest, "d", ByteCount{5}).has_value());
  manifest.entries = {{.name = "a/b", .signature = std::nullopt}};
  CHECK_FALSE(check_manifest(manifest, "d", ByteCount{5}).has_value());
}

}  // namespace
}  // namespace orchid::gateway
