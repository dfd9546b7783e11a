// code/fake_compilers.h: a pool of compilers that do as their modules say (tests/fakes).
#pragma once
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "code/compiler_pool.h"
#include "foundation/files.h"

namespace orchid::executor {

inline UniqueFd module_that(std::string_view does) {
  return make_sealed_memory("orchid-module", as_bytes(does)).value();
}
inline std::string text_of(const UniqueFd& file) {
  const auto mapped = MappedFile::map(file.get(), {.limit = 1_MiB}).value();
  return std::string(as_text(mapped.bytes()));
}

struct FakeCompilers {
  FakeCompilers() { pool.start(); }
  ~FakeCompilers() { pool.stop(); }
  FakeCompilers(const FakeCompilers&) = delete;
  FakeCompilers& operator=(const FakeCompilers&) = delete;

  template <typename Condition>
  void run_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.run_one_for(std::chrono::milliseconds(100));
    }
  }
  /// The code as text.
  Result<std::string> compile(CompileSchedule::Tenant tenant, std::string_view module) {
    std::optional<Result<CompilerPool::Compiled>> result;
    pool.compile(
        {.tenant = tenant, .module = module_that(module), .size = ByteCount{module.size()}},
        [&](Result<CompilerPool::Compiled> compiled) { result = std::move(compiled); });
    run_until([&] { return result.has_value(); });
    if (!*result) return fail(result->error());
    return text_of((*result)->code);
  }

  boost::asio::io_context io{1};
  ChildWatch children{io};
  CompilerPool pool{
      io, children, {.process = {.program = FAKE_COMPILER}, .schedule = {}}, [](const auto&) {}};
};

}  // namespace orchid::executor
