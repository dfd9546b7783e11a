// gpu-bare: what the card does without Orchid: a program written by hand against the driver's own
// interface. It has the same kernels and input as Orchid's side of the comparison.
//
//   gpu-bare FOLDER open                           a context, the checks' kernels, and a first one
//   gpu-bare FOLDER measure ROWS LAUNCHES COPY     copies of so many bytes, IDW of so many rows,
//   MD5
//                                                  of so many launches; 0: as many as take 20 ms
//   gpu-bare FOLDER find BYTES                     what was left in memory that is not cleared
//
// It prints a name and a value in each line. Times are wall-clock time in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bare/driver.h"
#include "problems.h"
#include "ptx_folder.h"

namespace orchid::gpu_check {
namespace {

constexpr int rounds = 5;
constexpr int small_rounds = 200;
/// A problem takes so long, or is as large as it gets.
constexpr double long_enough_ns = 20e6;

using Clock = std::chrono::steady_clock;

double nanoseconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Once without being measured.
double median_of(int times, const std::function<void()>& work) {
  work();
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.push_back(nanoseconds_of(work));
  return median(std::move(all));
}

void print(const char* name, double value) { std::printf("%s %.0f\n", name, value); }

class Measurement {
 public:
  explicit Measurement(const std::filesystem::path& folder) : start_(Clock::now()) {
    const auto ptx = find_ptx_folder(folder / "ptx", driver_.architecture());
    if (!ptx) throw std::runtime_error("the bundle has no PTX for " + driver_.architecture());
    ptx_ = *ptx;
    checks_ = driver_.load(text_of("checks"));
    store_ = driver_.find(checks_, "store_item");
    const std::uint64_t word = driver_.allocate(sizeof(std::uint64_t));
    store(word);
    driver_.free(word);
    print("start_ns", std::chrono::duration<double, std::nano>(Clock::now() - start_).count());
    std::printf("model %s\n", driver_.model().c_str());
  }

  void measure_launches() {
    const std::uint64_t word = driver_.allocate(sizeof(std::uint64_t));
    print("launch_ns", median_of(small_rounds, [&] { store(word); }));
    driver_.free(word);
  }

  void measure_copies(std::size_t bytes) {
    const auto host = driver_.allocate_pinned(bytes);
    std::ranges::fill(host, std::byte{1});
    const std::uint64_t memory = driver_.allocate(bytes);
    print("to_device_ns", median_of(rounds, [&] { driver_.copy_to_device(memory, host); }));
    print("to_host_ns", median_of(rounds, [&] { driver_.copy_to_host(host, memory); }));
    driver_.free(memory);
  }

  /// `rows`: 0: as many as it takes.
  void measure_idw(std::uint32_t rows) {
    cuda::Module module = nullptr;
    print("idw_load_ns", nanoseconds_of([&] { module = driver_.load(text_of("idw")); }));
    kernel_ = driver_.find(module, IdwProblem::kernel);
    const bool by_itself = rows == 0;
    if (by_itself) rows = IdwProblem::fewest_rows;
    while (by_itself && rows < IdwProblem::most_rows && run_idw(rows, 1).first < long_enough_ns)
      rows *= 2;
    const auto [time, sum] = run_idw(rows, rounds);
    print("idw_rows", rows);
    print("idw_ns", time);
    std::printf("idw_checksum %016llx\n", static_cast<unsigned long long>(sum));
  }

  void measure_md5(std::uint32_t launches) {
    cuda::Module module = nullptr;
    print("md5_load_ns", nanoseconds_of([&] { module = driver_.load(text_of("md5search")); }));
    kernel_ = driver_.find(module, Md5Problem::kernel);
    const bool by_itself = launches == 0;
    if (by_itself) launches = 1;
    while (by_itself && 2 * launches <= Md5Problem::most_launches &&
           run_md5(launches, 1) < long_enough_ns)
      launches *= 2;
    print("md5_ns", run_md5(launches, rounds));
    print("md5_launches", launches);
  }

  /// As much memory as can be had, up to `bytes`; it is not cleared.
  void find(std::uint64_t bytes) {
    bytes = bytes / FindLaunch::granule * FindLaunch::granule;
    std::uint64_t memory = 0;
    while (bytes != 0 && !driver_.try_allocate(memory, bytes))
      bytes = bytes / 8 * 7 / FindLaunch::granule * FindLaunch::granule;
    if (bytes == 0) throw std::runtime_error("there is no free memory on the card");
    // The driver may clear what is small, and is not asked to clear this either.
    const std::uint64_t found = driver_.allocate(FindLaunch::found_bytes);
    driver_.launch(driver_.find(checks_, FindLaunch::kernel),
                   {.arguments = find_arguments(memory, bytes, found),
                    .items = FindLaunch::items,
                    .threads = FindLaunch::group_size});
    std::vector<std::byte> host(FindLaunch::found_bytes);
    driver_.copy_to_host(host, found);
    print("find_bytes", static_cast<double>(bytes));
    print("find_words", static_cast<double>(sum_of_found(host)));
  }

 private:
  [[nodiscard]] std::string text_of(const std::string& module) const {
    std::ifstream file(ptx_ / (module + ".ptx"));
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (text.empty())
      throw std::runtime_error("there is no " + module + ".ptx in " + ptx_.string());
    return text;
  }

  void store(std::uint64_t word) {
    const Arguments arguments = one_address(word);
    driver_.launch(store_, {.arguments = arguments, .items = 1, .threads = 1});
    driver_.wait();
  }

  /// Nanoseconds from the input in pinned memory to the result there; and the result's checksum.
  std::pair<double, std::uint64_t> run_idw(std::uint32_t rows, int times) {
    const IdwProblem problem(rows);
    const auto input = driver_.allocate_pinned(problem.stations().size());
    std::ranges::copy(problem.stations(), input.begin());
    const auto output = driver_.allocate_pinned(problem.value_bytes());
    const std::uint64_t stations = driver_.allocate(input.size());
    const std::uint64_t values = driver_.allocate(output.size());
    const Arguments arguments = problem.arguments(stations, values);
    const double time = median_of(times, [&] {
      driver_.copy_to_device(stations, input);
      driver_.launch(
          kernel_,
          {.arguments = arguments, .items = problem.points(), .threads = IdwProblem::group_size});
      driver_.copy_to_host(output, values);
    });
    driver_.free(stations);
    driver_.free(values);
    return {time, checksum(output)};
  }

  double run_md5(std::uint32_t launches, int times) {
    const Md5Problem problem(launches);
    const std::uint64_t letters = driver_.allocate(problem.alphabet().size());
    driver_.copy_to_device(letters, problem.alphabet());
    const std::uint64_t found = driver_.allocate(Md5Problem::items());
    const auto host = driver_.allocate_pinned(Md5Problem::items());
    const auto search = [&](std::uint32_t launch) {
      driver_.launch(kernel_, {.arguments = problem.arguments(launch, letters, found),
                               .items = Md5Problem::items(),
                               .threads = Md5Problem::group_size});
      driver_.copy_to_host(host, found);
    };
    for (std::uint32_t launch = 0; launch < launches; ++launch) {
      search(launch);
      if (!problem.is_right(launch, host)) throw std::runtime_error("MD5 found something else");
    }
    const double time = median_of(times, [&] {
      for (std::uint32_t launch = 0; launch < launches; ++launch) search(launch);
    });
    driver_.free(letters);
    driver_.free(found);
    return time;
  }

  Clock::time_point start_;  // before the driver
  BareDriver driver_;
  std::filesystem::path ptx_;
  cuda::Module checks_ = nullptr;
  BareKernel store_;
  BareKernel kernel_;
};

int run(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t place) { return std::stoull(words.at(place)); };
  Measurement measurement(words.at(0));
  const std::string& task = words.at(1);
  if (task == "measure") {
    measurement.measure_launches();
    measurement.measure_copies(number(4));
    measurement.measure_idw(static_cast<std::uint32_t>(number(2)));
    measurement.measure_md5(static_cast<std::uint32_t>(number(3)));
  } else if (task == "find") {
    measurement.find(number(2));
  } else if (task != "open") {
    throw std::runtime_error("there is no task '" + task + "'");
  }
  return 0;
}

}  // namespace
}  // namespace orchid::gpu_check

int main(int argc, char** argv) {
  try {
    return orchid::gpu_check::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu-bare: %s\n", error.what());
    return 1;
  }
}
