// integral/mpi: an MPI program whose ranks let workers of Orchid compute a part, whatever workers
// there are: integral-mpi [--alone] [--until FILE] SLICES POINTS ROUNDS
//
// Each round computes pi as the integral of 4 / (1 + x²) from 0 to 1, in SLICES slices of POINTS
// points, which the ranks share. The sum is taken in the order of the slices, so that its bits
// depend neither on the number of ranks nor on who has computed what.
//
//   --alone       without Orchid: the same function, called as any other
//   --until FILE  ends after the round in which FILE is there, at ROUNDS at the latest
//
// Exit status 1: two rounds had different results.
#include <mpi.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "orchid/offload.h"
#include "slice_integrals.h"

namespace {

struct Arguments {
  bool alone = false;
  const char* until = nullptr;
  std::uint64_t slices = 0;
  std::uint64_t points = 0;
  std::uint64_t rounds = 0;
};

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  int next = 1;
  for (; next < argc && std::strncmp(argv[next], "--", 2) == 0; ++next) {
    const std::string_view option = argv[next];
    if (option == "--alone")
      arguments.alone = true;
    else if (option == "--until" && next + 1 < argc)
      arguments.until = argv[++next];
    else
      return std::nullopt;
  }
  if (argc - next != 3) return std::nullopt;
  arguments.slices = std::strtoull(argv[next], nullptr, 10);
  arguments.points = std::strtoull(argv[next + 1], nullptr, 10);
  arguments.rounds = std::strtoull(argv[next + 2], nullptr, 10);
  const bool are_some = arguments.slices > 0 && arguments.points > 0 && arguments.rounds > 0;
  return are_some ? std::optional(arguments) : std::nullopt;
}

/// A rank's slices of all.
struct Share {
  std::vector<double> lefts;
  std::vector<double> integrals;
  std::vector<int> counts;  // of each rank, as MPI_Gatherv wants them
  std::vector<int> starts;
  double width = 0;

  Share(std::uint64_t slices, int rank, int ranks) : width(1.0 / static_cast<double>(slices)) {
    const auto start_of = [&](int which) {
      return slices * static_cast<std::uint64_t>(which) / static_cast<std::uint64_t>(ranks);
    };
    for (int i = 0; i < ranks; ++i) {
      starts.push_back(static_cast<int>(start_of(i)));
      counts.push_back(static_cast<int>(start_of(i + 1) - start_of(i)));
    }
    for (std::uint64_t i = start_of(rank); i < start_of(rank + 1); ++i)
      lefts.push_back(static_cast<double>(i) * width);
    integrals.resize(lefts.size());
  }
};

struct Sum {
  double value = 0;
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a over the bits of all slices
};

Sum sum_of(const std::vector<double>& integrals) {
  Sum sum;
  for (const double integral : integrals) {
    sum.value += integral;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &integral, sizeof(bits));
    sum.digest = (sum.digest ^ bits) * 1099511628211U;
  }
  return sum;
}

/// One of the ranks, from MPI_Init to MPI_Finalize.
class Rank {
 public:
  explicit Rank(const Arguments& arguments) : arguments_(arguments) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  int run() {
    const double began = MPI_Wtime();
    Share share(arguments_.slices, rank_, ranks_);
    std::optional<orchid::OffloadPool> pool;  // looks for workers meanwhile
    if (!arguments_.alone) pool.emplace(orchid::OffloadOptions{.local_threads = 1});
    std::optional<std::uint64_t> first_digest;
    bool are_alike = true;
    for (std::uint64_t round = 1, last = 0; last == 0; ++round) {
      const double round_began = MPI_Wtime();
      const orchid::OffloadReport report = compute(share, pool);
      const Sum sum = gather(share, report, round, round_began);
      are_alike = are_alike && sum.digest == first_digest.value_or(sum.digest);
      first_digest = sum.digest;
      if (rank_ == 0) last = is_last(round) ? 1 : 0;
      MPI_Bcast(&last, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    }
    pool.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0)
      std::printf("%s in %.6f s\n", are_alike ? "all rounds alike," : "rounds differ,",
                  MPI_Wtime() - began);
    return are_alike ? 0 : 1;
  }

 private:
  [[nodiscard]] orchid::OffloadReport compute(Share& share,
                                              std::optional<orchid::OffloadPool>& pool) const {
    if (pool)
      return pool->map<slice_integrals>(share.lefts, share.integrals, share.width,
                                        arguments_.points);
    share.integrals = slice_integrals(share.lefts, share.width, arguments_.points);
    return {.local_items = share.lefts.size()};
  }

  /// Rank 0 gets all slices and tells what has come of the round.
  [[nodiscard]] Sum gather(const Share& share, const orchid::OffloadReport& report,
                           std::uint64_t round, double began) const {
    std::vector<double> all(rank_ == 0 ? arguments_.slices : 0);
    MPI_Gatherv(share.integrals.data(), static_cast<int>(share.integrals.size()), MPI_DOUBLE,
                all.data(), share.counts.data(), share.starts.data(), MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
    const std::uint64_t own[2] = {report.local_items, report.worker_items};
    std::uint64_t everybodys[2] = {};
    MPI_Reduce(own, everybodys, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    const Sum sum = sum_of(all);
    if (rank_ != 0) return sum;
    std::printf("round %" PRIu64 ": pi %.17g, digest %016" PRIx64 ", %" PRIu64
                " slices here, %" PRIu64 " on workers, %.6f s\n",
                round, sum.value, sum.digest, everybodys[0], everybodys[1], MPI_Wtime() - began);
    std::fflush(stdout);
    return sum;
  }

  [[nodiscard]] bool is_last(std::uint64_t round) const {
    return round == arguments_.rounds ||
           (arguments_.until != nullptr && ::access(arguments_.until, F_OK) == 0);
  }

  Arguments arguments_;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "usage: integral-mpi [--alone] [--until FILE] SLICES POINTS ROUNDS\n");
    return 2;
  }
  int provided = 0;
  // The pool has threads of its own; they know nothing of MPI.
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int status = Rank(*arguments).run();
  MPI_Finalize();
  return status;
} catch (const std::exception& error) {
  std::fprintf(stderr, "integral-mpi: %s\n", error.what());
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 3;
}
