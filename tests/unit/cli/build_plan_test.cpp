#include "toolchain/build_plan.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace orchid::cli {
namespace {

const Toolchain all_tools{.clang = "/bin/clang-19",
                          .clangxx = "/bin/clang++-19",
                          .flang = "/bin/flang-new-19",
                          .link = "/bin/llvm-link-19"};

BuildRequest request(std::vector<std::filesystem::path> sources,
                     std::vector<std::string> targets = {"x86-64"}) {
  return {.sources = std::move(sources),
          .targets = std::move(targets),
          .compiler_flags = {"-DX=1", "-std=c++20"},
          .headers = "/headers",
          .scratch = "/scratch"};
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

TEST_CASE(
    "vector code is left to the host, loops may be unrolled there, and the user's flags come "
    "last") {
  const auto plans = plan_build(request({"a.cpp"}), all_tools);
  REQUIRE(plans.has_value());
  REQUIRE(plans->size() == 1);
  const auto& words = plans->front().steps.at(0).command;
  CHECK(words.front() == "/bin/clang++-19");
  for (const char* flag :
       {"-O2", "-flto=thin", "-g0", "-emit-llvm", "-I/headers", "--target=x86_64-linux-gnu"})
    CHECK(has(words, flag));
  CHECK_FALSE(has(words, "-fno-unroll-loops"));
  CHECK(std::ranges::find(words, "-std=c++23") < std::ranges::find(words, "-std=c++20"));
  CHECK(words.back() == "a.cpp");
  CHECK(plans->front().arch == "x86-64");
}

TEST_CASE("each language has its compiler, and several parts are linked") {
  const auto plans = plan_build(request({"a.c", "b.cc", "c.f90", "d.bc"}), all_tools);
  REQUIRE(plans.has_value());
  const auto& steps = plans->front().steps;
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].command.front() == "/bin/clang-19");
  CHECK(steps[1].command.front() == "/bin/clang++-19");
  CHECK(steps[2].command.front() == "/bin/flang-new-19");
  CHECK(steps[3].command.front() == "/bin/llvm-link-19");
  CHECK(has(steps[3].command, "d.bc"));
  CHECK(steps[3].source.empty());
}

TEST_CASE("LLVM's text becomes bitcode, and is not optimised again") {
  const auto plans = plan_build(request({"a.ll"}), all_tools);
  REQUIRE(plans.has_value());
  const auto& words = plans->front().steps.at(0).command;
  CHECK(words.front() == "/bin/clang-19");
  CHECK(has(words, "-O0"));
  CHECK(words.back() == "a.ll");
}

TEST_CASE("bitcode alone is taken as it is") {
  const auto plans = plan_build(request({"d.bc"}), {});
  REQUIRE(plans.has_value());
  CHECK(plans->front().steps.empty());
  CHECK(plans->front().image == "d.bc");
}

TEST_CASE("each target has an image of its own, once") {
  const auto plans =
      plan_build(request({"a.c"}, {"x86-64", "aarch64", "x86_64-linux-gnu"}), all_tools);
  REQUIRE(plans.has_value());
  REQUIRE(plans->size() == 2);
  CHECK((*plans)[1].triple == "aarch64-linux-gnu");
  CHECK((*plans)[0].image != (*plans)[1].image);
}

TEST_CASE("an image for GPUs is free of the host, and links libdevice where it was found") {
  auto tools = all_tools;
  auto plan = plan_device_image(request({"k.cpp"}), tools);
  REQUIRE(plan.has_value());
  REQUIRE(plan->steps.size() == 1);
  CHECK(has(plan->steps[0].command, "--target=nvptx64-nvidia-cuda"));
  CHECK(has(plan->steps[0].command, "-ffreestanding"));
  CHECK_FALSE(has(plan->steps[0].command, "-DORCHID_LIBDEVICE=1"));
  tools.libdevice = "/cuda/libdevice.10.bc";
  plan = plan_device_image(request({"k.cpp"}), tools);
  REQUIRE(plan.has_value());
  CHECK(has(plan->steps.front().command, "-DORCHID_LIBDEVICE=1"));
  CHECK(has(plan->steps.back().command, "--only-needed"));
  CHECK(plan->steps.back().command.back() == "/cuda/libdevice.10.bc");
  CHECK(cross_compiling_hint("nvptx64").find("#if ORCHID_HOST") != std::string::npos);
}

TEST_CASE("CUDA sources become PTX beside the images of the other sources") {
  auto tools = all_tools;
  tools.nvcc = "/cuda/bin/nvcc";
  const auto plans = plan_build(request({"main.cpp", "k.cu"}, {"x86-64", "aarch64"}), tools);
  REQUIRE(plans.has_value());
  REQUIRE(plans->size() == 3);
  for (const ImagePlan& plan : {plans->at(0), plans->at(1)}) {
    CHECK(plan.kind == module::ImageKind::bitcode);
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].source == "main.cpp");
  }
  const ImagePlan& cuda = plans->at(2);
  CHECK(cuda.kind == module::ImageKind::ptx);
  CHECK(cuda.triple == "nvptx64-nvidia-cuda");
  CHECK(cuda.arch == "sm_75");
  const auto& words = cuda.steps.at(0).command;
  CHECK(words.front() == "/cuda/bin/nvcc");
  for (const char* word : {"--ptx", "-arch=compute_75", "-I/headers", "-DX=1"})
    CHECK(has(words, word));
  CHECK(words.back() == "k.cu");
}

TEST_CASE("a CUDA source needs nvcc, and another source with an entry") {
  const auto without = plan_build(request({"main.cpp", "k.cu"}), all_tools);
  REQUIRE_FALSE(without.has_value());
  CHECK(without.error().code == ErrorCode::unsupported);
  CHECK(without.error().message.find("CUDA_HOME") != std::string::npos);
  const auto alone = plan_build(request({"k.cu"}), all_tools);
  REQUIRE_FALSE(alone.has_value());
  CHECK(alone.error().message.find("ORCHID_DECLARE_KERNEL") != std::string::npos);
}

TEST_CASE("what cannot be built is told with what to do") {
  CHECK(plan_build(request({"a.rs"}), all_tools).error().code == ErrorCode::bad_request);
  CHECK(plan_build(request({"a.c"}, {"vax"}), all_tools).error().message.find("aarch64") !=
        std::string::npos);
  CHECK(plan_build(request({"a.c"}), {}).error().message.find("apt install clang-19") !=
        std::string::npos);
  CHECK(plan_build(request({"a.f90"}), {}).error().message.find("flang-19") != std::string::npos);
  CHECK(plan_build(request({"a.bc", "b.bc"}), {}).error().message.find("llvm-19") !=
        std::string::npos);
  CHECK(cross_compiling_hint("nvptx64").find("nvptx64") != std::string::npos);
}

}  // namespace orchid::cli
