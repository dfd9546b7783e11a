#include "nginx_files.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "start_up.h"

namespace orchid::bench {
namespace {

constexpr const char* configuration =
    R"(worker_processes 1; daemon off; pid DIR/nginx.pid; error_log DIR/error.log;
events { worker_connections 256; }
http { access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  sendfile on; client_max_body_size 0;
  server { listen LISTEN; root DIR/files; location / { dav_methods PUT; default_type application/octet-stream; } } }
)";

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

Result<NginxFiles> NginxFiles::start(const Options& options) {
  std::string pattern = "/dev/shm/orchid-nginx-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno("mkdtemp");
  const std::filesystem::path directory = pattern;
  std::filesystem::create_directory(directory / "files");
  // Its worker runs as another user when it was started by root.
  std::filesystem::permissions(directory, std::filesystem::perms::all);
  std::filesystem::permissions(directory / "files", std::filesystem::perms::all);
  const std::string listen =
      options.listen.empty() ? "unix:" + (directory / "nginx.sock").string() : options.listen;
  std::ofstream(directory / "nginx.conf")
      << replace_all(replace_all(configuration, "LISTEN", listen), "DIR", directory.string());
  std::vector<std::string> command = options.entry;
  command.insert(command.end(),
                 {"/usr/sbin/nginx", "-p", directory, "-c", directory / "nginx.conf"});
  auto process =
      ChildProcess::start({.command = std::move(command), .output_file = directory / "nginx.log"});
  if (!process) {
    std::filesystem::remove_all(directory);
    return fail(std::move(process.error()));
  }
  NginxFiles nginx(directory, std::move(*process));
  // It writes the file when it listens.
  auto ready = wait_until("nginx takes requests", [&] {
    std::error_code ignored;
    return std::filesystem::file_size(directory / "nginx.pid", ignored) > 0 && !ignored;
  });
  if (!ready) return fail(std::move(ready.error()));
  return nginx;
}

NginxFiles::NginxFiles(NginxFiles&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), process_(std::move(other.process_)) {}

NginxFiles::~NginxFiles() {
  if (directory_.empty()) return;
  process_.stop();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Result<std::vector<double>> timed_transfer(std::vector<std::string> words,
                                           const std::vector<std::string>& entry) {
  words.insert(words.begin(),
               {"curl", "-sS", "--fail", "--max-time", "60", "-H", "Expect:", "-o", "/dev/null"});
  words.insert(words.begin(), entry.begin(), entry.end());
  const auto start = std::chrono::steady_clock::now();
  auto done = output_of({.command = std::move(words)}, std::chrono::seconds(90));
  if (!done) return fail(std::move(done.error()));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return std::vector<double>{took.count()};
}

}  // namespace orchid::bench
