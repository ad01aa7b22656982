// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes posts slow: in the driver, or in a softirq after the post. A caller with softirqs off
 * runs that softirq after its unlock, as with rxe on Linux 6.1.
 */
#include <linux/delay.h>

#include "mock.h"

#define MOCK_MAX_MS	2000

static unsigned int mock_post_ms;
static unsigned int mock_after_ms;

static int mock_set_ms(unsigned int *to, unsigned int ms)
{
	if (ms > MOCK_MAX_MS)
		return -EINVAL;
	WRITE_ONCE(*to, ms);
	return 0;
}

int mock_post_delay(unsigned int ms)
{
	return mock_set_ms(&mock_post_ms, ms);
}

int mock_after_delay(unsigned int ms)
{
	return mock_set_ms(&mock_after_ms, ms);
}

/* Posts and softirqs must not sleep, so this spins. */
static void mock_spin(struct mock_dev *m, enum mock_op op, unsigned int *ms)
{
	struct mock_gate *gate = &m->gates[op];
	unsigned int left = READ_ONCE(*ms);
	unsigned long flags;

	if (!left)
		return;
	spin_lock_irqsave(&m->lock, flags);
	gate->waiting++;
	spin_unlock_irqrestore(&m->lock, flags);
	for (; left && READ_ONCE(*ms); left--)
		mdelay(1);
	spin_lock_irqsave(&m->lock, flags);
	gate->waiting--;
	spin_unlock_irqrestore(&m->lock, flags);
}

void mock_post_slowly(struct mock_dev *m, enum mock_op op)
{
	mock_spin(m, op, &mock_post_ms);
}

void mock_after_post(struct mock_dev *m)
{
	if (READ_ONCE(mock_after_ms))
		tasklet_schedule(&m->after);
}

void mock_after(struct tasklet_struct *after)
{
	mock_spin(container_of(after, struct mock_dev, after), MOCK_OP_post_send, &mock_after_ms);
}
