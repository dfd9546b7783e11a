// mpi/mpi_traffic.h: what ranks say to each other while leases are in use.
#pragma once
#include <mpi.h>

#include <vector>

#include "process_state.h"

/// A small collective and a message of 1 MiB around the ring.
inline void check_mpi() {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks - 1) / 2, "a sum over all ranks");
  std::vector<char> ring(1 << 20, static_cast<char>(rank));
  MPI_Sendrecv_replace(ring.data(), static_cast<int>(ring.size()), MPI_CHAR, (rank + 1) % ranks, 0,
                       (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(ring.back() == static_cast<char>((rank + ranks - 1) % ranks), "the neighbour's bytes");
}
