#include "code/compile_failures.h"

#include <doctest/doctest.h>

namespace orchid::executor {

using namespace std::chrono_literals;

TEST_CASE("what came to nothing is remembered for a while, the newest reason counts") {
  CompileFailures failures;
  const MonotonicTime now{1h};
  CHECK_FALSE(failures.find("a", now).has_value());
  failures.remember("a", {ErrorCode::compile_limit, "once"}, now);
  failures.remember("a", {ErrorCode::module_rejected, "twice"}, now + 1min);
  CHECK(failures.size() == 1);
  CHECK(failures.find("a", now + 10min)->message == "twice");
  CHECK_FALSE(failures.find("b", now).has_value());
  CHECK_FALSE(failures.find("a", now + 11min).has_value());
  CHECK(failures.size() == 0);
}

TEST_CASE("no more failures are remembered than there is room for: the oldest goes") {
  CompileFailures failures;
  const MonotonicTime now{1h};
  for (std::size_t i = 0; i <= CompileFailures::most; ++i)
    failures.remember(std::to_string(i), {ErrorCode::compile_limit, ""}, now);
  CHECK(failures.size() == CompileFailures::most);
  CHECK_FALSE(failures.find("0", now).has_value());
  CHECK(failures.find("1", now).has_value());
}

}  // namespace orchid::executor
