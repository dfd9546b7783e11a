#include "config/config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace orchid::gateway {

using std::chrono::hours;
using std::chrono::minutes;

Result<Config> config_of(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "orchid-gateway");
  auto read = read_config(static_cast<int>(flags.size()), flags.data());
  if (!read) return fail(std::move(read.error()));
  return std::get<Config>(std::move(*read));
}

/// A file of these lines, for as long as this object lives.
struct ConfigFile {
  explicit ConfigFile(const std::string& lines) { std::ofstream(path) << lines; }
  ~ConfigFile() { std::filesystem::remove(path); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  std::string path = std::filesystem::temp_directory_path() /
                     ("orchid-config-test-" + std::to_string(::getpid()) + ".toml");
};

TEST_CASE("what may last a month is taken in hours, from the command line and from the file") {
  const auto flags =
      config_of({"--pilots-longest", "48h", "--placement-fair-share-half-life", "48h"});
  REQUIRE(flags.has_value());
  CHECK(flags->pilots.longest == hours(48));
  CHECK(flags->placement_fair_share_half_life == hours(48));

  const ConfigFile file(
      "[pilots]\nlongest = \"48h\"\n[placement]\nfair_share_half_life = \"48h\"\n");
  const auto read = config_of({"--config", file.path.c_str()});
  REQUIRE(read.has_value());
  CHECK(read->pilots.longest == hours(48));
  CHECK(read->placement_fair_share_half_life == hours(48));
}

TEST_CASE("command line and file take the same durations and sizes") {
  const ConfigFile file("keep_finished = \"1h 30m\"\nworker_memory = \"64 MiB\"\nidle_time = 90\n");
  for (const auto& read :
       {config_of({"--keep-finished", "1h 30m", "--worker-memory", "64 MiB", "--idle-time", "90"}),
        config_of({"--config", file.path.c_str()})}) {
    REQUIRE(read.has_value());
    CHECK(read->keep_finished == minutes(90));
    CHECK(read->worker_memory == 64_MiB);
    CHECK(read->idle_time == std::chrono::seconds(90));
  }
}

TEST_CASE(
    "what data may take, and how long it stays, is said in the file and on the command line") {
  const auto defaults = config_of({});
  REQUIRE(defaults.has_value());
  CHECK(defaults->data_versions == 3);
  CHECK(defaults->data_unnamed_for == hours(1));
  CHECK(defaults->data_per_user == 0_B);
  CHECK_FALSE(defaults->pilots.data_memory.has_value());
  const ConfigFile file(
      "[data]\nversions = 1\nunnamed_for = \"30m\"\nper_user = \"4GiB\"\n"
      "[pilots]\ndata_memory = \"2GiB\"\n");
  for (const auto& read : {config_of({"--data-versions", "1", "--data-unnamed-for", "30m",
                                      "--data-per-user", "4GiB", "--pilots-data-memory", "2GiB"}),
                           config_of({"--config", file.path.c_str()})}) {
    REQUIRE(read.has_value());
    CHECK(read->data_versions == 1);
    CHECK(read->data_unnamed_for == minutes(30));
    CHECK(read->data_per_user == 4_GiB);
    CHECK(read->pilots.data_memory == 2_GiB);
  }
  CHECK_FALSE(config_of({"--data-versions", "0"}).has_value());
  CHECK(config_of({"--pilots-data-memory", "0"})->pilots.data_memory == 0_B);
}

TEST_CASE("an amount out of its range is refused with the setting and the range") {
  const auto message = [](const char* flag, const char* value) {
    const auto read = config_of({flag, value});
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == ErrorCode::bad_configuration);
    return read.error().message;
  };
  CHECK(message("--pilots-longest", "32d")
            .find("pilots_longest: '32d' is not a duration from 10ms "
                  "to 31d") != std::string::npos);
  CHECK(message("--deadline", "25h").find("to 1d") != std::string::npos);
  CHECK(message("--http-threads", "65").find("from 1 to 64") != std::string::npos);
  CHECK(message("--worker-memory", "1MiB").find("from 16 MiB to 1024 GiB") != std::string::npos);
}

}  // namespace orchid::gateway
