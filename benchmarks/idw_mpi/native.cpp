// benchmarks/idw_mpi/native.cpp: inverse distance weighting with the kernel of functions/idw, as
// somebody writes it with MPI: rank 0 has the stations and wants the values; each rank computes as
// many rows. idw-mpi ROUNDS prints the sum of the values, and the time of each round in
// milliseconds. The first round, in which the ranks find each other, is not printed.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "idw/kernel.h"
#include "work.h"

namespace {

namespace work = orchid::bench::work;

struct Ranks {
  int own = 0;
  int count = 1;
};

/// What every rank computes; rank 0 gets all of it in `values`.
void interpolate(const Ranks& ranks, std::vector<interpolation::Station>& stations,
                 std::vector<float>& values) {
  interpolation::Grid grid = work::grid;
  MPI_Bcast(&grid, sizeof(grid), MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(stations.data(), static_cast<int>(stations.size() * sizeof(stations[0])), MPI_BYTE, 0,
            MPI_COMM_WORLD);
  const auto first_row = [&](int rank) { return static_cast<int>(grid.rows) * rank / ranks.count; };
  std::vector<int> counts(static_cast<std::size_t>(ranks.count));
  std::vector<int> offsets(counts.size());
  for (int rank = 0; rank < ranks.count; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    offsets[at] = first_row(rank) * static_cast<int>(grid.columns);
    counts[at] = first_row(rank + 1) * static_cast<int>(grid.columns) - offsets[at];
  }
  const auto own = static_cast<std::size_t>(ranks.own);
  interpolation::Grid band = grid;
  band.bottom = fmaf(grid.step, static_cast<float>(first_row(ranks.own)), grid.bottom);
  band.rows = static_cast<uint32_t>(first_row(ranks.own + 1) - first_row(ranks.own));
  const float square = 2.0F * work::side * work::side;
  // Rank 0 computes where the values are wanted.
  std::vector<float> others(ranks.own == 0 ? 0 : static_cast<std::size_t>(counts[own]));
  float* const place = ranks.own == 0 ? values.data() : others.data();
  const interpolation::Args args{.grid = band,
                                 .power = work::power,
                                 .stations = stations.data(),
                                 .station_count = stations.size(),
                                 .least = square * 1e-14F,
                                 .scale = square * 1e-9F,
                                 .values = place};
  idw_grid.run(&args, 0, static_cast<std::uint64_t>(counts[own]));
  MPI_Gatherv(ranks.own == 0 ? MPI_IN_PLACE : place, counts[own], MPI_FLOAT, values.data(),
              counts.data(), offsets.data(), MPI_FLOAT, 0, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.own);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  const long rounds = argc == 2 ? std::strtol(argv[1], nullptr, 10) : 1;
  auto stations = work::stations();
  std::vector<float> values(ranks.own == 0 ? std::size_t{work::side} * work::side : 0);
  for (long round = 0; round <= rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    interpolate(ranks, stations, values);
    const double took = MPI_Wtime() - start;
    if (ranks.own != 0) continue;
    if (round == 0)
      std::printf("%.9g\n", std::accumulate(values.begin(), values.end(), 0.0));
    else
      std::printf("%.4f\n", took * 1e3);
  }
  MPI_Finalize();
}
