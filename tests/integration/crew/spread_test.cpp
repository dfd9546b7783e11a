// Crews at two executors: members of one share memory, and reach those of the other over UCX.
#include <signal.h>

#include "crew_fixture.h"

namespace orchid::tests {
namespace {

struct SpreadFixture {
  LocalExecutor first{{.programs = PROGRAMS, .spare = 1, .remote = true}};
  LocalExecutor second{{.programs = PROGRAMS, .spare = 1, .remote = true}};
  ExecutorCrews* source = nullptr;  // of the crew that was taken last, which owns it

  [[nodiscard]] Crew take(const CrewOptions& options, bool is_far = false) {
    auto owned = std::make_unique<ExecutorCrews>(std::vector{&first, &second});
    source = owned.get();
    source->is_far = is_far;
    return take_crew(std::move(owned), options);
  }
};

}  // namespace

TEST_CASE_FIXTURE(SpreadFixture, "a call walks over the members of two executors, whoever it began at") {
  for (const bool is_far : {false, true}) {
    CAPTURE(is_far);
    Crew crew = take({.workers = 4}, is_far);
    const CrewFunction walk = CrewFixture::entry(crew, "walk");
    for (unsigned first = 1; first <= 4; ++first) {
      const Walk start{.left = 40, .stride = 3};
      const Walk end = walk_of(walk.invoke(first, bytes_of(start)));
      CHECK(end.sum == sum_of(start, first, 4));
    }
    CHECK(crew.formations() == 1);
  }
}

}  // namespace orchid::tests
