// Modules with images for several processors and for GPUs, through the whole system: what is in
// them is shown, calls go to hosts that can run them, and where there is none that is said at once.
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "clear_error.h"
#include "foundation/files.h"
#include "local_executor.h"
#include "system_fixture.h"

namespace orchid::tests {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view fat_source = R"(#include <orchid/kernel.h>
struct ScaleArgs { double a; double* y; };
ORCHID_KERNEL(scale, struct ScaleArgs) { args.y[item] *= args.a; }
#if ORCHID_HOST
ORCHID_ENTRY(scale) {
  double* y = orchid_output(call, input_size);
  if (y == 0) return ORCHID_ERROR;
  for (size_t i = 0; i < input_size / sizeof *y; ++i) y[i] = ((const double*)input)[i];
  const struct ScaleArgs args = {0.5, y};
  orchid_kernel_scale(&args, 0, input_size / sizeof *y);
  return ORCHID_OK;
}
#endif
)";

constexpr std::string_view cuda_source = R"(
struct HalveArgs { double* y; };
extern "C" __global__ void orchid_kernel_halve(HalveArgs args, unsigned long begin, unsigned long end) {
  for (unsigned long i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)
    args.y[i] *= 0.5;
}
)";

constexpr std::string_view cuda_entry = R"(#include <orchid/kernel.h>
struct HalveArgs { double* y; };
ORCHID_DECLARE_KERNEL(halve, struct HalveArgs)
ORCHID_ENTRY(halve) { return halve.run == NULL ? ORCHID_OK : ORCHID_ERROR; }
)";

/// An Orchid whose host says that it is a DPU.
class ProgramsOfDpu {
 public:
  ProgramsOfDpu() {
    for (const char* name :
         {"orchid", "orchid-gateway", "orchid-dispatch", "orchid-door", "orchid-compiler"})
      fs::copy_file(fs::path(PROGRAMS) / name, folder() / name);
    std::ofstream(folder() / "orchid-executor")
        << "#!/bin/sh\nexec " PROGRAMS "/orchid-executor \"$@\" --kind dpu\n";
    fs::permissions(folder() / "orchid-executor", fs::perms(0755));
  }
  [[nodiscard]] const fs::path& folder() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

struct DpuFixture : private ProgramsOfDpu, public SystemFixture {
  DpuFixture() : SystemFixture(LocalOrchid::Options{.programs = folder()}) {}
};

std::string write(const TemporaryDirectory& directory, const char* name, std::string_view text) {
  const fs::path file = directory.path() / name;
  std::ofstream(file) << text;
  return file;
}

/// What `orchid build` calls this machine's processor, and another one.
std::string here() { return OTHER_ARCHITECTURE == std::string("aarch64") ? "x86-64" : "aarch64"; }
std::string elsewhere() {
  return OTHER_ARCHITECTURE == std::string("aarch64") ? "aarch64" : "x86-64";
}

bool can_compile_for_both() {
  return fs::exists("/usr/aarch64-linux-gnu/include/math.h") || here() == "aarch64";
}

}  // namespace

TEST_CASE_FIXTURE(SystemFixture, "one module has images for both processors and for GPUs") {
  if (!can_compile_for_both()) {
    MESSAGE("not tested: the headers of g++-aarch64-linux-gnu are missing");
    return;
  }
  const TemporaryDirectory directory;
  const std::string source = write(directory, "scale.c", fat_source);
  const std::string module = directory.path() / "scale.orc";
  const auto built = orchid({"build", source, "--target", here(), "--target", elsewhere(),
                             "--target", "nvptx64", "-o", module});
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const auto inspected = orchid({"inspect", module});
  REQUIRE_MESSAGE(inspected.status == 0, inspected.err);
  const auto deployed = orchid({"deploy", module, "--name", "scale"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  const auto described = orchid({"describe", "scale"});
  REQUIRE_MESSAGE(described.status == 0, described.err);
  for (const std::string& shown : {inspected.out, described.out})
    for (const char* part : {"x86_64", "aarch64", "nvptx64", "bitcode", "scale"})
      CHECK_MESSAGE(contains(shown, part), shown);
  CHECK(contains(inspected.out, "kernel  scale  16 bytes of arguments"));
  CHECK(contains(described.out, "scale  16 bytes of arguments"));
  const std::array<double, 2> input{4, 7};
  const auto called =
      orchid({"invoke", "scale"}, std::string(as_text(std::as_bytes(std::span(input)))));
  REQUIRE_MESSAGE(called.status == 0, called.err);
  REQUIRE(called.out.size() == sizeof input);
  std::array<double, 2> output{};
  std::memcpy(output.data(), called.out.data(), sizeof output);
  CHECK(output[0] == 2);
  CHECK(output[1] == 3.5);
}

TEST_CASE_FIXTURE(
    SystemFixture,
    "a function for another processor is deployed; its calls end at once and say why") {
  deploy("counts_calls");
  const auto deployed = orchid({"deploy", OTHER_TARGET, "--name", "elsewhere"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  const std::string why = "no image for " + here() + "; the module has " + elsewhere();
  const Http call = http("POST", "/v1/functions/elsewhere/invocations");
  CHECK(call.status == 503);
  CHECK(contains(call.headers, "Orchid-Outcome: no_capacity"));
  CHECK_MESSAGE(contains(call.body, why), call.body);
  const auto called = orchid({"invoke", "elsewhere", "--deadline", "10m"});
  CHECK(called.status == 3);
  CHECK_MESSAGE(contains(called.err, why), called.err);
  const std::string id = Json::parse(call.body).at("invocation");
  const auto explained = orchid({"explain", id});
  CHECK_MESSAGE(contains(explained.out, why), explained.out);

  Client client = this->client();
  const auto lease_for = [&](std::vector<std::string> functions) {
    return error_of(
        [&] { (void)client.lease({.constraints = {.functions = std::move(functions)}}); });
  };
  const Error refused = lease_for({"elsewhere"});
  check_clear(refused, ErrorKind::no_capacity);
  CHECK_MESSAGE(contains(refused.message(), why), refused.message());
  const Error impossible = lease_for({"counts_calls", "elsewhere"});
  check_clear(impossible, ErrorKind::bad_request);
  CHECK(contains(impossible.message(), "no image for one architecture"));
  CHECK(client.lease({.constraints = {.functions = {"counts_calls"}}}).workers() == 1);
  check_next_call();
}

TEST_CASE_FIXTURE(SystemFixture, "a call that is wanted on another kind of host ends at once") {
  deploy("counts_calls");
  CHECK(orchid({"invoke", "counts_calls", "--on", "cpu"}).status == 0);
  const auto refused = orchid({"invoke", "counts_calls", "--on", "dpu", "--deadline", "10m"});
  CHECK(refused.status == 3);
  CHECK_MESSAGE(contains(refused.err, "no host of the kind dpu is connected, only cpu"),
                refused.err);
  CHECK(orchid({"invoke", "counts_calls", "--on", "moon"}).status == 2);
  CHECK(http("POST", "/v1/functions/counts_calls/invocations", "", {"-H", "Orchid-Host-Kind: moon"})
            .status == 400);
  check_next_call();
}

TEST_CASE_FIXTURE(DpuFixture,
                  "an executor says that its host is a DPU, and gets the calls for one") {
  deploy("counts_calls");
  CHECK(orchid({"invoke", "counts_calls", "--on", "dpu"}).status == 0);
  const auto refused = orchid({"invoke", "counts_calls", "--on", "cpu", "--deadline", "10m"});
  CHECK(refused.status == 3);
  CHECK_MESSAGE(contains(refused.err, "no host of the kind cpu is connected, only dpu"),
                refused.err);
  const auto async = orchid({"invoke", "counts_calls", "--on", "dpu", "--async"});
  REQUIRE(async.status == 0);
  const std::string id = async.out.substr(0, async.out.find('\n'));
  CHECK(orchid({"wait", id}).status == 0);
  CHECK(Json::parse(http("GET", "/v1/invocations/" + id).body).at("host_kind") == "dpu");
  CHECK(orchid({"invoke", "counts_calls"}).status == 0);
}

TEST_CASE_FIXTURE(SystemFixture, "CUDA kernels become an image of PTX, which needs a GPU") {
  if (!fs::exists("/usr/local/cuda/bin/nvcc")) {
    MESSAGE("not tested: nvcc is not installed");
    return;
  }
  const TemporaryDirectory directory;
  const std::string entry = write(directory, "halve.c", cuda_entry);
  const std::string kernels = write(directory, "kernels.cu", cuda_source);
  const std::string module = directory.path() / "halve.orc";
  const auto built = orchid({"build", entry, kernels, "-o", module});
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const auto inspected = orchid({"inspect", module});
  CHECK_MESSAGE(contains(inspected.out, "ptx"), inspected.out);
  CHECK_MESSAGE(
      contains(inspected.out,
               "kernel  halve  8 bytes of arguments, for GPUs only: no image for cores has it"),
      inspected.out);
  CHECK(contains(orchid({"inspect", module, "--ptx", "sm_75"}).out, ".entry orchid_kernel_halve("));
  const auto deployed = orchid({"deploy", module, "--name", "halve"});
  REQUIRE_MESSAGE(deployed.status == 0, deployed.err);
  const auto called = orchid({"invoke", "halve", "--deadline", "10m"});
  CHECK(called.status == 3);
  CHECK_MESSAGE(contains(called.err,
                         "the module has kernels for GPUs only: it needs a GPU, and no "
                         "connected host offers one"),
                called.err);
  const auto alone = orchid({"build", kernels});
  CHECK(alone.status == 2);
  CHECK(contains(alone.err, "ORCHID_DECLARE_KERNEL"));
}

}  // namespace orchid::tests
