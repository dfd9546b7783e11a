// Modules through a real, confined `orchid-compiler --serve`.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "compiler_process.h"
#include "foundation/files.h"
#include "module/container.h"
#include "processors.h"

using namespace orchid;
using namespace orchid::test;

namespace {

/// Compiled code in a file, for LLVM's tools.
class ObjectFile {
 public:
  explicit ObjectFile(std::span<const std::byte> code) {
    directory_ = std::filesystem::temp_directory_path() / "orchid-object-XXXXXX";
    REQUIRE(::mkdtemp(directory_.data()) != nullptr);
    REQUIRE(write_file_atomically(path(), code).has_value());
  }
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;
  ~ObjectFile() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return directory_ + "/module.o"; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string disassemble() const {
    return run_command(std::string(OBJDUMP) + " -d " + path()).output;
  }
  [[nodiscard]] std::string sections() const {
    return run_command(std::string(OBJDUMP) + " -h " + path()).output;
  }
  [[nodiscard]] std::string relocations() const {
    return run_command(std::string(OBJDUMP) + " -r " + path()).output;
  }
  [[nodiscard]] std::string symbols() const {
    return run_command(std::string(NM) + " " + path()).output;
  }

 private:
  std::string directory_;
};

class CompileServer : public CompilerProcess {
 public:
  CompileServer() : CompilerProcess("--serve") {
    const auto first = receive();
    REQUIRE(std::holds_alternative<CompilerReady>(first.message));
    ready = std::get<CompilerReady>(first.message);
  }

  Bytes compile(const std::string& name, CompileTier tier = CompileTier::o3,
                std::string constants = {}) {
    auto reply =
        ask(CompileRequest{.id = ++last_id_, .tier = tier, .constants = std::move(constants)},
            read_data(name));
    if (const auto* failed = std::get_if<CompileFailed>(&reply.message)) FAIL(failed->message);
    const auto& compiled = std::get<CompiledCode>(reply.message);
    CHECK(compiled.id == last_id_);
    CHECK(compiled.compile_us.count() > 0);
    made = compiled.tier;
    return std::move(reply.code);
  }

  CompileFailed failure(std::span<const std::byte> module, CompileTier tier = CompileTier::o3,
                        std::string constants = {}) {
    const auto reply = ask(
        CompileRequest{.id = ++last_id_, .tier = tier, .constants = std::move(constants)}, module);
    REQUIRE(std::holds_alternative<CompileFailed>(reply.message));
    return std::get<CompileFailed>(reply.message);
  }

  [[nodiscard]] bool host_has(const std::string& feature) const {
    return (ready.features + ",").find("+" + feature + ",") != std::string::npos;
  }

  CompilerReady ready;
  CompileTier made = CompileTier::o3;  // by the last `compile`

 private:
  std::uint64_t last_id_ = 0;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("a compiler says for which host it compiles") {
  CompileServer server;
  CHECK(contains(server.ready.triple, "linux"));
  CHECK_FALSE(server.ready.cpu.empty());
  CHECK(server.ready.llvm.starts_with("19."));
  CHECK(contains(server.ready.pipeline, "orchid-"));
  std::istringstream features(server.ready.features);
  std::string before;
  for (std::string feature; std::getline(features, feature, ',');) {
    REQUIRE((feature.starts_with("+") || feature.starts_with("-")));
    CHECK(before < feature.substr(1));
    before = feature.substr(1);
  }
}

TEST_CASE("a compiler of an executor makes PTX too, and says when a module has no kernels") {
  CompileServer server;
  const Bytes for_gpus = read_data("kernels_gpu.bc");
  const std::vector<module::Image> images{
      {.triple = "nvptx64-nvidia-cuda", .arch = "", .bytes = for_gpus}};
  const Bytes with_kernels = *module::write_container(images);
  auto reply = server.ask(CompileRequest{.id = 1, .gpu = "sm_80"}, with_kernels);
  REQUIRE(std::holds_alternative<CompiledCode>(reply.message));
  CHECK(contains(std::string(as_text(reply.code)), ".entry orchid_kernel_scale("));
  reply = server.ask(CompileRequest{.id = 4, .gpu = "sm_120"}, with_kernels);  // newer than we know
  REQUIRE(std::holds_alternative<CompiledCode>(reply.message));
  CHECK(contains(std::string(as_text(reply.code)), ".target sm_90"));
  reply = server.ask(CompileRequest{.id = 2, .gpu = "sm_80"}, read_data("saxpy_built.bc"));
  REQUIRE(std::holds_alternative<CompileFailed>(reply.message));
  CHECK(std::get<CompileFailed>(reply.message).code == ErrorCode::not_found);
  reply = server.ask(CompileRequest{.id = 3, .gpu = "gfx90a"}, with_kernels);
  REQUIRE(std::holds_alternative<CompileFailed>(reply.message));
  CHECK(std::get<CompileFailed>(reply.message).code == ErrorCode::bad_request);
  CHECK_FALSE(server.compile("saxpy_built.bc").empty());  // code for this host follows
}

TEST_CASE(
    "PTX of a module is chosen for the executor's GPU, also for one that LLVM does not know") {
  CompileServer server;
  const auto ptx_for = [&](const std::string& arch, const std::string& gpu) {
    const std::string text = ".version 7.0 // for " + arch;
    const auto bytes = std::as_bytes(std::span(text));
    const Bytes ptx(bytes.begin(), bytes.end());
    const std::vector<module::Image> images{{.triple = "nvptx64-nvidia-cuda",
                                             .arch = arch,
                                             .kind = module::ImageKind::ptx,
                                             .bytes = ptx}};
    const auto reply =
        server.ask(CompileRequest{.id = 1, .gpu = gpu}, *module::write_container(images));
    if (const auto* failed = std::get_if<CompileFailed>(&reply.message)) return failed->message;
    return std::string(as_text(reply.code));
  };
  CHECK(ptx_for("sm_100", "sm_120") == ".version 7.0 // for sm_100");
  CHECK(ptx_for("sm_100a", "sm_100") == ".version 7.0 // for sm_100a");
  CHECK(ptx_for("sm_90a", "sm_90") == ".version 7.0 // for sm_90a");
  CHECK(contains(ptx_for("sm_90a", "sm_100"), "this GPU is sm_100"));
  CHECK(contains(ptx_for("sm_120", "sm_100"), "this GPU is sm_100"));
}

TEST_CASE("a compiler says what it has read before it compiles it") {
  CompileServer server;
  server.send(CompileRequest{.id = 7, .tier = CompileTier::quick}, read_data("saxpy_built.bc"));
  const auto first = server.receive_any();
  REQUIRE(std::holds_alternative<CompileStarted>(first.message));
  const auto& started = std::get<CompileStarted>(first.message);
  CHECK(started.id == 7);
  CHECK(started.functions >= 1);
  CHECK(started.most_branches >= 1);  // its loop
  CHECK(started.branches >= started.most_branches);
  CHECK(std::holds_alternative<CompiledCode>(server.receive_any().message));
}

TEST_CASE("a loop for the generic processor gets the host's vector registers") {
  CompileServer server;
  const std::string source =
      run_command(std::string(DISASSEMBLER) + " " TEST_DATA "/saxpy_scalar.bc -o -").output;
  REQUIRE(contains(source, "\"target-cpu\"=\"" + own.generic + "\""));
  if (!server.host_has(own.vector_feature)) {
    MESSAGE("skipped: this host has no " << own.vector_feature);
    return;
  }
  for (const char* module : {"saxpy_scalar.bc", "saxpy_built.bc"}) {
    const ObjectFile object(server.compile(module));
    const std::string code = object.disassemble();
    CHECK(count(code, own.vector_register) + count(code, "%zmm") >= 4);
  }
}

TEST_CASE("code that was vectorised for the generic processor still gets the host's instructions") {
  CompileServer server;
  if (!server.host_has(own.fused_feature)) {
    MESSAGE("skipped: this host has no " << own.fused_feature);
    return;
  }
  const ObjectFile object(server.compile("saxpy.bc"));
  CHECK(contains(object.disassemble(), own.fused_vector));
}

TEST_CASE("only a module that keeps nothing between calls gets quick code") {
  CompileServer server;
  for (const char* stateless : {"saxpy.bc", "saxpy_built.bc", "big_frame.bc", "constants.bc"}) {
    CAPTURE(stateless);
    (void)server.compile(stateless, CompileTier::quick);
    CHECK(server.made == CompileTier::quick);
    (void)server.compile(stateless, CompileTier::o3);
    CHECK(server.made == CompileTier::o3);
  }
  for (const char* stateful :
       {"thread_local.bc", "throws.bc", "host_data.bc", "keeps_pointer.bc"}) {
    CAPTURE(stateful);
    const Bytes quick = server.compile(stateful, CompileTier::quick);
    CHECK(server.made == CompileTier::o3);
    CHECK(quick == server.compile(stateful, CompileTier::o3));
  }
}

TEST_CASE("a module's constants are what they are set to, and code knows them") {
  CompileServer server;
  for (const CompileTier tier : {CompileTier::o3, CompileTier::quick}) {
    const ObjectFile as_it_is(server.compile("named_constants.bc", tier));
    CHECK(contains(as_it_is.disassemble(), "0x1234"));
    const ObjectFile set(server.compile("named_constants.bc", tier, "status=61050000\n"));
    CHECK(contains(set.disassemble(), "0x561"));
    CHECK_FALSE(contains(set.disassemble(), "0x1234"));
    if (tier == CompileTier::o3) CHECK_FALSE(contains(set.symbols(), "orchid_constant"));
  }
  const auto module = read_data("named_constants.bc");
  struct Wrong {
    const char* constants;
    const char* words;
  };
  for (const Wrong& wrong : {Wrong{"nonesuch=00\n", "no constant 'nonesuch'"},
                             Wrong{"status=00\n", "has 4 bytes, and is to be set to 1"},
                             Wrong{"weights=0000000000000000\n", "has 16 bytes"}}) {
    CAPTURE(wrong.words);
    const auto failed = server.failure(module, CompileTier::o3, wrong.constants);
    CHECK(failed.code == ErrorCode::module_rejected);
    CHECK(contains(failed.message, wrong.words));
  }
  CHECK(server.failure(module, CompileTier::o3, "rubbish").code == ErrorCode::bad_request);
  CHECK(server
            .compile("named_constants.bc", CompileTier::o3,
                     "weights=000000000000f03f0000000000000040\n")
            .size() > 0);
}

TEST_CASE("both tiers fuse the same multiplications and additions, so that results are equal") {
  CompileServer server;
  if (!server.host_has(own.fused_feature)) {
    MESSAGE("skipped: this host has no " << own.fused_feature);
    return;
  }
  for (const CompileTier tier : {CompileTier::o3, CompileTier::quick}) {
    const std::string code = ObjectFile(server.compile("saxpy_built.bc", tier)).disassemble();
    CHECK(contains(code, own.fused));
    CHECK_FALSE(contains(code, own.multiplied));
  }
}

TEST_CASE("a frame of many pages touches each of them") {
  CompileServer server;
  for (const CompileTier tier : {CompileTier::o3, CompileTier::quick}) {
    const ObjectFile object(server.compile("big_frame.bc", tier));
    CHECK(contains(object.disassemble(), own.page_probe));
  }
}

TEST_CASE("only entries are visible in compiled code, and nothing of the manifest is left") {
  CompileServer server;
  const std::string symbols = ObjectFile(server.compile("big_frame.bc")).symbols();
  CHECK(contains(symbols, " T orchid_entry_big_frame"));
  CHECK_FALSE(contains(symbols, " T helper"));
  CHECK_FALSE(contains(symbols, "orchid_abi_version"));
  CHECK_FALSE(contains(ObjectFile(server.compile("saxpy.bc")).symbols(), "orchid_signature"));
}

TEST_CASE("exceptions, unwinding and static initialisers are in compiled code") {
  CompileServer server;
  for (const CompileTier tier : {CompileTier::o3, CompileTier::quick}) {
    const ObjectFile object(server.compile("throws.bc", tier));
    const std::string sections = object.sections();
    CHECK(contains(sections, ".eh_frame"));
    CHECK(contains(sections, ".gcc_except_table"));
    CHECK(contains(sections, ".init_array"));
    CHECK(contains(object.symbols(), " T orchid_entry_throws"));
    CHECK(contains(object.symbols(), " T orchid_entry_catches"));
  }
}

TEST_CASE("the host's symbols may be anywhere in memory") {
  CompileServer server;
  for (const CompileTier tier : {CompileTier::o3, CompileTier::quick}) {
    const std::string relocations = ObjectFile(server.compile("host_data.bc", tier)).relocations();
    for (const std::string symbol : {"stdout", "__dso_handle", "fputs"}) {
      REQUIRE(contains(relocations, symbol));
      CHECK_FALSE(contains(relocations, own.near_relocation + symbol));
    }
  }
}

TEST_CASE("thread-local variables are emulated") {
  CompileServer server;
  CHECK(contains(ObjectFile(server.compile("thread_local.bc")).symbols(), "__emutls_get_address"));
}

TEST_CASE("the host's image of a container is compiled") {
  CompileServer server;
  CHECK(contains(ObjectFile(server.compile("fat.orc")).symbols(), " T orchid_entry_tiny"));
}

TEST_CASE("a wrong module is refused, and the next one compiles") {
  CompileServer server;
  CHECK(contains(server.failure(as_bytes("hello")).message, "not LLVM bitcode"));
  CHECK(contains(server.failure(read_data("tiny_" + other.architecture + ".bc")).message,
                 "no image for " + own.target + "; the module has " + other.target));
  CHECK(contains(server.failure(read_data("no_entry.bc")).message, "no entry"));
  const auto assembly = server.failure(read_data("bad_assembly.bc"));
  CHECK(assembly.code == ErrorCode::module_rejected);
  CHECK(contains(assembly.message, "no_such_instruction"));
  const auto newer = server.failure(read_shared_data("newer-llvm.bc"));
  CHECK(contains(newer.message, "made by LLVM 22."));
  CHECK(contains(newer.message, "up to LLVM 19."));
  CHECK_FALSE(server.compile("saxpy.bc").empty());
}

TEST_CASE("what ends LLVM ends the compiler, after it has said why") {
  CompileServer server;
  if (server.host_has(own.rare_feature)) {
    MESSAGE("skipped: this host has the instruction");
    return;
  }
  const auto failed = server.failure(read_data("foreign_instruction.bc"));
  CHECK(failed.code == ErrorCode::module_rejected);
  CHECK(contains(failed.message, "Cannot select"));
  CHECK(server.wait_for_end().has_value());
}

TEST_CASE("a request that is none gets an answer") {
  CompileServer server;
  server.send_raw("{\"type\":\"compile\"", {});
  CHECK(std::get<CompileFailed>(server.receive().message).code == ErrorCode::bad_request);
  server.send_raw(encode(CompileRequest{.id = 1}), {});
  CHECK(std::get<CompileFailed>(server.receive().message).code == ErrorCode::bad_request);
  // A file whose owner can still change it is not read.
  const UniqueFd open_file(::memfd_create("open", MFD_CLOEXEC));
  server.send_raw(encode(CompileRequest{.id = 2}), {open_file.get()});
  const auto failed = std::get<CompileFailed>(server.receive().message);
  CHECK(failed.id == 2);
  CHECK(failed.code == ErrorCode::bad_request);
  CHECK_FALSE(server.compile("saxpy.bc").empty());
}

TEST_CASE("a compiler is confined before it sees a module") {
  CompileServer server;
  std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
  const std::string text(std::istreambuf_iterator<char>(status), {});
  CHECK(contains(text, "NoNewPrivs:\t1"));
  CHECK(contains(text, "Seccomp:\t2"));
  CHECK(contains(text, "CapEff:\t0000000000000000"));
}

TEST_CASE("a compiler ends when its requester goes") {
  CompileServer server;
  server.close_socket();
  CHECK(server.wait_for_end() == 0);
}

#ifndef ORCHID_SANITIZED  // which keep freed memory
TEST_CASE("many compilations leave nothing behind") {
  CompileServer server;
  const auto resident_pages = [&] {
    std::ifstream file("/proc/" + std::to_string(server.pid()) + "/statm");
    long total = 0;
    long resident = 0;
    file >> total >> resident;
    return resident;
  };
  for (int i = 0; i < 20; ++i) server.compile("saxpy.bc");
  const long before = resident_pages();
  for (int i = 0; i < 60; ++i) server.compile("saxpy.bc");
  CHECK(resident_pages() - before < 2048);  // pages of 4 KiB
}
#endif

TEST_CASE("the loop over a kernel's items becomes vector code around a loop of the body") {
  CompileServer server;
  if (!server.host_has("avx2")) {
    MESSAGE("skipped: this host has no AVX2");
    return;
  }
  const ObjectFile object(server.compile("idw.bc"));
  const std::string code = object.disassemble();
  // A division of as many items as a register holds; without, each item divides for itself.
  const std::string divide = "vdivps";
  bool wide = false;
  for (std::size_t at = code.find(divide); at != std::string::npos;
       at = code.find(divide, at + 1)) {
    const std::string line = code.substr(at, code.find('\n', at) - at);
    wide = wide || contains(line, "%ymm") || contains(line, "%zmm");
  }
  CHECK_MESSAGE(wide, code);
}

namespace {

/// What the entry run_all of a module answers.
std::string run_all(CompileServer& server, const std::string& module, CompileTier tier) {
  const ObjectFile object(server.compile(module, tier));
  REQUIRE(server.made == tier);
  const auto result =
      run_command("cd " + object.directory() +
                  " && " CLANG " " TEST_DATA "/run_all.o module.o -lm -o program && ./program");
  REQUIRE(result.exit_status == 0);
  return result.output;
}

}  // namespace

TEST_CASE("kernels compute the same bits as vector code and as scalar code") {
  CompileServer server;
  const std::string scalar = run_all(server, "kernel_bodies.bc", CompileTier::quick);
  CHECK(count(scalar, "\n") > 20);
  CHECK(run_all(server, "kernel_bodies.bc", CompileTier::o3) == scalar);
}

TEST_CASE(
    "loops over arrays that overlap compute the same bits as vector code and as scalar code") {
  CompileServer server;
  const std::string scalar = run_all(server, "shared_memory.bc", CompileTier::quick);
  CHECK(count(scalar, "\n") == 32);
  CHECK(run_all(server, "shared_memory.bc", CompileTier::o3) == scalar);
}

TEST_CASE("in a program of its own a kernel computes the same bits, optimised or not") {
  const auto run = [](const std::string& flags) {
    const auto result = run_command("folder=$(mktemp -d) && trap 'rm -rf $folder' EXIT && " CLANG
                                    " -ffp-contract=off -I" FUNCTION_HEADERS " " +
                                    flags +
                                    " " MODULES "/kernel_bodies.c " MODULES
                                    "/run_all.c -lm -o $folder/program && $folder/program");
    REQUIRE_MESSAGE(result.exit_status == 0, result.output);
    return result.output;
  };
  const std::string plain = run("-O0");
  CHECK(count(plain, "\n") > 20);
  CHECK(run("-O3 -march=native") == plain);
}
