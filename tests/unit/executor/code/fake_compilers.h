// code/fake_compilers.h: a pool of compilers that do as their modules say (tests/fakes).
#pragma once
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>

#include "code/compiler_pool.h"
#include "event_loop.h"
#include "foundation/files.h"

namespace orchid::executor {

inline UniqueFd module_that(std::string_view does) {
  return make_sealed_memory("orchid-module", as_bytes(does)).value();
}
inline std::string text_of(const UniqueFd& file) {
  const auto mapped = MappedFile::map(file.get(), {.limit = 1_MiB}).value();
  return std::string(as_text(mapped.bytes()));
}

struct FakeCompilers : test::EventLoop {
  FakeCompilers() { pool.start(); }
  ~FakeCompilers() { pool.stop(); }
  FakeCompilers(const FakeCompilers&) = delete;
  FakeCompilers& operator=(const FakeCompilers&) = delete;

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

  ChildWatch children{io};
  CompilerPool pool{
      io, children, {.process = {.program = FAKE_COMPILER}, .schedule = {}}, [](const auto&) {}};
};

}  // namespace orchid::executor
