// Kernels of every shape that a body may have, and an entry that runs them: each must give the same
// bits whether its loop over the items became vector code or not.
#include <orchid/kernel.h>
#include <stdio.h>
#include <string.h>

enum { most_items = 1000, rows = 100 };

struct A {
  const float* x;
  const float* v;
  float* y;
  uint64_t n;
  uint32_t* u;
  const uint32_t* w;
};

ORCHID_KERNEL(idw, struct A) {
  float num = 0, den = 0;
  float q = args.x[item];
  for (uint64_t j = 0; j < args.n; ++j) {
    float d = q - args.x[j];
    float w = 1.0f / (d * d + 1e-3f);
    num += w * args.v[j];
    den += w;
  }
  args.y[item] = num / den;
}

ORCHID_KERNEL(cond, struct A) {
  float num = 0;
  float q = args.x[item];
  for (uint64_t j = 0; j < args.n; ++j) {
    float d = q - args.x[j];
    if (d > 0.1f)
      num += d;
    else if (d < -0.3f)
      num -= args.v[j];
  }
  args.y[item] = num;
}

ORCHID_KERNEL(diverg, struct A) {
  float num = 0;
  for (uint32_t j = 0; j < (args.w[item] & 31); ++j) {
    num += args.x[j];
  }
  args.y[item] = num;
}

ORCHID_KERNEL(powi_diverg, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) num += __builtin_powif(args.x[j], args.w[item] & 3);
  args.y[item] = num;
}

ORCHID_KERNEL(ends_early, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) {
    num += args.x[j] * args.x[item];
    args.y[item] = num;
    if (args.v[j] > 1.1f) break;
  }
}

static __attribute__((noinline)) float helper(float a) { return a * a + 1; }
ORCHID_KERNEL(calls, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) num += helper(args.x[j] + args.x[item]);
  args.y[item] = num;
}
ORCHID_KERNEL(libm, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) num += expf(args.x[j] - args.x[item]);
  args.y[item] = num;
}
ORCHID_KERNEL(sqrtk, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) num += sqrtf(fabsf(args.x[j] - args.x[item]));
  args.y[item] = num;
}
ORCHID_KERNEL(prints, struct A) {
  float num = 0;
  for (uint64_t j = 0; j < args.n; ++j) {
    num += args.x[j];
    if (args.n == 12345) printf("%f", num);
  }
  args.y[item] = num;
}
ORCHID_KERNEL(atom, struct A) {
  for (uint64_t j = 0; j < args.n; ++j)
    __atomic_fetch_add(&args.u[j & 7], args.w[item], __ATOMIC_RELAXED);
}
ORCHID_KERNEL(hash, struct A) {
  uint32_t h = (uint32_t)item;
  for (int j = 0; j < 64; ++j) {
    h ^= h << 13;
    h ^= h >> 17;
    h ^= h << 5;
    h += j;
  }
  args.u[item] = h;
}
ORCHID_KERNEL(nest3, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j)
    for (uint64_t k = 0; k < 4; ++k) s += args.x[(j * k) & 15] * args.v[item];
  args.y[item] = s;
}
ORCHID_KERNEL(nest3b, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) {
    float t = 0;
    for (uint64_t k = 0; k < args.n; ++k) t += args.x[k] * args.v[item];
    s += t * args.x[j];
  }
  args.y[item] = s;
}
ORCHID_KERNEL(localarr, struct A) {
  float t[16];
  for (int j = 0; j < 16; ++j) t[j] = args.x[item] * j;
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) s += t[(j * 7) & 15] * args.v[j];
  args.y[item] = s;
}
ORCHID_KERNEL(scratch, struct A) {
  float t[8];
  const uint32_t k = args.w[item] & 7;
  for (int j = 0; j < 8; ++j) t[j] = args.x[item] * (float)j;
  t[k] += 1;
  t[(k + args.w[item] / 8) & 7] *= 3;
  args.y[item] = t[(k + 3) & 7] + t[args.w[item] / 64 & 7];
}
ORCHID_KERNEL(alike, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) {
    if (args.w[0] & 1)
      s += args.x[j] * args.v[item];
    else
      s -= args.x[j];
    if (args.n > 50) s *= 0.5f;
  }
  args.y[item] = s;
}
ORCHID_KERNEL(either, struct A) {
  float t[4] = {args.x[item], 1, 2, 3};
  float* to = (args.w[item] & 1) != 0 ? t : t + 1;
  for (uint64_t j = 0; j < args.n; ++j) to[j & 1] += args.x[j];
  args.y[item] = t[0] + t[1] + t[2];
}
ORCHID_KERNEL(integers, struct A) {
  uint64_t h = item;
  for (unsigned j = 0; j < 32; ++j) {
    h = h * 6364136223846793005u + (h >> (j % 5));
    h %= 1000003;
  }
  args.u[item] = (uint32_t)h;
}
ORCHID_KERNEL(octets, struct A) {
  uint8_t c = (uint8_t)item;
  for (uint64_t j = 0; j < args.n; ++j) c = (uint8_t)(c * 3 + ((const uint8_t*)args.x)[j]);
  args.u[item] = c;
}
ORCHID_KERNEL(extremes, struct A) {
  float low = args.x[item];
  float high = low;
  for (uint64_t j = 0; j < args.n; ++j) {
    const float d = args.x[j] * args.v[item];
    low = d < low ? d : low;
    high = fmaxf(high, d);
  }
  args.y[item] = high - low;
}
ORCHID_KERNEL(through_memory, struct A) {
  for (uint64_t j = 0; j < args.n; ++j) {
    args.u[item] += args.w[j] ^ (uint32_t)item;
    args.y[item] += (float)(args.u[item] & 255);
  }
}
ORCHID_KERNEL(downwards, struct A) {
  float s = 0;
  for (uint64_t j = args.n; j-- > 0;) s = s * 0.75f + args.x[j] * args.v[item];
  args.y[item] = s;
}
ORCHID_KERNEL(by_twos, struct A) {
  float s = 0;
  for (uint64_t j = 0; j + 1 < args.n; j += 2) s += args.x[j] * args.x[j + 1] - args.v[item];
  args.y[item] = s;
}
ORCHID_KERNEL(one_after_another, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) s += args.x[j] * args.v[item];
  float t = s;
  for (uint64_t j = 0; j < 17; ++j) t = t * 0.5f + args.v[j];
  args.y[item] = t - s;
}
ORCHID_KERNEL(early, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) {
    s += args.x[j] * args.v[item];
    if (s > 3) break;
  }
  args.y[item] = s;
}
ORCHID_KERNEL(guard, struct A) {
  if (args.w[item] & 1) return;
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) s += args.x[j] * args.v[item];
  args.y[item] = s;
}
ORCHID_KERNEL(store_in, struct A) {
  args.y[item] = 0;
  for (uint64_t j = 0; j < args.n; ++j) args.y[item] += args.x[j] * args.v[item];
}
ORCHID_KERNEL(mem, struct A) {
  float s = 0;
  float t[64];
  for (uint64_t j = 0; j < args.n; ++j) {
    memcpy(t, args.x + j * 0, sizeof t);
    s += t[item & 63];
  }
  args.y[item] = s;
}
ORCHID_KERNEL(sw, struct A) {
  float s = 0;
  for (uint64_t j = 0; j < args.n; ++j) switch (args.w[j] & 3) {
      case 0:
        s += 1;
        break;
      case 1:
        s *= 0.5f;
        break;
      case 2:
        s -= args.x[item];
        break;
      default:
        s += args.v[j];
    }
  args.y[item] = s;
}
ORCHID_KERNEL(whileloop, struct A) {
  uint32_t n = (uint32_t)item + 1, c = 0;
  while (n != 1 && c < 100) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++c;
  }
  args.u[item] = c;
}
ORCHID_KERNEL(dbl, struct A) {
  double s = 0;
  for (uint64_t j = 0; j < args.n; ++j) s += (double)args.x[j] * args.v[item];
  args.y[item] = (float)s;
}
ORCHID_KERNEL(idx64, struct A) {
  uint64_t s = 0;
  for (uint64_t j = 0; j < args.n; ++j) s += item * j;
  args.u[item] = (uint32_t)(s >> 3);
}
ORCHID_GROUP_KERNEL(grp, struct A, 64) {
  ORCHID_LOCAL(float, part, 64);
  for (uint32_t i = 0; i < 64; ++i) part[i] = 0;  // a short group has fewer items
  ORCHID_ITEMS { part[local] = args.x[item]; }
  for (uint32_t step = 32; step > 0; step /= 2) {
    ORCHID_ITEMS {
      if (local < step && local + step < 64) part[local] += part[local + step];
    }
  }
  ORCHID_ITEMS {
    float s = 0;
    for (uint64_t j = 0; j < args.n; ++j) s += part[j & 63] * args.v[item];
    args.y[item] = s;
  }
}

/* A chain that the promise does not cover: this loop asks for vector code, and its iterations
 * depend on each other. */
static __attribute__((noinline)) void prefix(float* y, const float* x, int n) {
#pragma clang loop vectorize(enable)
  for (int i = 1; i < n; ++i)
    for (int j = 0; j < 4; ++j) y[i] += y[i - 1] * x[j];
}

static uint64_t hash_of(uint64_t hash, const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
  return hash;
}

static const orchid_kernel* const all[] = {&idw,         &cond,       &diverg,
                                           &powi_diverg, &ends_early, &calls,
                                           &libm,        &sqrtk,      &prints,
                                           &atom,        &hash,       &nest3,
                                           &nest3b,      &localarr,   &scratch,
                                           &alike,       &either,     &integers,
                                           &octets,      &extremes,   &through_memory,
                                           &downwards,   &by_twos,    &one_after_another,
                                           &early,       &guard,      &store_in,
                                           &mem,         &sw,         &whileloop,
                                           &dbl,         &idx64,      &grp};

ORCHID_ENTRY(run_all) {
  static const uint64_t ends[] = {1, 64, 71, 448, most_items};
  float x[most_items], v[most_items], y[most_items];
  uint32_t u[most_items], w[most_items];
  for (int i = 0; i < most_items; ++i) {
    x[i] = (float)((i * 37) % 101) / 50.0f - 1;
    v[i] = (float)((i * 53) % 97) / 40.0f - 1;
    w[i] = (uint32_t)i * 2654435761u >> 7;
  }
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
    uint64_t hash = 14695981039346656037u;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; ++e) {
      memset(y, 0, sizeof y);
      memset(u, 0, sizeof u);
      const struct A args = {x, v, y, rows, u, w};
      all[k]->run(&args, 0, ends[e]);
      hash = hash_of(hash_of(hash, y, sizeof y), u, sizeof u);
    }
    char line[80];
    const int size =
        snprintf(line, sizeof line, "%s %016llx\n", all[k]->name, (unsigned long long)hash);
    memcpy(orchid_append(call, (size_t)size), line, (size_t)size);
  }
  memcpy(y, v, sizeof y);
  prefix(y, x, most_items);
  char line[80];
  const int size =
      snprintf(line, sizeof line, "prefix %016llx\n", (unsigned long long)hash_of(0, y, sizeof y));
  memcpy(orchid_append(call, (size_t)size), line, (size_t)size);
  return ORCHID_OK;
}
