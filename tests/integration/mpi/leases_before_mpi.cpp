// The other order: lanes over UCX come first, Open MPI over UCX begins and ends beside them, and
// they go on after it.
#include "mpi_traffic.h"
#include "orchid/client.h"
#include "orchid/lease.h"

namespace {

void check_call(const orchid::LeasedFunction& echo, int i) {
  const std::string text = std::to_string(::getpid()) + '-' + std::to_string(i);
  expect(echo.invoke(text).text() == text, "a call's own answer");
}

/// Calls and messages in turn, and while each other is under way; large ones, too.
void use_both(const orchid::LeasedFunction& echo) {
  const std::vector<std::byte> large(1 << 20, std::byte{7});
  for (int i = 0; i < 1000; ++i) {
    const orchid::ReplyFuture call = i % 100 == 0 ? echo.async(large) : echo.async("small");
    if (i % 50 == 0) check_mpi();
    const orchid::Reply reply = call.get();
    expect(i % 100 == 0 ? reply.output == large : reply.text() == "small", "a call's own answer");
  }
}

}  // namespace

int main(int argc, char** argv) {
  expect(!has_mapped("libucp"), "no UCX before the first remote lane");
  const ProcessState before = ProcessState::now();
  orchid::Client client;
  orchid::Lease lease = client.lease({.lane = "ucx"});
  const orchid::LeasedFunction echo = lease.function("echo");
  check_call(echo, 0);
  expect(has_mapped("libucp"), "the lane goes over UCX");
  expect(ProcessState::now() == before, "environment and signal handlers are as before");

  MPI_Init(&argc, &argv);
  const ProcessState with_mpi = ProcessState::now();
  use_both(echo);
  check_mpi();
  expect(ProcessState::now() == with_mpi, "environment and signal handlers are as MPI left them");
  MPI_Finalize();

  check_call(echo, 1);
  lease.release();
  orchid::Lease next = client.lease({.lane = "ucx"});  // a lane that is made after MPI's end
  check_call(next.function("echo"), 2);
}
