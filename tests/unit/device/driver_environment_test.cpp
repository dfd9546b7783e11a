#include "device/driver_environment.h"

#include <doctest/doctest.h>

namespace orchid::executor {

TEST_CASE("of the environment a GPU's driver gets what is its own, and no secrets") {
  for (const char* variable : {"LD_LIBRARY_PATH=/opt/cuda", "PATH=/bin", "HOME=/home/a",
                               "CUDA_MODULE_LOADING=LAZY", "NVIDIA_VISIBLE_DEVICES=all"})
    CHECK_MESSAGE(is_for_drivers(variable), variable);
  for (const char* variable :
       {"ORCHID_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "LD_PRELOAD=/x.so", "PATHS=x", "HOMEPAGE=x"})
    CHECK_FALSE_MESSAGE(is_for_drivers(variable), variable);
}

}  // namespace orchid::executor
