/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a library of per-CPU memory in C has to export to be measured beside this crate: groups
 * `allocate` and `add`. CORELOCAL_C_ANCHOR names the shared object. See README.md, "The C anchor".
 *
 * An item is as many bytes for each CPU of its pool. Calls come from several threads at a time; an
 * item is freed before its pool goes, and all that was freed may be handed out again.
 */
#ifndef CORELOCAL_ANCHOR_H
#define CORELOCAL_ANCHOR_H

#include <stddef.h>
#include <stdint.h>

/* The version of what is declared here. */
#define CORELOCAL_ANCHOR_ABI 1
uint32_t corelocal_anchor_abi(void);

/* What the rows are called. Stays where it is. */
const char *corelocal_anchor_name(void);

/* A pool for items of so many bytes, a copy for each of `cpus` CPUs; NULL if that cannot be. */
void *corelocal_anchor_pool(size_t bytes, uint32_t cpus);
void corelocal_anchor_drop(void *pool);

/* An item, its copies with any contents, or with zeros; NULL without memory. */
void *corelocal_anchor_allocate(void *pool);
void *corelocal_anchor_zeroed(void *pool);
void corelocal_anchor_free(void *pool, void *item);

/* Writes something other than zeros to every copy, so that who wants zeros has to clear it. */
void corelocal_anchor_fill(void *pool, void *item);

/*
 * `ops` times: adds 1 to this CPU's copy of items[op & mask], a uint64_t. The loop is on this side,
 * so that no call between languages is in the figures; no count may be kept in a register from one
 * turn to the next.
 */
void corelocal_anchor_add(void *pool, void *const *items, uint64_t ops, uint64_t mask);

/* The sum over all copies of an item, while nobody adds. */
uint64_t corelocal_anchor_sum(void *pool, void *item);

#endif
