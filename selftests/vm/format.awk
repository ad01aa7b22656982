# SPDX-License-Identifier: GPL-2.0-only
#
# Prints those differences of clang-format that need a look: at the beginning of a statement,
# in braces, in blanks. clang-format would rewrite one line in fifty for the worse, so the author
# decides about these:
#
#	lines that continue others, and conditions in conditions
#	macros, and their arguments outside of functions
#	columns: comments after code
#
#	diff -U0 FILE FORMATTED | awk -v name=FILE -f format.awk FILE -

# Returns the line without a comment at its end, and without the blanks of clang-format in pointers
# that it takes for multiplications: (struct x * y).
function code(text)
{
	sub(/[ \t]*\/\*.*\*\/[ \t]*$/, "", text)
	gsub(/\* /, "*", text)
	return text
}

# True if a statement, a block or a label ends before line n.
function begins(n,	before)
{
	while (--n > 0 && line[n] ~ /^[ \t]*(\/?\*.*)?$/)
		;
	before = code(line[n])
	return n <= 0 || before ~ /[;{}]$/ || before ~ /^[ \t]*#/ ||
		before ~ /^[ \t]*(case .*|default|[a-z_]+):$/ ||
		before ~ /^([A-Z_]+|[ \t]+.*(else|do))( \(.*\)|\(.*\))?$/ ||
		before ~ /^[ \t]+(} )?(else )?(if|for|while|switch) \(.*\)$/
}

function free(n)
{
	return line[n] ~ /^[ \t]*#|\\$|^[A-Z_]+\(/ || line[n - 1] ~ /\\$/ ||
		line[n] ~ / \? .* \? / || !begins(n)
}

function report(	i, same)
{
	same = olds == news
	for (i = 1; same && i <= olds; i++)
		same = code(old[i]) == code(new[i])
	if (!same && !allowed) {
		for (i = 1; i <= olds; i++)
			print name ":" first + i - 1 ": " old[i]
		for (i = 1; i <= news; i++)
			print "\tclang-format: " new[i]
	}
	olds = news = 0
}

NR == FNR { line[FNR] = $0; next }
/^@@/ {
	report()
	split($2, at, ",")
	first = -at[1]
	n = at[2] == "" ? 1 : at[2]
	allowed = n > 0
	for (i = 0; i < n; i++)
		allowed = allowed && free(first + i)
	next
}
/^(---|\+\+\+) / { next }
/^-/ { old[++olds] = substr($0, 2) }
/^\+/ { new[++news] = substr($0, 2) }
END { report() }
