// benchmarks/utilisation.cpp: what idle core time do functions recover, and do batch jobs wait?
//
// A trace of batch jobs runs on a simulated cluster (utilisation/batch_system.h: a scheduler as
// Slurm's, with backfill every 30 s and preemption) together with the product's own pilot
// controller and placement. What starts and stops cost is in utilisation/model.h, each number with
// its source. Clients always have functions left to run. Per seed, the same jobs run
//
// - alone,
// - with Orchid: pilots of the controller, with its options as they come, or with --most-queued,
//   --most-running and --most-cores,
// - with pilots on whole idle nodes, of fixed lengths, as in HPC-Whisk,
//
// and an oracle is computed for each run from the windows in which a core had no batch job: it
// knows them all beforehand, so a core in a window of length L completes floor((L - S) / 10 s)
// functions. S is the launch of a job and of its step, an executor's start and a lease's: whoever
// runs functions in batch jobs needs it once in each window. Nothing else is lost: no pass of the
// scheduler is waited for, no pilot ends before its window, no function is cut off.
//
// The jobs are Lublin and Feitelson's (utilisation/workload_model.h), or those of a trace in the
// Standard Workload Format. The cluster has 1024 cores, as the largest of the systems that the
// model was made from (LANL's CM-5), in 16 nodes of 64 cores; its jobs have up to 128, so that all
// parameters are as published; what is submitted is 95 % of what it can do. Then about 90 % of it
// is allocated, as of production clusters (80 to 94 %), and most windows are as short as Piz
// Daint's (M. Copik et al., IPDPS 2024: 70 to 80 % under 10 minutes, 93 to 94 % under 30). Again
// with workers of 2 GiB, whose pilots are slower to go, and with preemption that takes all pilots
// of a node; what is promised of delays is held against these, too. Two more clusters stand for
// themselves, without a promise: one of small nodes, and one whose jobs have up to all of its
// cores, with more of them than it can do.
//
// The jobs run once more without pilots, each as much later as it was with them: does a longer
// queue come of these delays alone?
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "foundation/files.h"
#include "harness/machine.h"
#include "harness/report.h"
#include "utilisation/simulation.h"
#include "utilisation/swf.h"
#include "utilisation/workload_model.h"

namespace orchid::bench {
namespace {

using namespace orchid::utilisation;

constexpr int status_broken = 3;
constexpr int status_usage = 64;
constexpr std::uint64_t bootstrap_seed = 20'000;
constexpr std::uint64_t most_trace_bytes = 4ULL << 30;
constexpr SimTime day = std::chrono::hours(24);

struct Settings {
  std::string trace_file;
  std::string json_file;
  ClusterShape shape;  // of `trace_file`; 0: as its header says
  int seeds = 7;
  int days = 8;
  int warm_up_days = 1;
  Preemption preemption;
  pilot::PilotOptions pilots;
  std::string command_line;
};

struct Case {
  std::string name;
  ClusterShape shape;
  double load = 0;               // 0: of the file
  std::uint32_t most_cores = 0;  // of a job; 0: all
  bool promised = false;
  bool delays_promised = false;
  bool heavy_workers = false;  // see `late_looks_of_heavy_workers`
  PreemptedPilots who = PreemptedPilots::as_many_as_needed;
};

/// The runs of one seed.
struct Runs {
  RunReport alone;
  RunReport alone_but_later;  // each job by as much as pilots delayed it, and no pilots
  RunReport orchid;
  RunReport whole_nodes;
  RunOptions options;
};

[[noreturn]] void end(int status, const std::string& message) {
  fmt::print(stderr, "utilisation: {}\n", message);
  std::exit(status);
}

[[noreturn]] void usage() {
  end(status_usage,
      "[--trace FILE [--nodes N --cores-per-node N]] [--seeds N] [--days N] [--reclaim-ms N] "
      "[--most-queued N] [--most-running N] [--most-cores N] [--json FILE]");
}

int number_in(const std::string& text, int least, int most) {
  char* rest = nullptr;
  const long value = std::strtol(text.c_str(), &rest, 10);
  if (text.empty() || *rest != '\0' || value < least || value > most) usage();
  return static_cast<int>(value);
}

/// "--seeds 3" and "--seeds=3".
Settings read_settings(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    settings.command_line += (i == 0 ? "" : " ") + std::string(argv[i]);
    const std::string word = argv[i];
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    words.push_back(word.substr(0, equals));
    if (equals != std::string::npos) words.push_back(word.substr(equals + 1));
  }
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (i + 1 == words.size()) usage();
    const std::string& value = words[i + 1];
    if (words[i] == "--trace") {
      settings.trace_file = value;
    } else if (words[i] == "--json") {
      settings.json_file = value;
    } else if (words[i] == "--nodes") {
      settings.shape.nodes = static_cast<std::uint32_t>(number_in(value, 1, 1'000'000));
    } else if (words[i] == "--cores-per-node") {
      settings.shape.cores_per_node = static_cast<std::uint32_t>(number_in(value, 1, 4096));
    } else if (words[i] == "--seeds") {
      settings.seeds = number_in(value, 1, 1000);
    } else if (words[i] == "--days") {
      settings.days = number_in(value, settings.warm_up_days + 1, 3660);
    } else if (words[i] == "--most-queued") {
      settings.pilots.most_queued = static_cast<std::uint32_t>(number_in(value, 1, 1000));
    } else if (words[i] == "--most-running") {
      settings.pilots.most_running = static_cast<std::uint32_t>(number_in(value, 1, 100'000));
    } else if (words[i] == "--most-cores") {
      settings.pilots.most_cores = static_cast<std::uint32_t>(number_in(value, 1, 4096));
    } else if (words[i] == "--reclaim-ms") {
      Preemption& model = settings.preemption;
      model.reclaim_least = model.reclaim_most = SimTime(number_in(value, 0, 600'000));
      model.late_looks = 0;
    } else {
      usage();
    }
  }
  return settings;
}

/// For nodes that have fewer cores than a pilot may have.
pilot::PilotOptions pilot_options(pilot::PilotOptions options, const ClusterShape& shape) {
  options.most_cores = std::min(options.most_cores, shape.cores_per_node);
  return options;
}

Runs run(const Trace& trace, const RunOptions& options, const Settings& settings) {
  const auto orchid = pilot_options(settings.pilots, options.shape);
  const auto simulated = [&](const std::unique_ptr<PilotPolicy>& policy) {
    RunReport report = simulate(trace, options, *policy);
    if (report.broken) end(status_broken, *report.broken);
    return report;
  };
  Runs runs{.alone = simulated(make_no_pilots()),
            .alone_but_later = {},
            .orchid = simulated(make_orchid_pilots(orchid, options.shape)),
            .whole_nodes = simulated(make_whole_node_pilots()),
            .options = options};
  RunOptions later = options;
  later.preemption.given = &runs.orchid.later;
  runs.alone_but_later = simulate(trace, later, *make_no_pilots());
  return runs;
}

std::vector<double> over(const std::vector<Runs>& all,
                         const std::function<double(const Runs&)>& value) {
  std::vector<double> values;
  for (const Runs& runs : all) values.push_back(value(runs));
  return values;
}

struct RowOf {
  std::string row;
  std::string unit;
  std::vector<double> values;  // one of each seed
  std::vector<double> baseline;
  std::string baseline_is;
  std::optional<Target> target;
};

/// Of the ratio when there is a baseline, else of the values themselves. "p99" is over the seeds,
/// too: close to the highest.
Row row_of(const RowOf& of, const Settings& settings) {
  const auto quantiles = [](const std::vector<double>& values) {
    return Quantiles{median(values), percentile(values, 0.99)};
  };
  Row row{.benchmark = "utilisation",
          .row = of.row,
          .unit = of.unit,
          .value = quantiles(of.values),
          .baseline = {},
          .ratio = {},
          .target = of.target};
  std::vector<double> judged = of.values;
  if (!of.baseline.empty()) {
    for (std::size_t i = 0; i < judged.size(); ++i) judged[i] /= of.baseline[i];
    row.baseline = Description{.what = of.baseline_is,
                               .command = settings.command_line,
                               .environment = "same jobs and cluster"};
    row.baseline_value = quantiles(of.baseline);
    row.ratio = median(judged);
  }
  row.interval = bootstrap_median(judged, bootstrap_seed);
  if (of.target) row.verdict = of.target->met_by(row.interval) ? Verdict::met : Verdict::missed;
  return row;
}

std::vector<Row> rows_of(const Case& one, const std::vector<Runs>& all, const Settings& settings) {
  const auto target = [&](Target::Direction direction, double bound) {
    return one.promised ? std::optional(Target{direction, bound}) : std::nullopt;
  };
  const auto delay_target = one.promised || one.delays_promised
                                ? std::optional(Target{Target::Direction::at_most, 150})
                                : std::nullopt;
  const auto p95 = [](const RunReport& report) {
    return report.delays_ms.empty() ? 0 : percentile(report.delays_ms, 0.95);
  };
  const auto p95_of_all = [](const RunReport& report, std::vector<double> RunReport::* which) {
    std::vector<double> delays = report.*which;
    delays.resize(std::max<std::size_t>(report.jobs, 1));  // the others had none
    return percentile(std::move(delays), 0.95);
  };
  const auto row = [&](RowOf of) {
    of.row = one.name + ": " + of.row;
    return row_of(of, settings);
  };
  return {
      row({"idle core time recovered", "%",
           over(all, [](const Runs& r) { return 100 * r.orchid.recovered(); }),
           over(all, [](const Runs& r) { return 100 * r.orchid.oracle(); }),
           "an oracle that knows all windows", target(Target::Direction::at_least, 0.9)}),
      row({"the same with whole-node pilots", "%",
           over(all, [](const Runs& r) { return 100 * r.whole_nodes.recovered(); }),
           over(all, [](const Runs& r) { return 100 * r.whole_nodes.oracle(); }),
           "an oracle that knows all windows", std::nullopt}),
      row({"more than whole-node pilots",
           "points",
           over(all,
                [](const Runs& r) {
                  return 100 * (r.orchid.recovered() - r.whole_nodes.recovered());
                }),
           {},
           "",
           target(Target::Direction::at_least, 20)}),
      row({"delay of all batch jobs, p95",
           "ms",
           over(all, [&](const Runs& r) { return p95_of_all(r.orchid, &RunReport::delays_ms); }),
           {},
           "",
           delay_target}),
      row({"the same from the submission on, with slurmctld's next pass, p95",
           "ms",
           over(all,
                [&](const Runs& r) {
                  return p95_of_all(r.orchid, &RunReport::delays_with_pass_ms);
                }),
           {},
           "",
           delay_target}),
      row({"delay of a batch job for which pilots go, p95",
           "ms",
           over(all, [&](const Runs& r) { return p95(r.orchid); }),
           {},
           "",
           delay_target}),
      row({"mean wait of all batch jobs in the queue", "s",
           over(all, [](const Runs& r) { return r.orchid.mean_wait_seconds; }),
           over(all, [](const Runs& r) { return r.alone.mean_wait_seconds; }), "the jobs alone",
           std::nullopt}),
      row({"the same without pilots, each job as much later as pilots have made it", "s",
           over(all, [](const Runs& r) { return r.alone_but_later.mean_wait_seconds; }),
           over(all, [](const Runs& r) { return r.alone.mean_wait_seconds; }), "the jobs alone",
           std::nullopt})};
}

std::string range(std::vector<double> values) {
  const auto [low, high] = std::ranges::minmax(values);
  if (values.size() == 1) return fmt::format("{:.1f}", low);
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", median(std::move(values)), low, high);
}

double percent(SimTime some, SimTime all) {
  return 100 * static_cast<double>(some.count()) /
         static_cast<double>(std::max(all, SimTime(1)).count());
}

void print_losses(const char* whose, const std::vector<Runs>& all, RunReport Runs::* run) {
  const auto of = [&](SimTime LostTime::* why) {
    return range(
        over(all, [&](const Runs& r) { return percent((r.*run).lost.*why, (r.*run).idle.whole); }));
  };
  fmt::print(
      "  {} left idle, % of idle core time: nobody asked for it {}; a pilot waits for the node {}; "
      "needed within 2 min {}; pilot starting {}; function cut off {}\n",
      whose, of(&LostTime::unasked), of(&LostTime::queued), of(&LostTime::too_short),
      of(&LostTime::starting), range(over(all, [&](const Runs& r) {
        return percent((r.*run).functions.evicted, (r.*run).idle.whole);
      })));
}

/// Median over the seeds, and range.
void print_case(const Case& one, const std::vector<Runs>& all) {
  fmt::print("{}: {} nodes of {} cores, {} run(s): median and range\n", one.name, one.shape.nodes,
             one.shape.cores_per_node, all.size());
  const auto alone = [&](double (*value)(const RunReport&)) {
    return range(over(all, [&](const Runs& r) { return value(r.alone); }));
  };
  fmt::print("  batch jobs alone: {} jobs, {} % of all core time; ",
             alone([](const RunReport& r) { return static_cast<double>(r.jobs); }),
             range(over(all, [](const Runs& r) { return 100 * r.alone.utilisation(r.options); })));
  fmt::print("windows under 10 min {} %, under 30 min {} %\n", alone([](const RunReport& r) {
               return 100.0 * static_cast<double>(r.idle.under_ten_minutes) /
                      static_cast<double>(std::max<std::uint64_t>(1, r.idle.windows));
             }),
             alone([](const RunReport& r) {
               return 100.0 * static_cast<double>(r.idle.under_half_an_hour) /
                      static_cast<double>(std::max<std::uint64_t>(1, r.idle.windows));
             }));
  const auto orchid = [&](double (*value)(const RunReport&)) {
    return range(over(all, [&](const Runs& r) { return value(r.orchid); }));
  };
  fmt::print("  batch jobs that waited for pilots to go: {} %, by ms p50 {}, p95 {}, max {}\n",
             orchid([](const RunReport& r) {
               return 100.0 * static_cast<double>(r.delays_ms.size()) /
                      static_cast<double>(std::max<std::uint64_t>(1, r.jobs));
             }),
             orchid([](const RunReport& r) {
               return r.delays_ms.empty() ? 0 : percentile(r.delays_ms, 0.5);
             }),
             orchid([](const RunReport& r) {
               return r.delays_ms.empty() ? 0 : percentile(r.delays_ms, 0.95);
             }),
             orchid([](const RunReport& r) {
               return r.delays_ms.empty() ? 0 : std::ranges::max(r.delays_ms);
             }));
  fmt::print("  Orchid's pilots: {} started, {} preempted, at most {} waiting at a time\n",
             orchid([](const RunReport& r) { return static_cast<double>(r.pilots_started); }),
             orchid([](const RunReport& r) { return static_cast<double>(r.pilots_preempted); }),
             orchid([](const RunReport& r) { return static_cast<double>(r.most_waiting); }));
  print_losses("Orchid", all, &Runs::orchid);
  print_losses("Whole-node pilots", all, &Runs::whole_nodes);
}

Preemption preemption_in(const Case& one, const Settings& settings) {
  Preemption model = settings.preemption;
  model.who = one.who;
  if (one.heavy_workers && model.late_looks != 0) model.late_looks = late_looks_of_heavy_workers;
  return model;
}

std::vector<Runs> runs_of(const Case& one, const Settings& settings) {
  std::vector<Runs> all;
  const SimTime from = settings.warm_up_days * day;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const Trace trace = generate({.cores = one.shape.cores(),
                                  .most_cores = one.most_cores,
                                  .load = one.load,
                                  .span = settings.days * day,
                                  .seed = number});
    all.push_back(run(trace,
                      {.shape = one.shape,
                       .counted = {from, settings.days * day},
                       .preemption = preemption_in(one, settings),
                       .seed = number},
                      settings));
  }
  return all;
}

/// The whole file once, without the time until its first jobs have filled the cluster.
std::vector<Runs> runs_of_file(Case& one, const Settings& settings) {
  const auto text = read_file(settings.trace_file, orchid::ByteCount{most_trace_bytes});
  if (!text) end(status_broken, text.error().message);
  auto read = parse_swf({reinterpret_cast<const char*>(text->data()), text->size()});
  if (!read) end(status_broken, settings.trace_file + ": " + read.error().message);
  one.shape = settings.shape.cores() != 0 ? settings.shape : read->shape.value_or(ClusterShape{});
  if (one.shape.cores() == 0)
    end(status_usage, "the trace does not say how large its cluster is: --nodes, --cores-per-node");
  const std::size_t all_jobs = read->trace.jobs.size();
  std::erase_if(read->trace.jobs,
                [&](const TraceJob& job) { return job.cores > one.shape.cores(); });
  fmt::print("{}: {} jobs; {} that never ran and {} larger than the cluster are left out\n",
             settings.trace_file, read->trace.jobs.size(), read->skipped,
             all_jobs - read->trace.jobs.size());
  const SimTime until = read->trace.end;
  return {run(read->trace,
              {.shape = one.shape,
               .counted = {std::min(settings.warm_up_days * day, until / 10), until},
               .preemption = settings.preemption},
              settings)};
}

std::vector<Case> cases(const Settings& settings) {
  if (!settings.trace_file.empty()) return {{.name = "trace", .shape = {}, .promised = true}};
  return {{.name = "16 x 64", .shape = {16, 64}, .load = 0.95, .most_cores = 128, .promised = true},
          {.name = "16 x 64, workers of 2 GiB",
           .shape = {16, 64},
           .load = 0.95,
           .most_cores = 128,
           .delays_promised = true,
           .heavy_workers = true},
          {.name = "16 x 64, whole nodes preempted",
           .shape = {16, 64},
           .load = 0.95,
           .most_cores = 128,
           .delays_promised = true,
           .who = PreemptedPilots::all_of_a_node},
          {.name = "64 x 16", .shape = {64, 16}, .load = 0.95, .most_cores = 128},
          {.name = "16 x 64, large jobs", .shape = {16, 64}, .load = 1.4}};
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  using namespace orchid::bench;
  const Settings settings = read_settings(argc, argv);
  fmt::print("utilisation: {}\n", describe_machine());
  std::vector<Row> rows;
  for (Case& one : cases(settings)) {
    const auto all =
        settings.trace_file.empty() ? runs_of(one, settings) : runs_of_file(one, settings);
    print_case(one, all);
    std::fflush(stdout);
    for (Row& row : rows_of(one, all, settings)) rows.push_back(std::move(row));
  }
  fmt::print("{}", table_of(rows));
  if (!settings.json_file.empty())
    if (const auto written = orchid::write_file_atomically(settings.json_file,
                                                           orchid::as_bytes(json_of(rows)), 0644);
        !written)
      end(status_broken, written.error().message);
  return exit_status_of(rows);
}
