// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of rules:
 *
 *	RULES	= RULE { (newline | ";") RULE }, "#" begins a comment up to the end of a line
 *	RULE	= CGROUP { LIMIT } | ("device=" GLOB | "driver=" NAME) CONDITION { CONDITION }
 *	LIMIT	= "objects=" NUMBER | "queue=" SIZE | "pinned=" SIZE | "memlock=" ("rlimit" |
 *		  "quota") | "users=" ("shared" | "apart")
 *	CONDITION = "gid=" NUMBER { "," NUMBER } | "cgroup=" CGROUP
 *	CGROUP	= "/" [ GLOB { "/" GLOB } ]
 *
 * SIZE is a number of bytes with an optional K, M, G, T, P or E of either case; "max" is no limit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "../../engine/driver.h"
#include "rules.h"

#define UEP_BLANKS	" \t\r"

/* Splits "/a/b" into its names, in place. */
static int uep_parse_pattern(char *path, struct uep_pattern *p)
{
	char *name;

	if (*path++ != '/')
		return -EINVAL;
	p->level = 0;
	while ((name = strsep(&path, "/"))) {
		if (!*name) {
			/* "/", or a "/" at the end */
			if (path)
				return -EINVAL;
			break;
		}
		if (p->level == UEP_MAX_LEVELS)
			return -E2BIG;
		p->name[p->level++] = name;
	}
	return 0;
}

/* Not memparse(), which wraps around, and takes octal and hexadecimal numbers. */
static int uep_parse_size(const char *text, u64 *number)
{
	static const char units[] = "KMGTPE";
	size_t len = strspn(text, "0123456789");
	const char *unit = text[len] ? strchr(units, toupper(text[len])) : NULL;
	char digits[24] = "";
	int ret;

	if (text[len] && (!unit || text[len + 1]))
		return -EINVAL;
	if (len >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, text, len);
	ret = kstrtou64(digits, 10, number);
	if (!ret && unit && check_shl_overflow(*number, 10 * (unit - units + 1), number))
		ret = -ERANGE;
	return ret;
}

static int uep_parse_number(const char *text, bool size, u64 *number)
{
	if (!strcmp(text, "max")) {
		*number = U64_MAX;
		return 0;
	}
	return size ? uep_parse_size(text, number) : kstrtou64(text, 10, number);
}

/* Returns the value of "KEY=VALUE", or NULL if the word has another key. */
static char *uep_value(char *word, const char *key)
{
	size_t len = strlen(key);

	return strncmp(word, key, len) || word[len] != '=' ? NULL : word + len + 1;
}

static int uep_parse_limit(struct uep_rule *r, char *word)
{
	static const char * const keys[UEP_NR_HELD] = { "objects", "queue", "pinned" };
	static const char * const memlocks[] = { "rlimit", "quota" };
	static const char * const users[] = { "shared", "apart" };
	char *value;
	int i;

	for (i = 0; i < UEP_NR_HELD; i++) {
		value = uep_value(word, keys[i]);
		if (value) {
			r->set |= BIT(i);
			return uep_parse_number(value, i != UEP_OBJS, &r->max[i]);
		}
	}
	value = uep_value(word, "memlock");
	if (value) {
		i = match_string(memlocks, ARRAY_SIZE(memlocks), value);
		r->memlock = UEP_MEMLOCK_RLIMIT + i;
		return min(i, 0);
	}
	value = uep_value(word, "users");
	if (value) {
		i = match_string(users, ARRAY_SIZE(users), value);
		r->users = UEP_USERS_SHARED + i;
		return min(i, 0);
	}
	return -EINVAL;
}

static int uep_parse_gids(struct uep_access_rule *r, char *list)
{
	char *word;
	gid_t gid;
	int ret;

	while ((word = strsep(&list, ","))) {
		if (r->nr_gids == UEP_MAX_RULE_GIDS)
			return -E2BIG;
		ret = kstrtou32(word, 10, &gid);
		if (ret)
			return ret;
		r->gids[r->nr_gids] = make_kgid(&init_user_ns, gid);
		if (!gid_valid(r->gids[r->nr_gids++]))
			return -EINVAL;
	}
	return 0;
}

static int uep_parse_condition(struct uep_access_rule *r, char *word)
{
	char *value = uep_value(word, "gid");

	if (value)
		return uep_parse_gids(r, value);
	value = uep_value(word, "cgroup");
	if (!value || r->has_group)
		return -EINVAL;
	r->has_group = true;
	return uep_parse_pattern(value, &r->group);
}

/* *@word: the first one; on failure the one at which the rule ends */
static int uep_parse_words(struct uep_rules *rules, char **word, char *rest)
{
	struct uep_access_rule *access = &rules->access[rules->nr_access];
	struct uep_rule *limits = &rules->rules[rules->nr];
	bool is_access = **word != '/';
	int ret = 0;

	if (is_access ? rules->nr_access == UEP_MAX_RULES : rules->nr == UEP_MAX_RULES)
		return -E2BIG;
	if (is_access) {
		access->device = uep_value(*word, "device");
		access->driver = uep_value(*word, "driver");
		if (!access->device && !access->driver)
			return -EINVAL;
	} else {
		ret = uep_parse_pattern(*word, &limits->group);
	}
	while (!ret && rest) {
		*word = strsep(&rest, UEP_BLANKS);
		if (!**word)
			continue;
		ret = is_access ? uep_parse_condition(access, *word) :
				  uep_parse_limit(limits, *word);
	}
	/* Without a condition it is a mistake: it would close the device for all tasks. */
	if (!ret && is_access && !access->nr_gids && !access->has_group)
		ret = -EINVAL;
	if (is_access)
		rules->nr_access++;
	else
		rules->nr++;
	return ret;
}

static int uep_parse_line(struct uep_rules *rules, char *line)
{
	char *rule, *word;
	int ret;

	line[strcspn(line, "#")] = 0;
	while ((rule = strsep(&line, ";"))) {
		rule += strspn(rule, UEP_BLANKS);
		if (!*rule)
			continue;
		word = strsep(&rule, UEP_BLANKS);
		ret = uep_parse_words(rules, &word, rule);
		if (ret) {
			pr_notice("rules: error %d at \"%s\"\n", ret, word);
			return ret;
		}
	}
	return 0;
}

/*
 * Returns the rules, for kvfree(), or ERR_PTR: -EINVAL, -ERANGE, -E2BIG, -ENOENT (no such driver),
 * -ENOMEM
 */
struct uep_rules *uep_rules_parse(const char *text)
{
	size_t len = strlen(text);
	struct uep_rules *rules;
	char *words, *line;
	int ret = 0;

	if (len > UEP_MAX_RULES_TEXT)
		return ERR_PTR(-E2BIG);
	rules = kvzalloc(sizeof(*rules), GFP_KERNEL);
	if (!rules)
		return ERR_PTR(-ENOMEM);
	memcpy(rules->text, text, len);
	strim(rules->text);
	memcpy(rules->words, text, len);
	words = rules->words;
	while (!ret && (line = strsep(&words, "\n")))
		ret = uep_parse_line(rules, line);
	ret = ret ?: uep_rules_check_drivers(rules);
	if (ret) {
		kvfree(rules);
		return ERR_PTR(ret);
	}
	return rules;
}

/* A misspelt driver would be open to all tasks. */
int uep_rules_check_drivers(const struct uep_rules *rules)
{
	unsigned int i;

	for (i = 0; i < rules->nr_access; i++) {
		const char *driver = rules->access[i].driver;

		if (driver && !ep_driver_exists(driver)) {
			pr_notice("rules: there is no driver \"%s\"\n", driver);
			return -ENOENT;
		}
	}
	return 0;
}
