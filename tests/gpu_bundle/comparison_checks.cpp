#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks.h"
#include "core_team.h"
#include "device_figures.h"
#include "problems.h"

namespace orchid::gpu_check {
namespace {

constexpr int turns = 3;
constexpr std::uint64_t copy_bytes = 64ULL << 20;
constexpr double least_bandwidth = 0.9;  // of that from pinned memory
constexpr double most_time = 1.05;       // of that of the bare driver
constexpr double most_launch_ns = 20e3;  // more than with the bare driver
constexpr double most_load_ns = 60e9;    // as long as the executor waits for it

constexpr const char* context_check = "a device process's start, against a bare context";
constexpr const char* load_check = "modules of IDW and MD5, until loaded";
constexpr const char* to_device_check =
    "64 MiB from the call's slab, bandwidth against pinned memory";
constexpr const char* to_host_check = "64 MiB to the call's slab, the same";
constexpr const char* pinned_check = "bytes of these slabs that the card reaches by itself";
constexpr const char* first_check = "the first such copy of a call, which registers the slab";
constexpr const char* launch_check = "a launch of one item, longer than with the bare driver";
constexpr const char* idw_check = "IDW with its copies, time against the bare driver";
constexpr const char* idw_call_check = "the same as a whole call, with its memory";
constexpr const char* md5_check = "MD5 search, time against the bare driver";
constexpr const char* idw_bits_check = "IDW: the bits of Orchid, the bare driver and cores";
constexpr const char* md5_found_check = "MD5: Orchid and cores find the string, and no other";
constexpr const char* idw_cores_check = "IDW on the card, as fast as all cores";
constexpr const char* md5_cores_check = "MD5 on the card, as fast as all cores";

struct Target {
  const char* check;
  const char* target;
};
constexpr std::array<Target, 14> all_targets{{{context_check, no_target},
                                              {load_check, "<= 60 s each"},
                                              {to_device_check, ">= 0.9 x"},
                                              {to_host_check, ">= 0.9 x"},
                                              {pinned_check, "all"},
                                              {first_check, no_target},
                                              {launch_check, "<= 20 us"},
                                              {idw_check, "<= 1.05 x"},
                                              {idw_call_check, no_target},
                                              {md5_check, "<= 1.05 x"},
                                              {idw_bits_check, "equal"},
                                              {md5_found_check, "yes"},
                                              {idw_cores_check, no_target},
                                              {md5_cores_check, no_target}}};

const char* target_of(const char* check) {
  return std::ranges::find(all_targets, std::string_view(check), &Target::check)->target;
}

/// Nanoseconds of gpu-bare, medians of all turns.
struct BareMedians {
  double start = 0;
  double idw_load = 0;
  double md5_load = 0;
  double launch = 0;
  double to_device = 0;
  double to_host = 0;
  double idw = 0;
  double md5 = 0;
};

/// What was measured, in turns.
struct Turns {
  ProblemSizes sizes;
  BareMedians bare;
  std::string bare_idw_checksum;
  std::vector<DeviceFigures> device;

  [[nodiscard]] double median_of(double DeviceFigures::* figure) const {
    std::vector<double> all;
    for (const DeviceFigures& one : device) all.push_back(one.*figure);
    return median(std::move(all));
  }
};

struct NamedFigure {
  const char* name;
  double BareMedians::* figure;
};
constexpr std::array<NamedFigure, 8> bare_figures{{{"start_ns", &BareMedians::start},
                                                   {"idw_load_ns", &BareMedians::idw_load},
                                                   {"md5_load_ns", &BareMedians::md5_load},
                                                   {"launch_ns", &BareMedians::launch},
                                                   {"to_device_ns", &BareMedians::to_device},
                                                   {"to_host_ns", &BareMedians::to_host},
                                                   {"idw_ns", &BareMedians::idw},
                                                   {"md5_ns", &BareMedians::md5}}};

Result<BareFigures> measure_bare(const Bundle& bundle, const ProblemSizes& sizes) {
  return run_bare(bundle, {"measure", std::to_string(sizes.idw_rows),
                           std::to_string(sizes.md5_launches), std::to_string(sizes.copy_bytes)});
}

Result<void> take_sizes(const BareFigures& bare, ProblemSizes& sizes) {
  const auto rows = bare.number("idw_rows");
  if (!rows) return fail(rows.error());
  const auto launches = bare.number("md5_launches");
  if (!launches) return fail(launches.error());
  sizes.idw_rows = static_cast<std::uint32_t>(*rows);
  sizes.md5_launches = static_cast<std::uint32_t>(*launches);
  return {};
}

Result<void> take_medians(const std::vector<BareFigures>& bare, Turns& measured) {
  for (const NamedFigure& named : bare_figures) {
    std::vector<double> all;
    for (const BareFigures& one : bare) {
      const auto value = one.number(named.name);
      if (!value) return fail(value.error());
      all.push_back(*value);
    }
    measured.bare.*named.figure = median(std::move(all));
  }
  const auto sum = bare.front().text("idw_checksum");
  if (!sum) return fail(sum.error());
  measured.bare_idw_checksum = *sum;
  return {};
}

Row judged(const char* check, std::string figure, bool met) {
  return {.check = check,
          .figure = std::move(figure),
          .target = target_of(check),
          .verdict = met ? Verdict::met : Verdict::missed};
}
Row reported(const char* check, std::string figure) {
  return {.check = check,
          .figure = std::move(figure),
          .target = target_of(check),
          .verdict = Verdict::reported};
}

double ms(double nanoseconds) { return nanoseconds / 1e6; }

/// Gigabytes in a second, of so many bytes in so many nanoseconds.
double rate(double nanoseconds) { return static_cast<double>(copy_bytes) / nanoseconds; }

Row copy_row(const char* check, double ours, double bare) {
  const double ratio = bare / ours;
  return judged(check,
                fmt::format("{:.2f} x ({:.1f} against {:.1f} GB/s)", ratio, rate(ours), rate(bare)),
                ratio >= least_bandwidth);
}

Row time_row(const char* check, double ours, double bare) {
  const double ratio = ours / bare;
  return judged(check,
                fmt::format("{:.3f} x ({:.2f} against {:.2f} ms)", ratio, ms(ours), ms(bare)),
                ratio <= most_time);
}

void add_times(const Turns& measured, Results& results) {
  const double start = measured.median_of(&DeviceFigures::start);
  results.add(reported(
      context_check, fmt::format("{:.0f} against {:.0f} ms", ms(start), ms(measured.bare.start))));
  const double idw = measured.median_of(&DeviceFigures::idw_load);
  const double md5 = measured.median_of(&DeviceFigures::md5_load);
  Row load = judged(load_check, fmt::format("{:.1f} and {:.1f} ms", ms(idw), ms(md5)),
                    std::max(idw, md5) <= most_load_ns);
  load.note = fmt::format("with the bare driver {:.1f} and {:.1f} ms", ms(measured.bare.idw_load),
                          ms(measured.bare.md5_load));
  results.add(std::move(load));
}

void add_copies(const Turns& measured, Results& results) {
  results.add(copy_row(to_device_check, measured.median_of(&DeviceFigures::to_device),
                       measured.bare.to_device));
  results.add(
      copy_row(to_host_check, measured.median_of(&DeviceFigures::to_host), measured.bare.to_host));
  const double pinned = measured.median_of(&DeviceFigures::pinned);
  constexpr auto both = static_cast<double>(2 * copy_bytes);
  constexpr double mebibyte = 1 << 20;
  results.add(judged(pinned_check,
                     fmt::format("{:.0f} of {:.0f} MiB", pinned / mebibyte, both / mebibyte),
                     pinned >= both));
  results.add(reported(first_check,
                       fmt::format("{:.1f} ms ({:.1f} GB/s)",
                                   ms(measured.median_of(&DeviceFigures::first_to_device)),
                                   rate(measured.median_of(&DeviceFigures::first_to_device)))));
}

void add_kernels(const Turns& measured, Results& results) {
  const double launch = measured.median_of(&DeviceFigures::launch);
  results.add(
      judged(launch_check,
             fmt::format("{:.1f} us ({:.1f} against {:.1f})", (launch - measured.bare.launch) / 1e3,
                         launch / 1e3, measured.bare.launch / 1e3),
             launch - measured.bare.launch <= most_launch_ns));
  results.add(time_row(idw_check, measured.median_of(&DeviceFigures::idw), measured.bare.idw));
  const double call = measured.median_of(&DeviceFigures::idw_call);
  results.add(reported(idw_call_check,
                       fmt::format("{:.3f} x ({:.2f} ms)", call / measured.bare.idw, ms(call))));
  results.add(time_row(md5_check, measured.median_of(&DeviceFigures::md5), measured.bare.md5));
}

double wall_time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

std::uint64_t address_of(const void* memory) { return std::bit_cast<std::uintptr_t>(memory); }

/// IDW once more; adds whether the results are the same everywhere.
Result<double> compare_idw(const CoreTeam& team, const Turns& measured, Results& results) {
  const IdwProblem problem(measured.sizes.idw_rows);
  std::vector<float> values(problem.points());
  const Arguments arguments =
      problem.arguments(address_of(problem.stations().data()), address_of(values.data()));
  Result<void> ran;
  const double time = wall_time_of([&] {
    ran = team.run({.kernel = IdwProblem::kernel,
                    .launches = std::span(&arguments, 1),
                    .items = problem.points(),
                    .group_size = IdwProblem::group_size});
  });
  if (!ran) return fail(std::move(ran.error()));
  const std::string bits = fmt::format("{:016x}", checksum(std::as_bytes(std::span(values))));
  const bool equal = bits == measured.bare_idw_checksum &&
                     std::ranges::all_of(measured.device, [&](const DeviceFigures& one) {
                       return fmt::format("{:016x}", one.idw_checksum) == bits;
                     });
  results.add(judged(idw_bits_check, equal ? "equal" : "different", equal));
  return time;
}

/// MD5 once more; adds whether all have found the string.
Result<double> compare_md5(const CoreTeam& team, const Turns& measured, Results& results) {
  const Md5Problem search(measured.sizes.md5_launches);
  std::vector<std::vector<std::byte>> found(search.launches());
  std::vector<Arguments> launches;
  for (std::uint32_t launch = 0; launch < search.launches(); ++launch) {
    found[launch].resize(Md5Problem::items());
    launches.push_back(search.arguments(launch, address_of(search.alphabet().data()),
                                        address_of(found[launch].data())));
  }
  Result<void> ran;
  const double time = wall_time_of([&] {
    ran = team.run({.kernel = Md5Problem::kernel,
                    .launches = launches,
                    .items = Md5Problem::items(),
                    .group_size = Md5Problem::group_size});
  });
  if (!ran) return fail(std::move(ran.error()));
  bool right = std::ranges::all_of(measured.device, &DeviceFigures::md5_is_right);
  for (std::uint32_t launch = 0; launch < search.launches(); ++launch)
    right = right && search.is_right(launch, found[launch]);
  results.add(judged(md5_found_check, right ? "yes" : "no", right));
  return time;
}

/// The same problems on cores; their results are what the card's are compared with.
void add_cores(const CoreTeam& team, const Turns& measured, Results& results) {
  const auto idw = compare_idw(team, measured, results);
  if (!idw) return results.add(idw_bits_check, target_of(idw_bits_check), idw.error());
  const auto md5 = compare_md5(team, measured, results);
  if (!md5) return results.add(md5_found_check, target_of(md5_found_check), md5.error());
  const auto faster = [&](const char* check, double on_cores, double on_card) {
    results.add(reported(check, fmt::format("{:.1f} x ({} cores: {:.1f} ms)", on_cores / on_card,
                                            team.cores(), ms(on_cores))));
  };
  faster(idw_cores_check, *idw, measured.median_of(&DeviceFigures::idw));
  faster(md5_cores_check, *md5, measured.median_of(&DeviceFigures::md5));
}

/// None of it could be measured.
void add_all(const Failure& failure, Results& results) {
  for (const Target& one : all_targets) results.add(one.check, one.target, failure);
}

}  // namespace

void check_against_bare_driver(const Bundle& bundle, Results& results) {
  Turns measured{
      .sizes = {.copy_bytes = copy_bytes}, .bare = {}, .bare_idw_checksum = {}, .device = {}};
  std::vector<BareFigures> bare;
  for (int turn = 0; turn < turns; ++turn) {
    auto figures = measure_bare(bundle, measured.sizes);
    Result<void> taken = figures ? take_sizes(*figures, measured.sizes) : fail(figures.error());
    if (!taken) return add_all(std::move(taken.error()).while_doing("the bare driver"), results);
    bare.push_back(std::move(*figures));
    auto device = measure_device(bundle, measured.sizes);
    if (!device) return add_all(device.error(), results);
    measured.device.push_back(*device);
  }
  if (auto taken = take_medians(bare, measured); !taken) return add_all(taken.error(), results);
  add_times(measured, results);
  add_copies(measured, results);
  add_kernels(measured, results);
  const auto team = CoreTeam::load(bundle.folder / "lib");
  if (team) return add_cores(*team, measured, results);
  for (const char* check : {idw_bits_check, md5_found_check, idw_cores_check, md5_cores_check})
    results.not_available(check, target_of(check), team.error().message);
}

}  // namespace orchid::gpu_check
