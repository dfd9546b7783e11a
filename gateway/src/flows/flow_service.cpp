#include "flows/flow_service.h"

#include <string>
#include <system_error>
#include <utility>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/numbers.h"

namespace orchid::gateway {

FlowService::FlowService(boost::asio::io_context& control, const Clock& clock, Options options,
                         TakeFlowConnection take)
    : control_(control), clock_(clock), options_(std::move(options)), take_(std::move(take)) {}

void FlowService::start(const std::function<bool(uid_t)>& is_tenant) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(options_.folder, error), end; !error && at != end;
       at.increment(error)) {
    const auto uid = parse_number<uid_t>(at->path().filename().native());
    if (!uid) continue;
    if (!is_tenant(*uid)) {
      log::info("event=flows_left tenant={} reason=\"no tenant any more\"", *uid);
      continue;
    }
    if (auto process = process_of({*uid, user_name(*uid)}); !process)
      log::error("event=flows_not_started tenant={} reason=\"{}\"", *uid, process.error().message);
  }
}

Result<FlowProcess*> FlowService::process_of(const Tenant& tenant) {
  std::unique_ptr<FlowProcess>& process = processes_[tenant.uid];
  if (process) return process.get();
  const std::filesystem::path folder = options_.folder / std::to_string(tenant.uid);
  for (const std::filesystem::path& one : {options_.folder, folder})
    if (auto made = make_private_directory(one); !made) {
      processes_.erase(tenant.uid);
      return fail(std::move(made.error()));
    }
  const FlowSettings& settings = options_.settings;
  std::vector<std::string> words{"--socket",  std::to_string(server_socket_number),
                                 "--folder",  folder.string(),
                                 "--flows",   std::to_string(settings.per_user),
                                 "--store",   std::to_string(settings.store.value),
                                 "--keep-ms", std::to_string(settings.keep.count())};
  for (const std::string& templates : settings.templates)
    words.insert(words.end(), {"--templates", templates});
  process = std::make_unique<FlowProcess>(control_, clock_,
                                          FlowProcess::Options{.program = settings.program,
                                                               .arguments = std::move(words),
                                                               .tenant = tenant,
                                                               .folder = options_.folder},
                                          take_);
  process->start();
  return process.get();
}

void FlowService::ask(const Tenant& tenant, FlowRequest request,
                      const std::vector<std::byte>& content, FlowReplied done) {
  if (stopped_)
    return done(fail(ErrorCode::unreachable, "the gateway is stopping: ask the next one"));
  auto process = process_of(tenant);
  if (!process) return done(fail(std::move(process.error())));
  (*process)->ask(std::move(request), content, std::move(done));
}

void FlowService::tick() {
  for (const auto& [uid, process] : processes_) process->tick();
}

void FlowService::stop() {
  stopped_ = true;
  for (const auto& [uid, process] : processes_) process->stop();
}

}  // namespace orchid::gateway
