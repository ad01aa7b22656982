// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys and values: a hash table in memory.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "kvs.h"

/* Clients are not trusted, so their memory is limited. */
#define ENTRIES_MAX	16384

struct entry {
	struct hlist_node node;
	size_t key_len;
	size_t value_len;
	u8 data[];
};

static DEFINE_HASHTABLE(table, 10);
static DEFINE_SPINLOCK(table_lock);	/* all of the table */
static unsigned int num_entries;

static u32 hash_of(const u8 *key, size_t key_len)
{
	return jhash(key, key_len, 0);
}

static struct entry *find(const u8 *key, size_t key_len)
{
	struct entry *e;

	hash_for_each_possible(table, e, node, hash_of(key, key_len))
		if (e->key_len == key_len && !memcmp(e->data, key, key_len))
			return e;
	return NULL;
}

int kvs_store_put(const u8 *key, size_t key_len, const u8 *value, size_t len)
{
	struct entry *e, *old;

	e = kmalloc(struct_size(e, data, key_len + len), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	e->key_len = key_len;
	e->value_len = len;
	memcpy(e->data, key, key_len);
	memcpy(e->data + key_len, value, len);

	spin_lock(&table_lock);
	old = find(key, key_len);
	if (!old && num_entries == ENTRIES_MAX) {
		spin_unlock(&table_lock);
		kfree(e);
		return -ENOSPC;
	}
	if (old)
		hash_del(&old->node);
	else
		num_entries++;
	hash_add(table, &e->node, hash_of(key, key_len));
	spin_unlock(&table_lock);
	kfree(old);
	return 0;
}

/* Returns the value's length. @value may overlap @key. */
ssize_t kvs_store_get(const u8 *key, size_t key_len, u8 *value)
{
	ssize_t len = -ENOENT;
	struct entry *e;

	spin_lock(&table_lock);
	e = find(key, key_len);
	if (e) {
		len = e->value_len;
		memcpy(value, e->data + key_len, len);
	}
	spin_unlock(&table_lock);
	return len;
}

int kvs_store_delete(const u8 *key, size_t key_len)
{
	struct entry *e;

	spin_lock(&table_lock);
	e = find(key, key_len);
	if (e) {
		hash_del(&e->node);
		num_entries--;
	}
	spin_unlock(&table_lock);
	if (!e)
		return -ENOENT;
	kfree(e);
	return 0;
}

/* Called without users of the table */
void kvs_store_clear(void)
{
	struct hlist_node *next;
	struct entry *e;
	int bucket;

	hash_for_each_safe(table, bucket, next, e, node) {
		hash_del(&e->node);
		kfree(e);
	}
	num_entries = 0;
}
