// benchmarks/kernels/opencl.cpp: the same kernels on PoCL, OpenCL for cores: kernels-opencl KERNEL
// ROUNDS prints what came out, and then the time of each round in nanoseconds. Exit status 77:
// there is no PoCL.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "md5search/md5.h"
#include "opencl_sources.h"
#include "work.h"

namespace {

namespace opencl = orchid::bench::opencl;
namespace work = orchid::bench::work;

constexpr std::size_t group_size = 256;

void require(cl_int status, const char* what) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + ": OpenCL error " + std::to_string(status));
}

/// PoCL's, among whatever else is installed.
cl_platform_id find_pocl() {
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  if (clGetPlatformIDs(platforms.size(), platforms.data(), &count) != CL_SUCCESS) return nullptr;
  for (cl_uint i = 0; i < count && i < platforms.size(); ++i) {
    std::array<char, 256> name{};
    if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr) ==
            CL_SUCCESS &&
        std::string_view(name.data()).find("Portable") != std::string_view::npos)
      return platforms[i];
  }
  return nullptr;
}

/// One kernel with its arguments. What it has taken ends with the program.
class Kernel {
 public:
  Kernel(cl_platform_id platform, const char* name, const char* source) {
    cl_int status = CL_SUCCESS;
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr), "no device");
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    require(status, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    require(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
    require(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device_, "", nullptr, nullptr) != CL_SUCCESS) {
      std::array<char, 8192> log{};
      (void)clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, log.size() - 1,
                                  log.data(), nullptr);
      throw std::runtime_error(log.data());
    }
    kernel_ = clCreateKernel(program, name, &status);
    require(status, "clCreateKernel");
  }

  template <typename T>
  void add(const T& value) {
    require(clSetKernelArg(kernel_, next_++, sizeof value, &value), "clSetKernelArg");
  }
  template <typename T>
  void add_input(const std::vector<T>& elements) {
    std::vector<T> copied = elements;  // OpenCL wants memory that it might write to
    add(buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, copied.size() * sizeof(T), copied.data()));
  }
  void add_output(std::size_t size) {
    output_ = buffer(CL_MEM_WRITE_ONLY, size, nullptr);
    add(output_);
  }

  void run(std::size_t items) {
    const std::size_t whole_groups = (items + group_size - 1) / group_size * group_size;
    require(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &whole_groups, &group_size, 0,
                                   nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(clFinish(queue_), "clFinish");
  }

  template <typename T>
  std::vector<T> output(std::size_t count) {
    std::vector<T> elements(count);
    require(clEnqueueReadBuffer(queue_, output_, CL_TRUE, 0, count * sizeof(T), elements.data(), 0,
                                nullptr, nullptr),
            "clEnqueueReadBuffer");
    return elements;
  }

 private:
  cl_mem buffer(cl_mem_flags flags, std::size_t size, void* data) {
    cl_int status = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context_, flags, size, data, &status);
    require(status, "clCreateBuffer");
    return memory;
  }

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem output_ = nullptr;
  cl_uint next_ = 0;
};

void measure(long rounds, Kernel& kernel, std::size_t items) {
  for (long round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    kernel.run(items);
    const auto end = std::chrono::steady_clock::now();
    std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(end - start).count()));
  }
}

void measure_idw(cl_platform_id platform, long rounds) {
  Kernel kernel(platform, "idw", opencl::idw);
  const auto stations = work::stations();
  kernel.add(work::grid.step);
  kernel.add(cl_uint{work::grid.columns});
  kernel.add_input(stations);
  kernel.add(cl_ulong{stations.size()});
  kernel.add(work::least);
  kernel.add(work::scale);
  kernel.add_output(work::points * sizeof(float));
  kernel.run(work::points);
  const auto values = kernel.output<float>(work::points);
  std::printf("%.9g\n", std::accumulate(values.begin(), values.end(), 0.0));
  measure(rounds, kernel, work::points);
}

/// The 64 steps as text, from the tables of the C++ kernel.
std::string md5_steps() {
  std::string text;
  for (unsigned step = 0; step < 64; ++step) {
    constexpr std::array<const char*, 4> turns{"a, b, c, d", "d, a, b, c", "c, d, a, b",
                                               "b, c, d, a"};
    const unsigned round = step / 16;
    const unsigned place = (round == 0   ? step
                            : round == 1 ? 5 * step + 1
                            : round == 2 ? 3 * step + 5
                                         : 7 * step) %
                           md5::message_words;
    const char* word = place == 0 ? "v" : place == 1 ? "w" : place == 14 ? "bits" : "0u";
    text += std::string(1, "FGHI"[round]) + "(" + turns[step % 4] + ", " + word + ", " +
            std::to_string(md5::rotations[round][step % 4]) + ", " +
            std::to_string(md5::sines[step]) + ");\n";
  }
  return text;
}

void measure_md5(cl_platform_id platform, long rounds) {
  std::string source = opencl::md5;
  source.replace(source.find("STEPS"), 5, md5_steps());
  Kernel kernel(platform, "md5", source.c_str());
  kernel.add(cl_uint{work::string_items});
  kernel.add(cl_uint{0x80U << (8 * (work::string_length % 4))});
  kernel.add(cl_uint{8 * work::string_length});
  const auto& digest = work::last_digest_words;
  kernel.add(cl_uint4{{digest[0], digest[1], digest[2], digest[3]}});
  kernel.add_input(std::vector<cl_uint>(work::alphabet.begin(), work::alphabet.end()));
  kernel.add(cl_uint{work::strings_of_item});
  kernel.add(cl_uint{work::string_length - 1});
  kernel.add_output(work::string_items);
  kernel.run(work::string_items);
  const auto found = kernel.output<std::uint8_t>(work::string_items);
  std::printf("%.9g\n", std::accumulate(found.begin(), found.end(), 0.0));
  measure(rounds, kernel, work::string_items);
}

void measure_nbody(cl_platform_id platform, long rounds) {
  Kernel kernel(platform, "nbody", opencl::nbody);
  kernel.add_input(work::bodies());
  kernel.add(cl_ulong{work::body_count});
  kernel.add(work::softening);
  kernel.add_output(3UL * work::body_count * sizeof(float));
  kernel.run(work::body_count);
  const auto accelerations = kernel.output<float>(3UL * work::body_count);
  double sum = 0;
  for (std::size_t i = 0; i < accelerations.size(); i += 3) sum += std::abs(accelerations[i]);
  std::printf("%.9g\n", sum);
  measure(rounds, kernel, work::body_count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 3 ? argv[1] : "";
  const long rounds = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 0;
  if (name != "idw" && name != "md5" && name != "nbody") {
    std::fprintf(stderr, "usage: kernels-opencl idw|md5|nbody ROUNDS\n");
    return 2;
  }
  try {
    cl_platform_id platform = find_pocl();
    if (platform == nullptr) return 77;
    (name == "idw" ? measure_idw : name == "md5" ? measure_md5 : measure_nbody)(platform, rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels-opencl: %s\n", error.what());
    return 1;
  }
}
