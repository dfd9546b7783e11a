// Open MPI over UCX, and lanes over UCX, in one process: neither notices the other.
#include "mpi_traffic.h"
#include "orchid/client.h"
#include "orchid/lease.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_mpi();
  expect(has_mapped("libucp"), "MPI goes over UCX");
  const ProcessState before = ProcessState::now();
  {
    orchid::Client client;
    orchid::Lease lease = client.lease({.lane = "ucx"});
    const orchid::LeasedFunction echo = lease.function("echo");
    for (int i = 0; i < 1000; ++i) {
      const std::string text = std::to_string(rank * 1000 + i);
      const orchid::ReplyFuture call = echo.async(text);
      if (i % 100 == 0) check_mpi();
      expect(call.get().text() == text, "a call's own answer");
    }
  }
  expect(ProcessState::now() == before, "environment and signal handlers are as before");
  check_mpi();
  MPI_Finalize();
}
