/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The anchor without a library: what one writes in C by hand. Ranges of lanes at a constant stride,
 * freed items on a stack under a mutex, locked adds at the copy that libc's rseq area leads to.
 * Needs glibc 2.35, and nothing else.
 *
 *     cc -O2 -shared -fPIC -o plain-anchor.so benches/anchor/plain.c
 */
#include "anchor.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>

#define EXPORT __attribute__((visibility("default")))
#define STRIDE ((size_t) 1 << 16)
#define RANGES 64

struct pool {
	pthread_mutex_t lock;
	size_t bytes, cpus;
	/* Items of each range, and of the last one those that were handed out. */
	size_t each, made;
	char *ranges[RANGES];
	size_t count;
	/* Freed items, the last one first. */
	void **freed;
	size_t idle;
};

EXPORT uint32_t corelocal_anchor_abi(void)
{
	return CORELOCAL_ANCHOR_ABI;
}

EXPORT const char *corelocal_anchor_name(void)
{
	return "by hand, locked (C)";
}

EXPORT void *corelocal_anchor_pool(size_t bytes, uint32_t cpus)
{
	struct pool *pool;

	if (bytes < 8 || bytes > STRIDE || !__rseq_size)
		return NULL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pool->bytes = (bytes + 7) / 8 * 8;
	pool->cpus = cpus;
	pool->each = STRIDE / pool->bytes;
	pool->freed = malloc(RANGES * pool->each * sizeof(void *));
	if (!pool->freed) {
		free(pool);
		return NULL;
	}
	return pool;
}

EXPORT void corelocal_anchor_drop(void *p)
{
	struct pool *pool = p;
	size_t at;

	for (at = 0; at < pool->count; at++)
		munmap(pool->ranges[at], pool->cpus * STRIDE);
	pthread_mutex_destroy(&pool->lock);
	free(pool->freed);
	free(pool);
}

/* An item that was never handed out. Holds the lock. */
static void *unused(struct pool *pool)
{
	if (pool->count == 0 || pool->made == pool->each) {
		void *range;

		if (pool->count == RANGES)
			return NULL;
		range = mmap(NULL, pool->cpus * STRIDE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (range == MAP_FAILED)
			return NULL;
		pool->ranges[pool->count++] = range;
		pool->made = 0;
	}
	return pool->ranges[pool->count - 1] + pool->bytes * pool->made++;
}

/* An item, and whether it was used before. */
static void *take(struct pool *pool, int *used)
{
	void *item;

	pthread_mutex_lock(&pool->lock);
	*used = pool->idle > 0;
	item = *used ? pool->freed[--pool->idle] : unused(pool);
	pthread_mutex_unlock(&pool->lock);
	return item;
}

EXPORT void *corelocal_anchor_allocate(void *pool)
{
	int used;

	return take(pool, &used);
}

EXPORT void *corelocal_anchor_zeroed(void *p)
{
	struct pool *pool = p;
	int used;
	char *item = take(pool, &used);
	size_t cpu;

	for (cpu = 0; item && used && cpu < pool->cpus; cpu++)
		memset(item + cpu * STRIDE, 0, pool->bytes);
	return item;
}

EXPORT void corelocal_anchor_free(void *p, void *item)
{
	struct pool *pool = p;

	pthread_mutex_lock(&pool->lock);
	pool->freed[pool->idle++] = item;
	pthread_mutex_unlock(&pool->lock);
}

EXPORT void corelocal_anchor_fill(void *p, void *item)
{
	struct pool *pool = p;
	size_t cpu;

	for (cpu = 0; cpu < pool->cpus; cpu++)
		memset((char *) item + cpu * STRIDE, 1, pool->bytes);
}

/* This thread's CPU, a moment ago. */
static inline unsigned int this_cpu(void)
{
	struct rseq *area = (struct rseq *) ((char *) __builtin_thread_pointer() + __rseq_offset);

	return *(volatile unsigned int *) &area->cpu_id_start;
}

EXPORT void corelocal_anchor_add(void *pool, void *const *items, uint64_t ops, uint64_t mask)
{
	uint64_t op;

	(void) pool;
	for (op = 0; op < ops; op++) {
		uint64_t *item = items[op & mask];

		/* An optimised `lock add`: nobody wants what was there. */
		__atomic_fetch_add(item + this_cpu() * (STRIDE / sizeof(*item)), 1, __ATOMIC_RELAXED);
	}
}

EXPORT uint64_t corelocal_anchor_sum(void *p, void *item)
{
	struct pool *pool = p;
	uint64_t *words = item, sum = 0;
	size_t cpu;

	for (cpu = 0; cpu < pool->cpus; cpu++)
		sum += words[cpu * (STRIDE / sizeof(*words))];
	return sum;
}
