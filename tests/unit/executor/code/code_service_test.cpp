#include "code/code_service.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "fake_compilers.h"
#include "protocol/digest.h"

namespace orchid::executor {
namespace {

struct CodeWorld : FakeCompilers {
  CodeWorld() = default;
  ~CodeWorld() { std::filesystem::remove_all(directory); }

  static TenantModule named(std::uint32_t tenant, std::string_view module) {
    return {tenant, digest_of(as_bytes(module))};
  }
  Result<CodeService::Code> make(std::uint32_t tenant, std::string_view module) {
    std::optional<Result<CodeService::Code>> result;
    service.compile(named(tenant, module), module_that(module),
                    [&](Result<CodeService::Code> code) { result = std::move(code); });
    run_until([&] { return result.has_value(); });
    return std::move(*result);
  }
  /// Nothing: it is not here.
  std::optional<Result<CodeService::Code>> look(std::uint32_t tenant, std::string_view module) {
    std::optional<Result<CodeService::Code>> result;
    const bool known = service.find(
        named(tenant, module), [&](Result<CodeService::Code> code) { result = std::move(code); });
    CHECK(known == result.has_value());
    return result;
  }

  std::string pattern = "/tmp/orchid-service-XXXXXX";
  std::filesystem::path directory = ::mkdtemp(pattern.data());
  CodeStore store = CodeStore::open({directory}).value();
  CodeService service{io, pool, store};
};

}  // namespace

TEST_CASE("code that was made is found by its tenant, and by no other") {
  CodeWorld world;
  CHECK_FALSE(world.look(1, "ok").has_value());
  const auto made = world.make(1, "ok").value();
  CHECK(made.source == CodeSource::compiled);
  const auto found = world.look(1, "ok");
  REQUIRE(found.has_value());
  CHECK(found->has_value());
  CHECK_FALSE(world.look(2, "ok").has_value());
}

TEST_CASE("a module over the compilers' limit is remembered, for its tenant alone") {
  CodeWorld world;
  const auto first = world.make(1, "fails compile_limit");
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().code == ErrorCode::compile_limit);
  const auto found = world.look(1, "fails compile_limit");
  REQUIRE(found.has_value());
  CHECK(found->error().message == first.error().message);
  CHECK(world.make(1, "fails compile_limit").error().message == first.error().message);
  std::map<std::string, std::uint64_t> counters;
  world.pool.count(counters);
  CHECK(counters.at("compile_limit") == 1);  // it was not tried again
  CHECK_FALSE(world.look(2, "fails compile_limit").has_value());
}

TEST_CASE("what is not the module's fault is tried again") {
  CodeWorld world;
  CHECK(world.make(1, "fails no_capacity").error().code == ErrorCode::no_capacity);
  CHECK_FALSE(world.look(1, "fails no_capacity").has_value());
}

TEST_CASE("bytes of another module are refused before anybody compiles them") {
  CodeWorld world;
  std::optional<Result<CodeService::Code>> result;
  world.service.compile(CodeWorld::named(1, "ok"), module_that("dies"),
                        [&](Result<CodeService::Code> code) { result = std::move(code); });
  REQUIRE(result.has_value());
  CHECK(result->error().code == ErrorCode::bad_request);
  CHECK_FALSE(world.service.is_being_made(CodeWorld::named(1, "ok")));
}

TEST_CASE("who asks while a module is being compiled waits for the same code") {
  CodeWorld world;
  std::optional<Result<CodeService::Code>> other;
  std::optional<Result<CodeService::Code>> first;
  const TenantModule module = CodeWorld::named(1, "ok");
  world.service.compile(module, module_that("ok"), [&](auto code) { first = std::move(code); });
  CHECK(world.service.is_being_made(module));
  CHECK(world.service.find(module, [&](auto code) { other = std::move(code); }));
  world.run_until([&] { return first && other; });
  REQUIRE(first->has_value());
  REQUIRE(other->has_value());
  CHECK((*first)->file == (*other)->file);
}

}  // namespace orchid::executor
