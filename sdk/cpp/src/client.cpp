#include "orchid/client.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "api/discovery.h"
#include "api/documents.h"
#include "api/function_reference.h"
#include "api/invocation_request.h"
#include "api/session.h"
#include "foundation/files.h"
#include "foundation/json_document.h"
#include "foundation/percent_encoding.h"
#include "http/problem.h"
#include "lease/lease_threads.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds answer_grace = sdk::Session::answer_grace;
constexpr milliseconds undated_answer = sdk::Session::longest_answer;

std::string random_key() {
  std::random_device device;
  std::string key = "sdk-";
  constexpr std::string_view digits = "0123456789abcdef";
  for (int word = 0; word < 4; ++word) {
    const std::uint32_t bits = device();
    for (int shift = 0; shift < 32; shift += 4) key += digits[(bits >> shift) & 15];
  }
  return key;
}

void watch_to_end(const Invocation& invocation, milliseconds longest,
                  const std::function<bool(const InvocationStatus&)>& watch) {
  using Clock = std::chrono::steady_clock;
  constexpr milliseconds look_again{250};
  const auto end = Clock::now() + longest;
  InvocationStatus status;
  status.id = invocation.id();
  for (auto answered = Clock::now(); Clock::now() < end;) {
    try {
      status = invocation.wait(look_again);
      answered = Clock::now();
    } catch (const Error& error) {
      // The invocation outlives a restart of the gateway.
      if (error.kind() != ErrorKind::unreachable || error.http_status() != 0 ||
          Clock::now() - answered > sdk::Session::restart_patience)
        throw;
      std::this_thread::sleep_for(sdk::Session::restart_pause);
    }
    if (status.finished()) return;
    if (!watch(status)) return invocation.cancel();
  }
}

}  // namespace

Client::Client(ClientOptions options)
    : session_(
          std::make_shared<sdk::Session>(sdk::find_gateway(options, sdk::real_surroundings()))),
      lease_threads_(std::make_shared<sdk::SharedLeaseThreads>()) {}

FunctionInfo Client::deploy(std::string_view name, std::span<const std::byte> module,
                            const DeployOptions& options) {
  std::string query;
  if (options.concurrency) query = "?concurrency=" + std::to_string(*options.concurrency);
  if (!options.needs.empty())
    query += (query.empty() ? "?needs=" : "&needs=") + percent_encode(options.needs);
  sdk::HttpRequest request{.method = "PUT",
                           .target = sdk::function_path(name) + query,
                           .headers = {"Content-Type: application/octet-stream"},
                           .body = module,
                           .timeout = undated_answer};
  if (!options.if_match.empty())
    request.headers.push_back("If-Match: \"" + options.if_match + "\"");
  return sdk::parse_function(session_->request(request).text());
}

FunctionInfo Client::deploy_file(std::string_view name, const std::filesystem::path& module,
                                 const DeployOptions& options) {
  std::ifstream file(module, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();  // an iterator would let errors out as std::ios_base::failure
  if (!file.is_open() || content.bad() || std::filesystem::is_directory(module))
    throw Error({.kind = ErrorKind::bad_configuration,
                 .message = "cannot read " + module.string() + ": " + std::strerror(errno),
                 .hint = "make a module with 'orchid build'"});
  const std::string bytes = std::move(content).str();
  return deploy(name, as_bytes(bytes), options);
}

std::vector<FunctionInfo> Client::functions() {
  return sdk::parse_functions(session_->get("/v1/functions").text());
}

FunctionInfo Client::describe(std::string_view name) {
  return sdk::parse_function(session_->get(sdk::function_path(name)).text());
}

void Client::load_ahead(std::string_view name, const InvokeOptions& calls) {
  sdk::HttpRequest request{.method = "POST", .target = sdk::function_path(name) + "/load"};
  sdk::add_place(request, calls);
  (void)session_->request(request);
}

void Client::remove(std::string_view name) {
  (void)session_->request({.method = "DELETE", .target = sdk::function_path(name)});
}

Reply Client::invoke(std::string_view function, std::span<const std::byte> input,
                     const InvokeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  sdk::HttpRequest request = sdk::invocation_request(function, input, options);
  if (options.watch) request.headers.emplace_back("Prefer: wait=1");
  sdk::HttpResponse response = session_->request(request);
  const sdk::ExchangeTimes seen = response.times;
  Reply reply;
  if (response.status == 202) {  // it outlived the gateway's patience and goes on
    const milliseconds longest =
        options.deadline.count() > 0
            ? std::chrono::ceil<milliseconds>(options.deadline) + answer_grace
            : milliseconds(std::chrono::hours(24));
    const Invocation outlived = invocation(sdk::parse_accepted(response));
    if (options.watch) watch_to_end(outlived, longest, options.watch);
    reply = outlived.output(longest);
  } else {
    std::string id(response.header("orchid-invocation"));
    reply = sdk::make_reply(std::move(response), std::move(id));
  }
  reply.timing = sdk::whole_timing(reply.timing, seen, std::chrono::steady_clock::now() - start);
  return reply;
}

Reply Client::invoke(std::string_view function, std::string_view input,
                     const InvokeOptions& options) {
  return invoke(function, as_bytes(input), options);
}

Invocation Client::submit(std::string_view function, std::span<const std::byte> input,
                          const InvokeOptions& options) {
  InvokeOptions keyed = options;
  // A lost answer must not start the call twice when the request is sent again.
  if (keyed.idempotency_key.empty()) keyed.idempotency_key = random_key();
  sdk::HttpRequest request = sdk::invocation_request(function, input, keyed);
  request.headers.emplace_back("Prefer: respond-async");
  request.timeout = sdk::Session::default_timeout;
  return invocation(sdk::parse_accepted(session_->request(request)));
}

Invocation Client::invocation(std::string id) const { return Invocation(session_, std::move(id)); }

std::vector<InvocationStatus> Client::invocations() {
  return sdk::parse_invocations(session_->get("/v1/invocations").text());
}

void Client::release_lease(std::string_view id) {
  (void)session_->request({.method = "DELETE", .target = "/v1/leases/" + percent_encode(id)});
}

std::string Client::make_page_link(std::string_view address) {
  const sdk::HttpResponse made = session_->request({.method = "POST", .target = "/v1/page/links"});
  const JsonDocument document(made.text(), {.subject = "the gateway's answer"});
  const std::string path = document.root().text("path");
  const std::vector<std::string> addresses = document.root().texts("addresses");
  if (const auto read = document.finish(); !read) throw Error({.message = read.error().message});
  const sdk::Endpoint& endpoint = session_->endpoint();
  std::string link(address);
  if (link.empty() && endpoint.socket.empty() && endpoint.door.empty()) link = endpoint.base_url;
  if (link.empty() && !addresses.empty()) link = addresses.front();
  if (link.empty())
    throw Error({.kind = ErrorKind::not_found,
                 .message = "the gateway listens at no address that a browser could reach"});
  while (link.ends_with('/')) link.pop_back();
  return link + path;
}

std::string Client::get(std::string_view path) {
  return std::string(session_->get(std::string(path)).text());
}

std::string Client::address() const { return session_->endpoint().describe(); }

std::string Client::checked_reference(std::string_view name, std::string_view wanted) {
  const sdk::Reference reference = sdk::split_reference(name);
  const FunctionInfo info = describe(reference.function);
  const EntryInfo& entry = sdk::find_entry(info, reference);
  sdk::check_signature(info, entry, wanted);
  const std::string base =
      reference.function.substr(0, reference.function.size() - reference.version.size());
  return base + "." + entry.name + reference.version;
}

void sdk::throw_output_mismatch(const Reply& reply, const std::string& function,
                                const std::string& problem) {
  throw Error({.kind = ErrorKind::signature_mismatch,
               .message = "the output is not of the type that the signature states: " + problem,
               .hint = "the entry may write its output by hand; call it with Client::invoke",
               .function = function,
               .invocation = reply.invocation});
}

}  // namespace orchid
