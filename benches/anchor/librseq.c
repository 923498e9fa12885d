/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The anchor over librseq (https://github.com/compudj/librseq), by its public interface: pools of
 * items, and adds that are restartable sequences.
 *
 *     cc -O2 -D_GNU_SOURCE -shared -fPIC -o librseq-anchor.so benches/anchor/librseq.c -lrseq
 *
 * librseq has to be loaded with the program (LD_PRELOAD): its thread-local words cannot come later.
 */
#include "anchor.h"
#include <rseq/mempool.h>
#include <rseq/rseq.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t corelocal_anchor_abi(void)
{
	return CORELOCAL_ANCHOR_ABI;
}

EXPORT const char *corelocal_anchor_name(void)
{
	return "librseq (C)";
}

/* librseq knows the size of its items, and does not tell. */
struct pool {
	struct rseq_mempool *items;
	size_t bytes;
};

EXPORT void corelocal_anchor_drop(void *p)
{
	struct pool *pool = p;

	rseq_mempool_destroy(pool->items);
	free(pool);
}

EXPORT void *corelocal_anchor_pool(size_t bytes, uint32_t cpus)
{
	struct rseq_mempool_attr *attr;
	struct pool *pool;

	/* The threads are not ours to register. */
	if (!rseq_available(RSEQ_AVAILABLE_QUERY_LIBC))
		return NULL;
	pool = calloc(1, sizeof(*pool));
	attr = rseq_mempool_attr_create();
	if (!pool || !attr)
		abort();
	pool->bytes = bytes;
	/* Zeros that nobody reads are not written: as in this crate. */
	if (!rseq_mempool_attr_set_percpu(attr, RSEQ_MEMPOOL_STRIDE, (int) cpus) &&
	    !rseq_mempool_attr_set_max_nr_ranges(attr, 64) &&
	    !rseq_mempool_attr_set_populate_policy(attr, RSEQ_MEMPOOL_POPULATE_COW_ZERO))
		pool->items = rseq_mempool_create("corelocal", bytes, attr);
	rseq_mempool_attr_destroy(attr);
	if (!pool->items) {
		free(pool);
		return NULL;
	}
	return pool;
}

EXPORT void *corelocal_anchor_allocate(void *pool)
{
	return rseq_mempool_percpu_malloc(((struct pool *) pool)->items);
}

EXPORT void *corelocal_anchor_zeroed(void *pool)
{
	return rseq_mempool_percpu_zmalloc(((struct pool *) pool)->items);
}

EXPORT void corelocal_anchor_fill(void *p, void *item)
{
	struct pool *pool = p;
	int cpu, cpus = rseq_mempool_get_max_nr_cpus(pool->items);

	for (cpu = 0; cpu < cpus; cpu++)
		memset(rseq_percpu_ptr((char *) item, cpu), 1, pool->bytes);
}

EXPORT void corelocal_anchor_free(void *pool, void *item)
{
	(void) pool;
	rseq_mempool_percpu_free(item);
}

EXPORT void corelocal_anchor_add(void *pool, void *const *items, uint64_t ops, uint64_t mask)
{
	uint64_t op;

	(void) pool;
	for (op = 0; op < ops; op++) {
		intptr_t *item = items[op & mask];
		int cpu;

		do {
			cpu = (int) rseq_cpu_start();
		} while (rseq_load_add_store__ptr(RSEQ_MO_RELAXED, RSEQ_PERCPU_CPU_ID,
						  rseq_percpu_ptr(item, cpu), 1, cpu));
	}
}

EXPORT uint64_t corelocal_anchor_sum(void *pool, void *item)
{
	int cpu, cpus = rseq_mempool_get_max_nr_cpus(((struct pool *) pool)->items);
	uint64_t sum = 0;

	for (cpu = 0; cpu < cpus; cpu++)
		sum += *rseq_percpu_ptr((uint64_t *) item, cpu);
	return sum;
}
