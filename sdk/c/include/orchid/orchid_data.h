/* orchid/orchid_data.h: data objects from C; a part of orchid/orchid.h. An object is bytes that
 * nobody changes, in the memory of hosts, and functions are given it without moving it. It is named
 * by a reference: "NAME", which is the newest version, "NAME@3", or its id. */
#ifndef ORCHID_ORCHID_DATA_H
#define ORCHID_ORCHID_DATA_H

#include "orchid/orchid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of one. No text is NULL; what is not known is "". */
typedef struct orchid_data_info {
  const char* id;   /* "d-..." */
  const char* name; /* "": it has none */
  uint64_t version; /* of the name, from 1 */
  uint64_t size;    /* in bytes */
  const char* state;
  const char* created; /* as the gateway writes times */
  const char* expires; /* the same; "": never */
  const char* digest;  /* "sha256:..."; "": nobody has asked for it yet */
  const char* const* hosts;
  size_t host_count;
  uint32_t copies_wanted;
  const struct orchid_data_info* next; /* of a list; NULL: none */
} orchid_data_info;
/* With all that come behind it. `info`: the first; NULL: nothing happens. */
void orchid_data_info_free(const orchid_data_info* info);

/* All zero, or NULL, is a good default. */
typedef struct orchid_data_options {
  const char* if_match;  /* only when this id is the newest version */
  int only_new;          /* not 0: only when the name is not taken */
  uint64_t expires_in_s; /* 0: never; without a name as the site says */
  uint32_t copies;       /* at least so many are kept, on different hosts; 0: one */
} orchid_data_options;

/* Makes an object, a new version where the name is taken; `name` NULL: it has none. It is there
 * when this returns. `made`: NULL, or what it has become, to be freed. ORCHID_STATUS_NO_CAPACITY:
 * no executor has room; ORCHID_STATUS_CONFLICT, ORCHID_STATUS_QUOTA. */
orchid_status orchid_data_put(orchid_client* client, const char* name, const void* bytes,
                              size_t size, const orchid_data_options* options,
                              const orchid_data_info** made);
/* The same of all bytes of a file. ORCHID_STATUS_NOT_FOUND: there is no such file;
 * ORCHID_STATUS_BAD_REQUEST: it is no regular file; ORCHID_STATUS_SYSTEM: it cannot be read. */
orchid_status orchid_data_put_file(orchid_client* client, const char* name, const char* path,
                                   const orchid_data_options* options,
                                   const orchid_data_info** made);

/* Of the following ORCHID_STATUS_NOT_FOUND, also when no copy is left. */
orchid_status orchid_data_get(orchid_client* client, const char* reference, orchid_bytes* bytes);
/* To memory of the caller's, and how many to `*size`. ORCHID_STATUS_TOO_LARGE: it has more than
 * `capacity`; `*size` says how many. */
orchid_status orchid_data_get_into(orchid_client* client, const char* reference, void* room,
                                   size_t capacity, size_t* size);
/* To a file, which has all of it when this has succeeded, and else is as it was before. It is a new
 * file, with the mode of one: it takes the place of an old one, or of a symbolic link.
 * ORCHID_STATUS_BAD_REQUEST: there is something else with that name; ORCHID_STATUS_SYSTEM,
 * ORCHID_STATUS_DISK_FULL: it cannot be written. */
orchid_status orchid_data_get_file(orchid_client* client, const char* reference, const char* path);
/* Its bytes in this program's memory: on the host of the executor that has them without a copy,
 * else fetched. They stay until `mapping` is freed; to write to them ends the program. */
typedef struct orchid_data_mapping orchid_data_mapping;
orchid_status orchid_data_map(orchid_client* client, const char* reference,
                              orchid_data_mapping** mapping);
const void* orchid_data_mapping_bytes(const orchid_data_mapping* mapping, size_t* size);
void orchid_data_mapping_free(orchid_data_mapping* mapping);

orchid_status orchid_data_describe(orchid_client* client, const char* reference,
                                   const orchid_data_info** info);
/* All of this user; `*first` is NULL when there is none. */
orchid_status orchid_data_list(orchid_client* client, const orchid_data_info** first);
/* Of a name without a version all versions. */
orchid_status orchid_data_remove(orchid_client* client, const char* reference);

/* The version that a reference means now, for calls of this lease (orchid_call_options). It may be
 * used for as many calls as are wanted, and freed when the last of them was made. It keeps nothing:
 * calls that are given an object that was removed end with ORCHID_STATUS_DATA_LOST. */
orchid_status orchid_lease_data(orchid_lease* lease, const char* reference,
                                orchid_leased_data** data);
/* Valid until it is freed. */
const char* orchid_leased_data_id(const orchid_leased_data* data);
uint64_t orchid_leased_data_size(const orchid_leased_data* data);
void orchid_leased_data_free(orchid_leased_data* data);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ORCHID_ORCHID_DATA_H */
