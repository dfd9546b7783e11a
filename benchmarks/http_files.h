// benchmarks/http_files.h: PUT and GET of one data object by curl, against nginx that takes and
// serves a file of the same size.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "harness/bench.h"
#include "nginx_files.h"
#include "orchid/client.h"

namespace orchid::bench {

struct HttpFiles {
  std::string what;  // behind "PUT of" and "GET of"
  std::size_t size = 0;
  std::string token;                    // of the gateway
  std::vector<std::string> entry{};     // as of NginxFiles: where curl runs
  std::vector<std::string> to_us{};     // words for curl, before the URL
  std::vector<std::string> to_nginx{};  // likewise
  std::string our_root;                 // "http://gateway"
  std::string nginx_root;               // "http://nginx"
  std::vector<Promise> promises{};
};
/// Two rows. The object is gone afterwards. Throws what a transfer fails with.
void measure_http_files(Bench& bench, Client& client, const NginxFiles& nginx,
                        const HttpFiles& http);

}  // namespace orchid::bench
