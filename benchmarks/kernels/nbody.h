// benchmarks/kernels/nbody.h: the accelerations of bodies that attract each other, each by all.
#pragma once
#include "orchid/kernel.hpp"
#if ORCHID_HOST
#include "orchid/values.h"
#endif

namespace nbody {

struct Body {
  float x;
  float y;
  float z;
  float mass;
};
struct Acceleration {
  float x;
  float y;
  float z;
};
#if ORCHID_HOST
ORCHID_STRUCT(Body, x, y, z, mass)
ORCHID_STRUCT(Acceleration, x, y, z)
#endif

constexpr uint32_t group_size = 256;
constexpr uint32_t bodies_at_once = 4;

struct Args {
  orchid::Span<const Body> bodies;  // as many as there are items, a multiple of bodies_at_once
  float softening;                  // added to squared distances
  Acceleration* accelerations;
};

/// sqrtf would set errno, which keeps a loop scalar.
inline float square_root(float value) {
#ifdef __clang__
  return __builtin_elementwise_sqrt(value);
#else
  return sqrtf(value);
#endif
}

}  // namespace nbody

ORCHID_GROUP_KERNEL(nbody_step, nbody::Args, nbody::group_size) {
  ORCHID_LOCAL(float, x, nbody::group_size);
  ORCHID_LOCAL(float, y, nbody::group_size);
  ORCHID_LOCAL(float, z, nbody::group_size);
  ORCHID_LOCAL(float, sum_x, nbody::group_size);
  ORCHID_LOCAL(float, sum_y, nbody::group_size);
  ORCHID_LOCAL(float, sum_z, nbody::group_size);
  ORCHID_ITEMS {
    x[local] = args.bodies[item].x;
    y[local] = args.bodies[item].y;
    z[local] = args.bodies[item].z;
    sum_x[local] = 0;
    sum_y[local] = 0;
    sum_z[local] = 0;
  }
  for (uint64_t first = 0; first < args.bodies.size(); first += nbody::bodies_at_once) {
    ORCHID_ITEMS {
      float own_x = sum_x[local];
      float own_y = sum_y[local];
      float own_z = sum_z[local];
#pragma GCC unroll 4
      for (uint32_t i = 0; i < nbody::bodies_at_once; ++i) {
        const nbody::Body& other = args.bodies[first + i];
        const float dx = other.x - x[local];
        const float dy = other.y - y[local];
        const float dz = other.z - z[local];
        const float squared = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, args.softening)));
        const float inverse = 1.0F / nbody::square_root(squared);
        const float weight = other.mass * inverse * inverse * inverse;
        own_x = fmaf(weight, dx, own_x);
        own_y = fmaf(weight, dy, own_y);
        own_z = fmaf(weight, dz, own_z);
      }
      sum_x[local] = own_x;
      sum_y[local] = own_y;
      sum_z[local] = own_z;
    }
  }
  ORCHID_ITEMS {
    args.accelerations[item] = {.x = sum_x[local], .y = sum_y[local], .z = sum_z[local]};
  }
}
