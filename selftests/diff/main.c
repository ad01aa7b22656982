// SPDX-License-Identifier: GPL-2.0-only
/* Runs all topics, or those named on the command line, and prints the answers. */
#include <ctype.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "diff.h"

#define LIMIT_MS	(30000 * TEST_SCALE)	/* limit of one call without diff_hangs() */
#define TOPIC_S		(240 * TEST_SCALE)	/* limit of a topic; a bug of the test exceeds it */

sigjmp_buf diff_jump;
bool diff_crashed;
static volatile sig_atomic_t in_call;
static const char *topic;
static char label[256];
static int limit_ms;		/* limit of the next call; 0: LIMIT_MS */

static void set_timer(int ms)
{
	struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static const char *signal_name(int sig)
{
	switch (sig) {
	case SIGALRM:
		return "HANG";
	case SIGSEGV:
	case SIGBUS:
		return "SIGSEGV";
	case SIGABRT:
		return "SIGABRT";
	default:
		return "SIGNAL";
	}
}

static void on_signal(int sig)
{
	if (in_call) {
		in_call = 0;
		siglongjmp(diff_jump, sig);
	}
	printf("%s: outside of a call, after %s | %s\n", topic, label, signal_name(sig));
	fflush(stdout);
	_exit(1);
}

/* The label begins with the topic and the function's name, which precedes a parenthesis. */
void diff_begin(const char *call, const char *fmt, ...)
{
	const char *start, *end;
	va_list ap;
	int len;

	/* "(f)(" calls a function that a macro hides. */
	end = strpbrk(call + 1, "()");
	start = end;
	while (start > call && (isalnum(start[-1]) || start[-1] == '_'))
		start--;
	len = snprintf(label, sizeof(label), "%s: %.*s: ", topic, (int)(end - start), start);
	va_start(ap, fmt);
	vsnprintf(label + len, sizeof(label) - len, fmt, ap);
	va_end(ap);
	set_timer(limit_ms ?: LIMIT_MS);
	limit_ms = 0;
	diff_crashed = false;
	in_call = 1;
	errno = 0;
}

const char *diff_errno(int error)
{
	const char *name = strerrorname_np(error);
	static char number[16];

	if (name)
		return name;
	snprintf(number, sizeof(number), "E%d", error);
	return number;
}

void diff_end(enum diff_kind kind, long value)
{
	int error = errno;

	in_call = 0;
	set_timer(0);
	printf("%s | ", label);
	switch (kind) {
	case DIFF_N:
		if (value)
			puts("pointer");
		else
			printf("NULL %s\n", diff_errno(error));
		break;
	case DIFF_V:
		puts("done");
		break;
	case DIFF_X:
		printf(value ? "%ld %s\n" : "%ld\n", value, diff_errno(error));
		break;
	case DIFF_P:
		if (value > 0) {
			puts(diff_errno(value));
			break;
		}
		/* fall through */
	default:
		if (value == -1)
			printf("-1 %s\n", diff_errno(error));
		else if (value < 0)
			printf("-%s\n", diff_errno(-value));
		else
			printf("%ld\n", value);
		break;
	}
}

void diff_died(int sig)
{
	diff_crashed = true;
	set_timer(0);
	printf("%s | %s\n", label, signal_name(sig));
}

void diff_value(const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("%s = %s | ", label, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void diff_failed(const char *what)
{
	printf("%s: after %s | failed: %s (%s)\n", topic, label, what, diff_errno(errno));
	fflush(stdout);
	_exit(1);
}

void diff_hangs(int ms)
{
	limit_ms = ms;
}

void *diff_copy(const void *object)
{
	size_t size = malloc_usable_size((void *)object);
	void *copy = calloc(1, size);

	NEED(copy);
	return memcpy(copy, object, size);
}

static void on_alarm(int sig)
{
}

static void run_topic(const char *name, void (*fn)(void))
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGALRM };
	struct sigaction action = { .sa_handler = on_signal };
	int status = 0;
	pid_t pid;
	size_t i;

	fflush(stdout);
	topic = name;
	pid = fork();
	if (!pid) {
		for (i = 0; i < ARRAY_SIZE(signals); i++)
			sigaction(signals[i], &action, NULL);
		fn();
		fflush(stdout);
		/* Skip destructors, as a call may have crashed in the library. */
		_exit(0);
	}
	alarm(TOPIC_S);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("%s: the process | hangs\n", name);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	} else if (WIFSIGNALED(status)) {
		printf("%s: the process | died\n", name);
	}
	alarm(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		diff_topic *fn;
	} topics[] = {
#define TOPIC(_name)	{ #_name, diff_topic_##_name }
		TOPIC(cm_channel), TOPIC(cm_id), TOPIC(cm_resolve), TOPIC(cm_addrinfo),
		TOPIC(cm_option), TOPIC(cm_conn), TOPIC(cm_accept), TOPIC(cm_qp), TOPIC(cm_srq),
		TOPIC(cm_ep), TOPIC(cm_mcast), TOPIC(cm_inline), TOPIC(dev), TOPIC(dev_query),
		TOPIC(pd), TOPIC(mr), TOPIC(cq), TOPIC(comp), TOPIC(srq), TOPIC(qp),
		TOPIC(qp_rc), TOPIC(qp_uc), TOPIC(qp_ud), TOPIC(post_recv), TOPIC(post_send),
		TOPIC(data), TOPIC(ah), TOPIC(mcast), TOPIC(async), TOPIC(cq_ex), TOPIC(qp_ex),
		TOPIC(ext), TOPIC(pure),
	};
	size_t i;
	int a;

	/* SIGALRM interrupts waitpid(). */
	sigaction(SIGALRM, &(struct sigaction) { .sa_handler = on_alarm }, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < ARRAY_SIZE(topics); i++) {
		for (a = 1; a < argc && strcmp(argv[a], topics[i].name); a++)
			;
		if (argc == 1 || a < argc)
			run_topic(topics[i].name, topics[i].fn);
	}
	return 0;
}
