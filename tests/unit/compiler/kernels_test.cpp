// Modules with kernels through a real `orchid-compiler`: their lists, and their PTX.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compiler_process.h"
#include "foundation/files.h"
#include "module/container.h"
#include "module/manifest.h"
#include "processors.h"

using namespace orchid;
using namespace orchid::test;

namespace {

namespace fs = std::filesystem;

struct Part {
  std::string triple;
  Bytes bytes;
  module::ImageKind kind = module::ImageKind::bitcode;
};
const std::string& cores = own.triple;
constexpr const char* gpu = "nvptx64-nvidia-cuda";

Bytes pack(const std::vector<Part>& parts) {
  std::vector<module::Image> images;
  for (const Part& part : parts)
    images.push_back({.triple = part.triple, .arch = "", .kind = part.kind, .bytes = part.bytes});
  return *module::write_container(images);
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A file that is removed at the end of its life.
class ModuleFile {
 public:
  explicit ModuleFile(const Bytes& bytes)
      : path_(fs::temp_directory_path() / ("orchid-kernels-" + std::to_string(::getpid()))) {
    REQUIRE(write_file_atomically(path_, bytes).has_value());
  }
  ~ModuleFile() { fs::remove(path_); }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

CommandResult run_compiler(const std::string& mode, const Bytes& bytes,
                           const std::string& rest = {}) {
  const ModuleFile file(bytes);
  return run_command(std::string(COMPILER) + " " + mode + " " + file.path() + " " + rest + " 2>&1");
}

/// As nvcc declares a kernel with so many bytes of arguments.
std::string ptx_kernel(const std::string& name, int size) {
  return ".visible .entry orchid_kernel_" + name + "(.param .align 8 .b8 a[" +
         std::to_string(size) + "], .param .u64 b, .param .u64 c)\n{\n\tret;\n}\n";
}

Part ptx(const std::string& kernels) {
  const std::string text = ".version 9.0\n.target sm_75\n.address_size 64\n" + kernels;
  const auto bytes = std::as_bytes(std::span(text));
  return {gpu, Bytes(bytes.begin(), bytes.end()), module::ImageKind::ptx};
}

std::string rejection_of(const Bytes& bytes) {
  const auto result = run_compiler("--inspect", bytes);
  CHECK(result.exit_status == 1);
  return result.output;
}

}  // namespace

TEST_CASE("the kernels of a module are listed with their layouts") {
  const auto result = run_compiler("--inspect", pack({{cores, read_data("kernels_cores.bc")},
                                                      {gpu, read_data("kernels_gpu.bc")}}));
  CHECK_MESSAGE(result.exit_status == 0, result.output);
  const auto manifest = module::parse_manifest(result.output);
  REQUIRE(manifest.has_value());
  REQUIRE(manifest->kernels.size() == 2);
  CHECK(manifest->kernels[0] == module::Kernel{.name = "scale",
                                               .args_size = 16,
                                               .args_alignment = 8,
                                               .group_size = 0,
                                               .local_bytes = 0});
  CHECK(manifest->kernels[1].name == "sum");
  CHECK(manifest->kernels[1].group_size == 64);
  REQUIRE(manifest->targets.size() == 2);
  CHECK(manifest->targets[1].arch == "nvptx64");
}

TEST_CASE("all that differs between the kernels of two images is told at once, with figures") {
  const std::string message = rejection_of(pack(
      {{cores, read_data("kernels_cores.bc")}, {gpu, read_data("kernels_gpu_without_sum.bc")}}));
  const std::string sizes = "kernel 'scale': the size of the arguments is 16 in the image for " +
                            own.architecture + " and 24 in that for nvptx64";
  CHECK_MESSAGE(has_text(message, sizes), message);
  CHECK_MESSAGE(has_text(message, "kernel 'sum' is missing in the image for nvptx64"), message);
}

TEST_CASE("an image for GPUs that needs libm is refused with the names") {
  const std::string message = rejection_of(
      pack({{cores, read_data("kernels_cores_log.bc")}, {gpu, read_data("kernels_gpu_log.bc")}}));
  CHECK_MESSAGE(has_text(message, "a GPU does not have: logf, powf;"), message);
  CHECK(has_text(message, "libdevice"));
}

TEST_CASE("kernels that the header did not make are refused, each with what is wrong") {
  const std::string message = rejection_of(read_data("bad_kernels.bc"));
  for (const char* part :
       {"kernel 'no_function' has a layout but no function", "kernel 'no_layout' has no",
        "kernel 'wrong_type' must be void", "'orchid_kernel_layout_short_layout' must be",
        "'orchid_kernel_layout_odd' must be"})
    CHECK_MESSAGE(has_text(message, part), part << " is not in: " << message);
}

TEST_CASE("images for other hosts must have the entries and effects of this one's") {
  const std::string message = rejection_of(pack({{x86_64.triple, read_data("tiny_x86_64.bc")},
                                                 {aarch64.triple, read_data("other_entry.bc")}}));
  CHECK_MESSAGE(has_text(message, "entry 'tiny' is missing in the image for aarch64"), message);
  CHECK_MESSAGE(has_text(message, "entry 'other' is missing in the image for x86_64"), message);
  const std::string effects =
      rejection_of(pack({{x86_64.triple, read_data("effects_x86_64.bc")},
                         {aarch64.triple, read_data("effects_aarch64.bc")}}));
  CHECK_MESSAGE(has_text(effects, "effect 'mail' is missing in the image for aarch64"), effects);
  CHECK_MESSAGE(!has_text(effects, "'prints'"), effects);
}

TEST_CASE("a module with GPU images alone is told what it has and what it needs") {
  CHECK(has_text(rejection_of(pack({{gpu, read_data("kernels_gpu.bc")}})),
                 "no image for " + own.target + " or " + other.target +
                     "; the module has nvptx64 (bitcode): functions start on cores, whatever runs "
                     "their kernels; build it with --target " +
                     own.target + " too"));
  CHECK(has_text(rejection_of(pack({ptx(ptx_kernel("saxpy", 24))})),
                 "the module has nvptx64 (ptx): functions start on cores"));
}

TEST_CASE("kernels that only PTX has are listed, and no image for cores has them") {
  const auto result = run_compiler("--inspect", pack({{cores, read_data("declared_kernels.bc")},
                                                      ptx(ptx_kernel("saxpy", 24)),
                                                      ptx(ptx_kernel("halve", 24))}));
  CHECK_MESSAGE(result.exit_status == 0, result.output);
  const auto manifest = module::parse_manifest(result.output);
  REQUIRE(manifest.has_value());
  REQUIRE(manifest->kernels.size() == 2);
  CHECK(manifest->kernels[1] == module::Kernel{.name = "saxpy",
                                               .args_size = 24,
                                               .args_alignment = 8,
                                               .group_size = 0,
                                               .local_bytes = 0,
                                               .on_cores = false});
  REQUIRE(manifest->targets.size() == 3);
  CHECK(manifest->targets[1].kind == "ptx");
  CHECK(manifest->targets[1].arch == "nvptx64");
}

TEST_CASE("all that PTX and the declarations of its kernels disagree about is told at once") {
  const std::string message =
      rejection_of(pack({{cores, read_data("declared_kernels.bc")},
                         ptx(ptx_kernel("saxpy", 16) + ptx_kernel("unknown", 8) +
                             ".visible .entry orchid_kernel_odd(.param .u64 a)\n{\n\tret;\n}\n")}));
  const std::string in_image = "in the image for " + own.architecture;
  for (const std::string& part : std::vector<std::string>{
           "kernel 'saxpy': the size of the arguments is 24 " + in_image +
               " and 16 in that for PTX of sm_75",
           "kernel 'unknown' is in PTX of sm_75 and not " + in_image +
               ": declare it with ORCHID_DECLARE_KERNEL(unknown, Args)",
           "PTX of sm_75: kernel 'odd' must be extern \"C\" __global__ void orchid_kernel_odd(",
           "kernel 'halve' is declared " + in_image + ", and there is no image for GPUs"})
    CHECK_MESSAGE(has_text(message, part), part << " is not in: " << message);
}

TEST_CASE("a kernel is in one image for GPUs: in bitcode or in PTX") {
  const std::string message = rejection_of(pack({{cores, read_data("kernels_cores.bc")},
                                                 {gpu, read_data("kernels_gpu.bc")},
                                                 ptx(ptx_kernel("scale", 16))}));
  CHECK_MESSAGE(has_text(message, "kernel 'scale' is in the image for nvptx64 and in PTX"),
                message);
  // Beside one for cores, PTX is a kernel's image for GPUs.
  const auto tuned = run_compiler(
      "--inspect", pack({{cores, read_data("kernels_cores.bc")}, ptx(ptx_kernel("scale", 16))}));
  CHECK_MESSAGE(tuned.exit_status == 0, tuned.output);
}

TEST_CASE("an image of PTX that is no text, or too long, is refused") {
  const Part binary{gpu, Bytes(64, std::byte{7}), module::ImageKind::ptx};
  CHECK(has_text(rejection_of(pack({{cores, read_data("kernels_cores.bc")}, binary})),
                 "its PTX is not text: byte 0 is 0x07"));
  const Part large = ptx("//" + std::string(std::size_t{17} << 20, 'x'));
  CHECK(has_text(rejection_of(pack({{cores, read_data("kernels_cores.bc")}, large})),
                 "at most 16 MiB are read"));
}

TEST_CASE("an image for GPUs whose bitcode is broken is refused with the image's name") {
  Bytes broken = read_data("kernels_gpu.bc");
  for (std::size_t i = broken.size() / 3; i < broken.size() / 3 + 200; ++i)
    broken[i] = std::byte{0xff};
  const std::string message =
      rejection_of(pack({{cores, read_data("kernels_cores.bc")}, {gpu, broken}}));
  CHECK_MESSAGE(has_text(message, "nvptx64"), message);
}

TEST_CASE("a container with forty images is refused") {
  std::vector<Part> parts(40, Part{gpu, read_data("kernels_gpu.bc")});
  CHECK(has_text(rejection_of(pack(parts)), "more than 32 images"));
}

TEST_CASE("a damaged image for GPUs is refused and breaks nothing") {
  const Bytes whole = read_data("kernels_gpu.bc");
  std::mt19937 random(21);
  for (int round = 0; round < 40; ++round) {
    Bytes damaged = whole;
    for (int i = 0; i < 8; ++i)
      damaged[8 + random() % (damaged.size() - 8)] = static_cast<std::byte>(random());
    const auto result =
        run_compiler("--inspect", pack({{cores, read_data("kernels_cores.bc")}, {gpu, damaged}}));
    CHECK_MESSAGE((result.exit_status == 0 || result.exit_status == 1), result.output);
  }
}

TEST_CASE("PTX of kernels is what ptxas accepts") {
  const Bytes module =
      pack({{cores, read_data("kernels_cores.bc")}, {gpu, read_data("kernels_gpu.bc")}});
  for (const std::string card : {"sm_75", "sm_80", "sm_90"}) {
    const auto ptx = run_compiler("--ptx", module, card);
    REQUIRE_MESSAGE(ptx.exit_status == 0, ptx.output);
    CHECK(has_text(ptx.output, ".target " + card));
    CHECK(has_text(ptx.output, ".entry orchid_kernel_scale("));
    CHECK(has_text(ptx.output, ".entry orchid_kernel_sum("));
    if (!fs::exists(PTXAS)) {
      MESSAGE("not tested: ptxas");
      continue;
    }
    const auto text = std::as_bytes(std::span(ptx.output));
    const ModuleFile file(Bytes(text.begin(), text.end()));
    const auto assembled = run_command(std::string(PTXAS) + " -arch=" + card + " -o /dev/null " +
                                       file.path() + " 2>&1");
    CHECK_MESSAGE(assembled.exit_status == 0, assembled.output);
  }
}

TEST_CASE("PTX that is in the module is taken as it is, for the newest GPU that can run it") {
  const Bytes cores_image = read_data("kernels_cores.bc");
  const auto text = [](std::string_view ptx) {
    const auto bytes = std::as_bytes(std::span(ptx));
    return Bytes(bytes.begin(), bytes.end());
  };
  const Bytes old_ptx = text(".version 7.0 // for sm_75");
  const Bytes new_ptx = text(".version 7.0 // for sm_86");
  const auto ptx_image = [](const char* arch, const Bytes& bytes) {
    return module::Image{
        .triple = gpu, .arch = arch, .kind = module::ImageKind::ptx, .bytes = bytes};
  };
  const std::vector<module::Image> images{{.triple = cores, .arch = "", .bytes = cores_image},
                                          ptx_image("sm_75", old_ptx),
                                          ptx_image("sm_86", new_ptx),
                                          ptx_image("sm_90a", old_ptx)};
  const Bytes module = *module::write_container(images);
  CHECK(run_compiler("--ptx", module, "sm_80").output == ".version 7.0 // for sm_75");
  CHECK(run_compiler("--ptx", module, "sm_89").output == ".version 7.0 // for sm_86");
  CHECK(run_compiler("--ptx", module, "sm_90a").output == ".version 7.0 // for sm_75");
  const Bytes newer = *module::write_container(std::span(images).last(2));
  CHECK(has_text(run_compiler("--ptx", newer, "sm_80").output,
                 "the module has PTX for sm_86, sm_90a, and this GPU is sm_80"));
}

TEST_CASE("PTX that cannot be made is refused with the reason") {
  CHECK(has_text(run_compiler("--ptx", read_data("kernels_cores.bc"), "sm_80").output,
                 "no bitcode image for nvptx64"));
  CHECK(has_text(run_compiler("--ptx", pack({{gpu, read_data("kernels_gpu.bc")}}), "gfx90a").output,
                 "'gfx90a' is not a GPU"));
  CHECK(has_text(
      run_compiler("--ptx", pack({{gpu, read_data("kernels_gpu_log.bc")}}), "sm_80").output,
      "a GPU does not have: logf, powf;"));
}
