#include "jit/other_images.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "jit/bitcode.h"
#include "jit/device_code.h"
#include "jit/diagnostics.h"
#include "jit/kernels.h"
#include "jit/retarget.h"
#include "jit/undefined_symbols.h"
#include "jit/unused_code.h"
#include "module/ptx.h"
#include "protocol/effects.h"

namespace orchid::executor {
namespace {

using Kernels = std::vector<module::Kernel>;

void move_to(std::vector<std::string>& all, std::vector<std::string> some) {
  std::ranges::move(some, std::back_inserter(all));
}

bool has_kernel(const Kernels& kernels, std::string_view name) {
  return std::ranges::find(kernels, name, &module::Kernel::name) != kernels.end();
}

std::vector<std::string> names_of_entries(llvm::Module& code) {
  std::vector<std::string> names;
  for (const llvm::Function* function : entry_functions(code))
    names.push_back(function->getName().substr(entry_prefix.size()).str());
  std::ranges::sort(names);
  return names;
}

/// Compares the images of a module with the one that its manifest was read from.
class OtherImages {
 public:
  OtherImages(const module::Container& container, std::size_t read,
              std::span<const HostTarget> processors, const module::Manifest& manifest)
      : container_(container),
        read_(read),
        host_(module::architecture_of(container.images[read].triple)),
        processors_(processors),
        manifest_(manifest) {}

  std::vector<std::string> find_problems() {
    for (const module::Image& image : container_.images)
      if (image.kind == module::ImageKind::ptx) look_at_ptx(image);
    for (std::size_t i = 0; i < container_.images.size(); ++i)
      if (i != read_ && container_.images[i].kind == module::ImageKind::bitcode)
        look_at_bitcode(container_.images[i]);
    check_declared_kernels();
    return std::move(problems_);
  }

 private:
  void look_at_ptx(const module::Image& image) {
    auto text = module::read_ptx(image.bytes);
    if (!text) return problems_.push_back(text.error().message);
    const std::string name = "PTX of " + text->target;
    for (const std::string& problem : text->problems)
      problems_.push_back(fmt::format("{}: {}", name, problem));
    for (const module::Kernel& kernel : text->kernels) {
      ptx_.push_back(kernel);
      const auto twin = std::ranges::find(manifest_.kernels, kernel.name, &module::Kernel::name);
      if (twin == manifest_.kernels.end())
        problems_.push_back(
            fmt::format("kernel '{}' is in {} and not in the image for {}: declare it with "
                        "ORCHID_DECLARE_KERNEL({}, Args) in a C or C++ source",
                        kernel.name, name, host_, kernel.name));
      else
        move_to(problems_, layout_differences(*twin, host_, kernel, name));
    }
  }

  void look_at_bitcode(const module::Image& image) {
    const std::string architecture = module::architecture_of(image.triple);
    Diagnostics diagnostics;
    llvm::LLVMContext context;
    diagnostics.attach(context);
    const auto code = parse_image(image, context);
    if (!code) return add(architecture, {code.error().message});
    if (const auto read = diagnostics.result(); !read)
      return add(architecture, {read.error().message});
    KernelList list = read_kernels(**code);
    add(architecture, std::move(list.problems));
    if (module::is_gpu_architecture(architecture))
      look_at_device(**code, list.kernels, architecture);
    else
      look_at_processor(**code, list.kernels, architecture);
  }

  void look_at_processor(llvm::Module& code, const Kernels& kernels,
                         const std::string& architecture) {
    move_to(problems_, kernel_differences(manifest_.kernels, host_, kernels, architecture));
    compare_entries(names_of_entries(code), architecture);
    compare_effects(declared_effects(code), architecture);
    const auto processor = std::ranges::find(processors_, architecture, &HostTarget::architecture);
    if (processor == processors_.end()) return;  // no executor is built for it
    add(architecture, find_code_problems(code, *processor));
    retarget(code, *processor);
    drop_unused(code);
    add(architecture, read_undefined_symbols(code, architecture).problems);
  }

  void look_at_device(llvm::Module& code, const Kernels& kernels, const std::string& architecture) {
    has_device_bitcode_ = true;
    Kernels expected;
    for (const module::Kernel& kernel : manifest_.kernels) {
      const bool is_twice = has_kernel(ptx_, kernel.name) && has_kernel(kernels, kernel.name);
      if (is_twice)
        problems_.push_back(
            fmt::format("kernel '{}' is in the image for {} and in PTX: leave one of them out",
                        kernel.name, architecture));
      if (is_twice || !has_kernel(ptx_, kernel.name)) expected.push_back(kernel);
    }
    move_to(problems_, kernel_differences(expected, host_, kernels, architecture));
    if (const auto missing = drop_unused_of_device(code); !missing.empty())
      problems_.push_back(describe_missing_on_device(missing));
  }

  void compare_entries(const std::vector<std::string>& names, std::string_view architecture) {
    for (const module::Entry& entry : manifest_.entries)
      if (!std::ranges::binary_search(names, entry.name))
        problems_.push_back(
            fmt::format("entry '{}' is missing in the image for {}", entry.name, architecture));
    for (const std::string& name : names)
      if (!manifest_.entry_index(name))
        problems_.push_back(fmt::format("entry '{}' is missing in the image for {}", name, host_));
  }

  /// What an image needs of its host may differ, what it declares may not.
  void compare_effects(const std::vector<std::string>& names, std::string_view architecture) {
    for (const std::string& name : manifest_.effects)
      if (!is_effect_call(name) && !std::ranges::binary_search(names, name))
        problems_.push_back(
            fmt::format("effect '{}' is missing in the image for {}", name, architecture));
    for (const std::string& name : names)
      if (!std::ranges::binary_search(manifest_.effects, name))
        problems_.push_back(fmt::format("effect '{}' is missing in the image for {}", name, host_));
  }

  /// Where there is an image for GPUs, its kernels have been compared already.
  void check_declared_kernels() {
    for (const module::Kernel& kernel : manifest_.kernels)
      if (!kernel.on_cores && !has_device_bitcode_ && !has_kernel(ptx_, kernel.name))
        problems_.push_back(
            fmt::format("kernel '{}' is declared in the image for {}, and there is no image for "
                        "GPUs: give its .cu file to 'orchid build' too",
                        kernel.name, host_));
  }

  void add(std::string_view architecture, std::vector<std::string> problems) {
    for (const std::string& problem : problems)
      problems_.push_back(fmt::format("the image for {}: {}", architecture, problem));
  }

  const module::Container& container_;
  std::size_t read_;
  std::string host_;  // architecture of the image that was read
  std::span<const HostTarget> processors_;
  const module::Manifest& manifest_;
  Kernels ptx_;  // of all texts, in no order
  bool has_device_bitcode_ = false;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> find_problems_of_other_images(const module::Container& container,
                                                       std::size_t read,
                                                       std::span<const HostTarget> processors,
                                                       const module::Manifest& manifest) {
  return OtherImages(container, read, processors, manifest).find_problems();
}

}  // namespace orchid::executor
