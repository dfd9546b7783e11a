// Two ranks send each other 8 bytes; rank 0 prints the median time there and back in microseconds.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  constexpr int warm_up = 2000;
  constexpr int batches = 200;
  constexpr int batch = 200;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  double word = 1;
  const auto exchange = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (rank == 0) MPI_Send(&word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
      MPI_Recv(&word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    }
  };
  exchange(warm_up);
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    const double start = MPI_Wtime();
    exchange(batch);
    times.push_back((MPI_Wtime() - start) / batch * 1e6);
  }
  std::ranges::nth_element(times, times.begin() + batches / 2);
  if (rank == 0) std::printf("%.4f\n", times[batches / 2]);
  MPI_Finalize();
  return 0;
}
