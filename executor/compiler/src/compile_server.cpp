#include "compile_server.h"

#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "confined.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "jit/code_generator.h"
#include "jit/ptx_generator.h"
#include "protocol/compiler_messages.h"
#include "protocol/limits.h"
#include "waiting.h"

namespace orchid::executor {
namespace {

/// What a fatal error inside LLVM is answered with.
struct RunningRequest {
  int socket = -1;
  std::uint64_t id = 0;
  std::string out_of_memory;  // encoded beforehand: nothing can be allocated then
};

void fail_the_compilation(void* context, const char* reason, bool out_of_memory) {
  const auto& request = *static_cast<const RunningRequest*>(context);
  if (out_of_memory) {
    static_cast<void>(send_packet(request.socket, request.out_of_memory));
    return;
  }
  static_cast<void>(send_packet(
      request.socket,
      encode(CompileFailed{.id = request.id,
                           .code = ErrorCode::module_rejected,
                           .message = std::string("the module cannot be compiled: ") + reason})));
}

class CompileServer {
 public:
  CompileServer(int socket, CodeGenerator& generator) : generator_(generator) {
    running_.socket = socket;
  }

  int run() {
    report_fatal_errors_to(fail_the_compilation, &running_);
    if (!send_packet(running_.socket, encode(generator_.description()))) return 0;
    while (true) {
      static_cast<void>(wait_readable(running_.socket));
      auto packet = receive_packet(running_.socket, false);
      if (!packet && packet.error().code == ErrorCode::unreachable)
        return 0;  // the requester has gone
      if (!packet) {
        log::error("event=bad_request message=\"{}\"", packet.error().message);
        return 1;
      }
      if (packet->has_value() && !answer(**packet)) return 0;
    }
  }

 private:
  /// False when the requester has gone.
  bool answer(const Packet& packet) {
    const auto message = parse_compiler_message(packet.text);
    const auto* request = message ? std::get_if<CompileRequest>(&*message) : nullptr;
    if (request == nullptr || packet.descriptors.size() != 1) {
      const std::string why =
          message ? "expected one 'compile' with one descriptor" : message.error().message;
      return send_failure(0, {ErrorCode::bad_request, why});
    }
    running_.id = request->id;
    running_.out_of_memory = encode(CompileFailed{
        .id = request->id,
        .code = ErrorCode::compile_limit,
        .message =
            "compiling the module takes more than " + to_string(compile_memory) +
            " of memory; build it with optimisation (-O2), or split it into smaller modules"});
    const auto start = std::chrono::steady_clock::now();
    auto tier = request->tier;
    const auto code = request->gpu.empty()
                          ? compile(packet.descriptors[0].get(), request->constants, tier)
                          : compile_for_gpu(packet.descriptors[0].get(), request->gpu, tier);
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    if (!code) return send_failure(request->id, code.error());
    return send_packet(running_.socket,
                       encode(CompiledCode{.id = request->id, .tier = tier, .compile_us = took}),
                       {code->get()})
        .has_value();
  }

  /// `tier`: what is wanted, then what was made.
  Result<UniqueFd> compile(int module, std::string_view constants, CompileTier& tier) {
    const auto mapped = MappedFile::map(module, {.limit = limits::module_size});
    if (!mapped) return fail(Failure(mapped.error()).while_doing("reading the module"));
    const auto code = generator_.compile(
        mapped->bytes(), {.tier = tier, .constants = constants},
        [this](const CodeGenerator::Figures& figures) {
          static_cast<void>(send_packet(
              running_.socket, encode(CompileStarted{.id = running_.id,
                                                     .functions = figures.functions,
                                                     .branches = figures.branches,
                                                     .most_branches = figures.most_branches})));
        });
    if (!code) return fail(code.error());
    tier = code->tier;
    if (code->bytes.size() > limits::code_size.value)
      return fail(ErrorCode::compile_limit,
                  "the module's code and data are " + to_string(ByteCount{code->bytes.size()}) +
                      " when compiled; at most " + to_string(limits::code_size) + " are allowed");
    return make_sealed_memory("orchid-code", code->bytes);
  }

  static Result<UniqueFd> compile_for_gpu(int module, std::string_view gpu, CompileTier& tier) {
    const auto mapped = MappedFile::map(module, {.limit = limits::module_size});
    if (!mapped) return fail(Failure(mapped.error()).while_doing("reading the module"));
    const auto text = generate_ptx(mapped->bytes(), gpu);
    if (!text) return fail(text.error());
    tier = CompileTier::o3;
    if (text->size() > limits::code_size.value)
      return fail(ErrorCode::compile_limit,
                  "the module's kernels are " + to_string(ByteCount{text->size()}) +
                      " as PTX; at most " + to_string(limits::code_size) + " are allowed");
    return make_sealed_memory("orchid-ptx", as_bytes(*text));
  }

  bool send_failure(std::uint64_t id, const Failure& failure) {
    return send_packet(
               running_.socket,
               encode(CompileFailed{.id = id, .code = failure.code, .message = failure.message}))
        .has_value();
  }

  CodeGenerator& generator_;
  RunningRequest running_;
};

}  // namespace

int run_compile_server(int socket, int parent_pid) {
  const auto generator = CodeGenerator::create();
  if (!generator) {
    log::error("event=no_compiler message=\"{}\"", generator.error().message);
    return 1;
  }
  (*generator)->warm_up();
  start_ptx_back_end();
  if (auto confined = enter_compiler_sandbox(socket, parent_pid, compile_memory); !confined) {
    log::error("event=not_confined message=\"{}\"", confined.error().message);
    return 1;
  }
  return CompileServer(socket, **generator).run();
}

}  // namespace orchid::executor
