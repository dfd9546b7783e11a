// Modules through a real `orchid-compiler --inspect-server`, whose children are confined.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <string>
#include <variant>

#include "compiler_process.h"
#include "foundation/files.h"
#include "module/container.h"
#include "module/manifest.h"
#include "processors.h"
#include "protocol/digest.h"

using namespace orchid;
using namespace orchid::test;

namespace {

bool contains_name(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The server's child that waits for the next request, once it is confined: from then on it dies
/// with the server.
pid_t waiting_child(const CompilerProcess& server) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    const pid_t child = server.children(1).front();
    std::ifstream file("/proc/" + std::to_string(child) + "/status");
    const std::string status(std::istreambuf_iterator<char>(file), {});
    if (contains_name(status, "Seccomp:\t2")) return child;
  }
  FAIL("the child is not confined");
  return 0;
}

/// Until nothing but its exit status is left of a child of the server.
void wait_until_dead(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(file >> number >> name >> state) || state == "Z") return;
  }
  FAIL("the process does not end");
}

class InspectServer : public CompilerProcess {
 public:
  InspectServer() : CompilerProcess("--inspect-server") {}

  module::Manifest manifest(std::span<const std::byte> bytes) {
    const auto reply = ask(InspectRequest{.id = ++last_id_}, bytes);
    if (const auto* rejected = std::get_if<InspectRejected>(&reply.message))
      FAIL(rejected->message);
    const auto& inspected = std::get<InspectedManifest>(reply.message);
    CHECK(inspected.id == last_id_);
    auto manifest = module::parse_manifest(inspected.manifest);
    REQUIRE(manifest.has_value());
    return *manifest;
  }

  std::string rejection(std::span<const std::byte> bytes) {
    const auto reply = ask(InspectRequest{.id = ++last_id_}, bytes);
    REQUIRE(std::holds_alternative<InspectRejected>(reply.message));
    const auto& rejected = std::get<InspectRejected>(reply.message);
    CHECK(rejected.id == last_id_);
    CHECK(rejected.code == ErrorCode::module_rejected);
    return rejected.message;
  }

 private:
  std::uint64_t last_id_ = 0;
};

}  // namespace

TEST_CASE("a manifest tells entries, signatures, targets and needs") {
  InspectServer server;
  const Bytes saxpy = read_data("saxpy.bc");
  const auto manifest = server.manifest(saxpy);
  CHECK(manifest.abi == 1);
  CHECK(manifest.digest == digest_of(saxpy));
  CHECK(manifest.size.value == saxpy.size());
  REQUIRE(manifest.entries.size() == 1);
  CHECK(manifest.entries[0].name == "saxpy");
  CHECK(manifest.entries[0].signature == "span<f32>(span<f32>)");
  REQUIRE(manifest.targets.size() == 1);
  CHECK(manifest.targets[0].kind == "bitcode");
  CHECK(manifest.undefined == std::vector<std::string>{"orchid_output"});
  CHECK(manifest.effects.empty());
}

TEST_CASE("a manifest tells effects: what a module declares, and host calls that have some") {
  InspectServer server;
  CHECK(server.manifest(read_data("effects.bc")).effects ==
        std::vector<std::string>{"mail", "orchid_leased_fetch_add", "prints"});
  CHECK(server.manifest(read_data("throws.bc")).effects.empty());
}

TEST_CASE("entries are sorted, and one without a signature has none") {
  InspectServer server;
  const auto manifest = server.manifest(read_data("throws.bc"));
  REQUIRE(manifest.entries.size() == 2);
  CHECK(manifest.entries[0].name == "catches");
  CHECK(manifest.entries[1].name == "throws");
  CHECK_FALSE(manifest.entries[1].signature.has_value());
}

TEST_CASE("all images of a container are listed, and the host's one is read") {
  InspectServer server;
  const auto manifest = server.manifest(read_data("fat.orc"));
  REQUIRE(manifest.targets.size() == 2);
  CHECK(manifest.targets[0].arch == "x86_64");
  CHECK(manifest.targets[1].arch == "aarch64");
  CHECK(manifest.entries[0].name == "tiny");
}

TEST_CASE("bitcode of a newer LLVM is refused, and both versions are named") {
  InspectServer server;
  const std::string message = server.rejection(read_shared_data("newer-llvm.bc"));
  CHECK(contains_name(message, "made by LLVM 22."));
  CHECK(contains_name(message, "reads up to LLVM 19."));
}

TEST_CASE("a module for another host's processor has a manifest like one for this host's") {
  InspectServer server;
  const auto manifest = server.manifest(read_data("tiny_aarch64.bc"));
  REQUIRE(manifest.targets.size() == 1);
  CHECK(manifest.targets[0].arch == "aarch64");
  REQUIRE(manifest.entries.size() == 1);
  CHECK(manifest.entries[0].name == "tiny");
}

TEST_CASE("a module without an image for any processor is refused with the targets that it has") {
  InspectServer server;
  const Bytes machine_code(64, std::byte{0x90});
  const auto container =
      module::write_container(std::vector<module::Image>{{.triple = "x86_64-linux-gnu",
                                                          .arch = "",
                                                          .kind = module::ImageKind::object,
                                                          .bytes = machine_code}});
  CHECK(contains_name(
      server.rejection(*container),
      "no image for " + own.target + " or " + other.target + "; the module has x86-64 (object)"));
}

TEST_CASE("what an image for another processor needs is judged by the libraries there") {
  InspectServer server;
  const auto pack = [](const Bytes& x86, const Bytes& arm) {
    return *module::write_container(
        std::vector<module::Image>{{.triple = "x86_64-linux-gnu", .arch = "", .bytes = x86},
                                   {.triple = "aarch64-linux-gnu", .arch = "", .bytes = arm}});
  };
  // __mulxc3 is in x86-64's libgcc alone.
  CHECK(server.manifest(read_data("x87_x86_64.bc")).undefined ==
        std::vector<std::string>{"__mulxc3", "strlen"});
  const std::string message =
      server.rejection(pack(read_data("x87_x86_64.bc"), read_data("x87_aarch64.bc")));
  const std::string image = own.architecture == "aarch64" ? "" : "the image for aarch64: ";
  CHECK_MESSAGE(contains_name(message, image + "these symbols are defined neither "
                                               "in the module nor by Orchid: __mulxc3"),
                message);
  CHECK_FALSE(contains_name(message, "strlen"));
  const std::string alone = server.rejection(read_data("x87_aarch64.bc"));
  CHECK(contains_name(alone, "nor by Orchid: __mulxc3"));
  const std::string atomics = server.rejection(read_data("outline_atomics.bc"));
  CHECK_MESSAGE(contains_name(atomics, "__aarch64_ldadd8_relax (atomic operations become"),
                atomics);
}

TEST_CASE("a container that lies about its images is refused") {
  InspectServer server;
  const Bytes x86 = read_data("tiny_x86_64.bc");
  const auto pack = [&](std::vector<std::string> triples) {
    std::vector<module::Image> images;
    for (const std::string& triple : triples)
      images.push_back({.triple = triple, .arch = "", .bytes = x86});
    return *module::write_container(images);
  };
  CHECK(contains_name(server.rejection(pack({"aarch64-linux-gnu", "x86_64-linux-gnu"})),
                      "its bitcode is for 'x86_64"));
  CHECK(contains_name(server.rejection(pack({"x86_64-linux-gnu", "x86_64-linux-gnu"})),
                      "two bitcode images for x86_64"));
  CHECK(contains_name(server.rejection(pack({"quantum-linux-gnu"})),
                      "the target 'quantum-linux-gnu' is unknown"));
}

TEST_CASE("another data layout is refused") {
  InspectServer server;
  CHECK(contains_name(server.rejection(read_data("tiny_windows.bc")), "another data layout"));
}

TEST_CASE("all symbols that nobody provides are in one message, with reasons") {
  InspectServer server;
  const std::string message = server.rejection(read_data("undefined.bc"));
  CHECK(contains_name(message, "fork (a function runs in one process)"));
  CHECK(contains_name(message, "system (a function cannot start programs)"));
  CHECK(contains_name(message, "lookup(std::__cxx11::basic_string"));
  CHECK(contains_name(message, "weights"));
  CHECK_FALSE(contains_name(message, "strtol"));
}

TEST_CASE("what no entry reaches may need what nobody provides") {
  InspectServer server;
  const auto manifest = server.manifest(read_data("unused_needs.bc"));
  CHECK(manifest.entries[0].name == "unused_needs");
  CHECK(manifest.undefined.empty());
}

TEST_CASE("a module as Numba writes it is one, with its runtime that nothing calls") {
  InspectServer server;
  const auto manifest = server.manifest(read_data("numba_cfunc.bc"));
  REQUIRE(manifest.entries.size() == 1);
  CHECK(manifest.entries[0].name == "mean");
  CHECK(manifest.undefined == std::vector<std::string>{"orchid_output"});
}

TEST_CASE("everything that is wrong is in one message") {
  InspectServer server;
  const std::string message = server.rejection(read_data("everything_wrong.bc"));
  CHECK(contains_name(message, "version 7 of the function ABI; this Orchid has version 1"));
  CHECK(contains_name(message, "entry 'short' must be int32_t orchid_entry_short("));
  CHECK(contains_name(message,
                      "entry 'typed': the signature 'f65(span<f32>)' is wrong at character 1"));
  CHECK(contains_name(message, "assembly outside of functions"));
  CHECK(contains_name(message, "'picked' is an indirect function"));
  CHECK(contains_name(server.rejection(read_data("no_entry.bc")), "has no entry"));
  CHECK(contains_name(server.rejection(read_data("thread_local.bc")),
                      "thread-local variables of the host's libraries"));
}

TEST_CASE("damaged input is refused with what is wrong with it") {
  InspectServer server;
  const Bytes saxpy = read_data("saxpy.bc");
  CHECK(server.rejection({}) == "the module is empty");
  CHECK(contains_name(server.rejection(as_bytes("#!/bin/sh")), "not LLVM bitcode"));
  CHECK(contains_name(server.rejection(std::span(saxpy).first(saxpy.size() / 2)),
                      "truncated at byte"));
  Bytes broken = saxpy;
  for (std::size_t i = 200; i < 260; ++i) broken[i] = std::byte{0xff};
  CHECK(contains_name(server.rejection(broken), "LLVM"));
}

TEST_CASE("whatever the bytes are, an answer comes and the server lives on") {
  InspectServer server;
  const Bytes whole = read_data("throws.bc");
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    Bytes mutant = whole;
    for (std::uint64_t i = 0, changes = 1 + random() % 6; i < changes; ++i) {
      // Flips in the heads of the module block and anywhere.
      const std::size_t range = random() % 3 == 0 ? 2000 : mutant.size();
      mutant[random() % range] ^= std::byte(1U << random() % 8);
    }
    if (random() % 10 == 0) mutant.resize(random() % mutant.size());
    const auto reply =
        server.ask(InspectRequest{.id = 1000U + static_cast<unsigned>(round)}, mutant);
    if (const auto* rejected = std::get_if<InspectRejected>(&reply.message)) {
      CHECK(rejected->id == 1000U + static_cast<unsigned>(round));
      CHECK_FALSE(rejected->message.empty());
    } else {
      CHECK(std::get<InspectedManifest>(reply.message).id == 1000U + static_cast<unsigned>(round));
    }
  }
  CHECK(server.manifest(whole).entries.size() == 2);
}

TEST_CASE("several requests at once are each answered under their id") {
  InspectServer server;
  const Bytes saxpy = read_data("saxpy.bc");
  for (std::uint64_t id = 1; id <= 20; ++id) server.send(InspectRequest{.id = id}, saxpy);
  std::uint64_t sum = 0;
  for (int i = 0; i < 20; ++i) sum += std::get<InspectedManifest>(server.receive().message).id;
  CHECK(sum == 210);
}

TEST_CASE("a waiting child that was killed is replaced") {
  InspectServer server;
  for (int i = 0; i < 3; ++i) {
    const pid_t waiting = waiting_child(server);
    ::kill(waiting, SIGKILL);
    wait_until_dead(waiting);
    CHECK(server.manifest(read_data("saxpy.bc")).entries.size() == 1);
  }
}

TEST_CASE("a module that crashes its reader is rejected, and the next one is read") {
  InspectServer server;
  const pid_t reader = waiting_child(server);
  ::kill(reader, SIGSTOP);
  server.send(InspectRequest{.id = 5}, read_data("saxpy.bc"));
  static_cast<void>(server.children(2));  // the request is in the stopped reader's hands
  ::kill(reader, SIGSEGV);
  ::kill(reader, SIGCONT);
  const auto rejected = std::get<InspectRejected>(server.receive().message);
  CHECK(rejected.id == 5);
  CHECK(rejected.code == ErrorCode::module_rejected);
  CHECK(contains_name(rejected.message, "makes the compiler crash"));
  CHECK(server.manifest(read_data("saxpy.bc")).entries.size() == 1);
}

TEST_CASE("a module that takes its reader too long is rejected after ten seconds") {
  InspectServer server;
  const pid_t reader = waiting_child(server);
  ::kill(reader, SIGSTOP);
  server.send(InspectRequest{.id = 6}, read_data("saxpy.bc"));
  // Others are not held up meanwhile.
  static_cast<void>(server.children(2));
  CHECK(server.manifest(read_data("saxpy.bc")).entries.size() == 1);
  const auto rejected = std::get<InspectRejected>(server.receive().message);
  CHECK(rejected.id == 6);
  CHECK(contains_name(rejected.message, "longer than 10 s"));
}

TEST_CASE("an inspect server ends when its requester goes, and its children with it") {
  InspectServer server;
  const pid_t child = waiting_child(server);
  server.close_socket();
  CHECK(server.wait_for_end() == 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::kill(child, 0) == 0 && std::chrono::steady_clock::now() < end) {
  }
  CHECK(::kill(child, 0) != 0);
}

TEST_CASE("the command line prints a manifest, or the reasons and status 1") {
  const std::string program = COMPILER;
  const auto good = run_command(program + " --inspect " TEST_DATA "/saxpy.bc 2>/dev/null");
  CHECK(good.exit_status == 0);
  CHECK(module::parse_manifest(good.output).has_value());
  const auto bad = run_command(program + " --inspect " TEST_DATA "/undefined.bc 2>&1 >/dev/null");
  CHECK(bad.exit_status == 1);
  CHECK(contains_name(bad.output, "fork (a function runs in one process)"));
  CHECK(run_command(program + " --inspect /nowhere 2>&1").exit_status == 1);
  CHECK(run_command(program + " --dance 2>&1").exit_status == 2);
}
