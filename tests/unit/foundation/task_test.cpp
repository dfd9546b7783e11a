#include "foundation/task.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace orchid {

TEST_CASE("a task owns what cannot be copied, and runs once") {
  int result = 0;
  Task task([value = std::make_unique<int>(7), &result] { result += *value; });
  Task moved = std::move(task);
  CHECK_FALSE(static_cast<bool>(task));
  moved();
  CHECK(result == 7);
  CHECK_FALSE(static_cast<bool>(moved));
}

}  // namespace orchid
