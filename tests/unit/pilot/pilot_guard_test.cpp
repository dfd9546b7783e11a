#include "pilot/pilot_guard.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "foundation/unique_fd.h"
#include "scratch_folder.h"

namespace orchid::pilot {
namespace {

using std::chrono::seconds;
using Verdict = Outage::Verdict;

MonotonicTime at(int time) { return MonotonicTime(seconds(1000 + time)); }

}  // namespace

TEST_CASE("a gateway that does not come back within its grace is given up") {
  Outage outage(at(0), seconds(20));
  CHECK(outage.look(at(0), true) == Verdict::wait);  // it is just ending
  CHECK(outage.look(at(1), false) == Verdict::wait);
  CHECK(outage.look(at(19), false) == Verdict::wait);
  CHECK(outage.look(at(20), false) == Verdict::over);
}

TEST_CASE("one that comes back is left to its own guard") {
  Outage outage(at(0), seconds(20));
  CHECK(outage.look(at(1), false) == Verdict::wait);
  CHECK(outage.look(at(2), true) == Verdict::back);

  Outage quick(at(0), seconds(20));  // it was back before anybody looked
  CHECK(quick.look(at(1), true) == Verdict::wait);
  CHECK(quick.look(at(10), true) == Verdict::back);

  Outage late(at(0), seconds(2));
  CHECK(late.look(at(1), true) == Verdict::wait);
  CHECK(late.look(at(2), true) == Verdict::back);
}

TEST_CASE("a gateway has its state directory as long as it has locked it") {
  const tests::Scratch scratch;
  CHECK_FALSE(has_gateway(scratch.path()));
  {
    const UniqueFd file(::open((scratch / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    CHECK_FALSE(has_gateway(scratch.path()));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    REQUIRE(::fcntl(file.get(), F_OFD_SETLK, &lock) == 0);
    CHECK(has_gateway(scratch.path()));
  }
  CHECK_FALSE(has_gateway(scratch.path()));
}

TEST_CASE("pilots that ran before the outage end by themselves, all others are cancelled") {
  using namespace std::chrono_literals;
  std::vector<PilotJob> jobs;
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING"}) {
    PilotJob& job = jobs.emplace_back();
    job.job = jobs.size();
    job.state = state;
    job.elapsed = "2:00";
  }
  CHECK(jobs_to_cancel(jobs, 110s) == std::vector<std::uint64_t>{1, 4, 5});
  CHECK(jobs_to_cancel(jobs, 130s) == std::vector<std::uint64_t>{1, 2, 4, 5});
  CHECK(jobs_to_cancel({}, 0s).empty());
}

}  // namespace orchid::pilot
