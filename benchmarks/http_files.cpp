#include "http_files.h"

#include <filesystem>
#include <fstream>

#include "measured.h"

namespace orchid::bench {
namespace {

constexpr const char* sent_name = "sent";

/// `words` for curl, then `more`.
Result<std::vector<double>> transfer(const HttpFiles& http, std::vector<std::string> words,
                                     const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return timed_transfer(std::move(words), http.entry);
}

}  // namespace

void measure_http_files(Bench& bench, Client& client, const NginxFiles& nginx,
                        const HttpFiles& http) {
  const std::string file = nginx.directory() / "source";
  std::ofstream(file, std::ios::binary) << std::string(http.size, '\1');
  const std::string token = "Authorization: Bearer " + http.token;
  const std::string ours = http.our_root + "/v1/data/" + sent_name;
  const std::string theirs = http.nginx_root + "/" + sent_name;
  const auto put = [&] { return transfer(http, http.to_us, {"-H", token, "-T", file, ours}); };
  const auto put_at_nginx = [&] { return transfer(http, http.to_nginx, {"-T", file, theirs}); };
  bench.compare(
      {.row = "PUT of " + http.what,
       .unit = "ms",
       .round =
           [&] {
             auto took = put();
             client.remove_data(sent_name);
             return took;
           },
       .baseline = {"nginx, worker_processes 1, dav_methods PUT, files in /dev/shm", "curl -T", ""},
       .baseline_round =
           [&] {
             auto took = put_at_nginx();
             std::filesystem::remove(nginx.files() / sent_name);
             return took;
           },
       .promises = http.promises});
  (void)must(put());
  (void)must(put_at_nginx());
  bench.compare({.row = "GET of " + http.what,
                 .unit = "ms",
                 .round = [&] { return transfer(http, http.to_us, {"-H", token, ours}); },
                 .baseline = {"nginx, worker_processes 1, sendfile, files in /dev/shm", "curl", ""},
                 .baseline_round = [&] { return transfer(http, http.to_nginx, {theirs}); },
                 .promises = http.promises});
  client.remove_data(sent_name);
}

}  // namespace orchid::bench
