// Open MPI over UCX, and lanes over UCX, in one process: neither notices the other.
#include <mpi.h>

#include "orchid/client.h"
#include "orchid/lease.h"
#include "process_state.h"

namespace {

void check_mpi(int rank, int ranks) {
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks - 1) / 2, "a sum over all ranks");
  std::vector<char> ring(1 << 20, static_cast<char>(rank));
  MPI_Sendrecv_replace(ring.data(), static_cast<int>(ring.size()), MPI_CHAR, (rank + 1) % ranks, 0,
                       (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(ring.back() == static_cast<char>((rank + ranks - 1) % ranks), "the neighbour's bytes");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check_mpi(rank, ranks);
  expect(has_mapped("libucp"), "MPI goes over UCX");
  const ProcessState before = ProcessState::now();
  {
    orchid::Client client;
    orchid::Lease lease = client.lease({.lane = "ucx"});
    const orchid::LeasedFunction echo = lease.function("echo");
    for (int i = 0; i < 1000; ++i) {
      const std::string text = std::to_string(rank * 1000 + i);
      const orchid::ReplyFuture call = echo.async(text);
      if (i % 100 == 0) check_mpi(rank, ranks);
      expect(call.get().text() == text, "a call's own answer");
    }
  }
  expect(ProcessState::now() == before, "environment and signal handlers are as before");
  check_mpi(rank, ranks);
  MPI_Finalize();
}
