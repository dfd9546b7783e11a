#include "inspect_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>

#include "confined.h"
#include "foundation/files.h"
#include "foundation/sockets.h"
#include "jit/code_generator.h"
#include "jit/ptx_generator.h"
#include "protocol/limits.h"
#include "waiting.h"

namespace orchid::executor {
namespace {

// What asks for PTX; the GPU's name follows.
constexpr std::string_view ptx_request = "ptx ";

// In the child.

struct Answering {
  int socket = -1;
  std::string out_of_memory;  // encoded beforehand: nothing can be allocated then
};

std::string encode_rejection(ErrorCode code, std::string message) {
  return encode(InspectRejected{.id = 0, .code = code, .message = std::move(message)});
}

void reject_the_module(void* context, const char* reason, bool out_of_memory) {
  const auto& answering = *static_cast<const Answering*>(context);
  const std::string text =
      out_of_memory ? std::string()
                    : encode_rejection(ErrorCode::module_rejected,
                                       std::string("the module cannot be read: ") + reason);
  static_cast<void>(send_packet(answering.socket, out_of_memory ? answering.out_of_memory : text));
}

std::string inspect(const ModuleInspector& inspector, int module) {
  const auto mapped = MappedFile::map(module, {.limit = limits::module_size});
  if (!mapped)
    return encode_rejection(mapped.error().code, "reading the module: " + mapped.error().message);
  auto manifest = inspector.inspect(mapped->bytes());
  if (!manifest) return encode_rejection(manifest.error().code, manifest.error().message);
  std::string text = encode(InspectedManifest{.id = 0, .manifest = to_json(*manifest)});
  if (text.size() <= max_packet_bytes) return text;
  return encode_rejection(ErrorCode::module_rejected,
                          "the module's lists of entries and symbols are longer than " +
                              to_string(ByteCount{max_packet_bytes}) +
                              "; split it into smaller modules");
}

/// PTX is as long as it is, so it travels as a sealed memory file.
void answer_ptx(int socket, std::string_view gpu, int module) {
  const auto mapped = MappedFile::map(module, {.limit = limits::module_size});
  if (!mapped) {
    static_cast<void>(send_packet(
        socket,
        encode_rejection(mapped.error().code, "reading the module: " + mapped.error().message)));
    return;
  }
  const auto text = generate_ptx(mapped->bytes(), gpu);
  if (!text) {
    static_cast<void>(
        send_packet(socket, encode_rejection(text.error().code, text.error().message)));
    return;
  }
  const auto memory = make_sealed_memory("orchid-ptx", std::as_bytes(std::span(*text)));
  static_cast<void>(
      memory ? send_packet(socket, encode(CompiledCode{}), {memory->get()})
             : send_packet(socket, encode_rejection(memory.error().code, memory.error().message)));
}

/// The whole life of the child; ends the process.
[[noreturn]] void run_child(int socket, pid_t parent, const ModuleInspector& inspector) {
  Answering answering{
      .socket = socket,
      .out_of_memory = encode_rejection(
          ErrorCode::module_rejected,
          "reading the module takes more than " + to_string(inspect_memory) + " of memory")};
  report_fatal_errors_to(reject_the_module, &answering);
  if (auto confined = enter_compiler_sandbox(socket, parent, inspect_memory); !confined) {
    static_cast<void>(
        send_packet(socket, encode_rejection(confined.error().code, confined.error().message)));
    ::_exit(1);
  }
  static_cast<void>(wait_readable(socket));
  const auto packet = receive_packet(socket, false);
  if (!packet || !packet->has_value() || (*packet)->descriptors.size() != 1) ::_exit(1);
  const int module = (*packet)->descriptors[0].get();
  const std::string_view request = (*packet)->text;
  if (request.starts_with(ptx_request))
    answer_ptx(socket, request.substr(ptx_request.size()), module);
  else
    static_cast<void>(send_packet(socket, inspect(inspector, module)));
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<InspectChild>> InspectChild::start(const ModuleInspector& inspector) {
  auto pair = make_packet_pair();
  if (!pair) return fail(std::move(pair.error()));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) run_child(pair->second.get(), parent, inspector);
  return std::unique_ptr<InspectChild>(new InspectChild(pid, std::move(pair->first)));
}

InspectChild::~InspectChild() { reap(); }

int InspectChild::reap() {
  if (pid_ == 0) return 0;
  // One that has ended keeps its status; one that only closed its socket is stopped.
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Result<void> InspectChild::hand_over(int module) {
  return send_packet(socket_.get(), "inspect", {module});
}

Result<void> InspectChild::ask_for_ptx(int module, std::string_view gpu) {
  asked_for_ptx_ = true;
  return send_packet(socket_.get(), std::string(ptx_request) + std::string(gpu), {module});
}

std::optional<CompilerMessage> InspectChild::read_answer(std::uint64_t id) {
  auto packet = receive_packet(socket_.get(), false);
  if (!packet || !packet->has_value()) return std::nullopt;
  // It has read untrusted input: nothing of it is believed but the shape, and the id is ours.
  auto message = parse_compiler_message((*packet)->text);
  if (!message) return std::nullopt;
  if (auto* manifest = std::get_if<InspectedManifest>(&*message)) {
    manifest->id = id;
    return std::move(*message);
  }
  if (auto* rejected = std::get_if<InspectRejected>(&*message)) {
    rejected->id = id;
    return std::move(*message);
  }
  if (auto* code = std::get_if<CompiledCode>(&*message);
      code != nullptr && asked_for_ptx_ && (*packet)->descriptors.size() == 1) {
    code->id = id;
    ptx_ = std::move((*packet)->descriptors[0]);
    return std::move(*message);
  }
  return std::nullopt;
}

CompilerMessage InspectChild::take_answer(std::uint64_t id) {
  if (auto answer = read_answer(id)) return std::move(*answer);
  const int signal = reap();
  if (signal == SIGKILL)
    return InspectRejected{.id = id,
                           .code = ErrorCode::no_capacity,
                           .message =
                               "the process that read the module was killed, perhaps because the "
                               "machine ran out of memory; try again"};
  const char* what = signal != 0 ? ::sigdescr_np(signal) : "it ended without an answer";
  return InspectRejected{.id = id,
                         .code = ErrorCode::module_rejected,
                         .message = std::string("the module makes the compiler crash (") +
                                    (what != nullptr ? what : "unknown signal") +
                                    "); it is damaged, or LLVM has a bug: build it with another "
                                    "compiler version or less optimisation"};
}

CompilerMessage InspectChild::timed_out(std::uint64_t id) {
  return InspectRejected{.id = id,
                         .code = ErrorCode::module_rejected,
                         .message = "reading the module took longer than " +
                                    std::to_string(inspect_time.count()) +
                                    " s; split it into smaller modules"};
}

}  // namespace orchid::executor
