// benchmarks/kernels/opencl_sources.h: the same kernels in OpenCL C, line for line.
#pragma once

namespace orchid::bench::opencl {

inline constexpr const char* idw = R"(
typedef struct { float x, y, value; } Station;

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void idw(float step, uint columns, __global const Station* restrict stations, ulong station_count,
         float least, float scale, __global float* restrict values) {
  __local float x[256], y[256], sum[256], weights[256];
  const uint item = get_global_id(0), l = get_local_id(0), row = item / columns;
  x[l] = step * (float)(item - row * columns);
  y[l] = step * (float)row;
  sum[l] = 0;
  weights[l] = 0;
  for (ulong first = 0; first < station_count; first += 8) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float own_sum = sum[l], own_weights = weights[l];
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      const Station station = stations[first + i];
      const float dx = station.x - x[l], dy = station.y - y[l];
      const float squared = fma(dx, dx, dy * dy);
      const float weight = scale / (squared < least ? least : squared);
      own_sum = fma(weight, station.value, own_sum);
      own_weights += weight;
    }
    sum[l] = own_sum;
    weights[l] = own_weights;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  values[item] = sum[l] / weights[l];
})";

inline constexpr const char* md5 = R"(
#define STEP(mix, a, b, c, d, word, bits, sine) \
  a = b + rotate(a + (mix) + (word) + sine##u, bits##u)
#define F(a, b, c, d, w, s, t) STEP(d ^ (b & (c ^ d)), a, b, c, d, w, s, t)
#define G(a, b, c, d, w, s, t) STEP(c ^ (d & (b ^ c)), a, b, c, d, w, s, t)
#define H(a, b, c, d, w, s, t) STEP(b ^ c ^ d, a, b, c, d, w, s, t)
#define I(a, b, c, d, w, s, t) STEP(c ^ (b | ~d), a, b, c, d, w, s, t)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void md5(uint item_count, uint second_word, uint bits, uint4 digest,
         __constant uint* alphabet, uint letter_count, uint item_letters,
         __global uchar* restrict matches) {
  __local uint word0[256], word1[256], found[256];
  const uint item = get_global_id(0), l = get_local_id(0);
  uint left = item, words[2] = {0, second_word};
  for (uint i = 1; i <= item_letters; ++i) {
    words[i / 4] |= alphabet[left % letter_count] << (8 * (i % 4));
    left /= letter_count;
  }
  word0[l] = words[0];
  word1[l] = words[1];
  found[l] = 0;
  for (uint first = 0; first < letter_count; ++first) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint v = word0[l] | alphabet[first], w = word1[l];
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    STEPS
    const uint differs = ((a + 0x67452301) ^ digest.x) | ((b + 0xefcdab89) ^ digest.y) |
                         ((c + 0x98badcfe) ^ digest.z) | ((d + 0x10325476) ^ digest.w);
    found[l] = differs == 0 ? first + 1 : found[l];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < item_count) matches[item] = (uchar)found[l];
})";

inline constexpr const char* nbody = R"(
typedef struct { float x, y, z; } Acceleration;

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void nbody(__global const float4* restrict bodies, ulong body_count, float softening,
           __global Acceleration* restrict accelerations) {
  __local float x[256], y[256], z[256], sum_x[256], sum_y[256], sum_z[256];
  const uint item = get_global_id(0), l = get_local_id(0);
  x[l] = bodies[item].x;
  y[l] = bodies[item].y;
  z[l] = bodies[item].z;
  sum_x[l] = 0;
  sum_y[l] = 0;
  sum_z[l] = 0;
  for (ulong first = 0; first < body_count; first += 4) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float own_x = sum_x[l], own_y = sum_y[l], own_z = sum_z[l];
#pragma unroll
    for (uint i = 0; i < 4; ++i) {
      const float4 other = bodies[first + i];
      const float dx = other.x - x[l], dy = other.y - y[l], dz = other.z - z[l];
      const float squared = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening)));
      const float inverse = 1.0f / sqrt(squared);
      const float weight = other.w * inverse * inverse * inverse;
      own_x = fma(weight, dx, own_x);
      own_y = fma(weight, dy, own_y);
      own_z = fma(weight, dz, own_z);
    }
    sum_x[l] = own_x;
    sum_y[l] = own_y;
    sum_z[l] = own_z;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  accelerations[item] = (Acceleration){sum_x[l], sum_y[l], sum_z[l]};
})";

}  // namespace orchid::bench::opencl
