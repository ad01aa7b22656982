# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f text.awk -f pages.awk -v dir=DIRECTORY pages/*.txt
#
# The manual pages of the functions, section 3ep. A page begins with
#
#   =page NAME...		the functions; the first names the page
#   =what TEXT			for NAME
#   =head HEADER...
#
# and has sections: =synopsis with a prototype for each function, =description,
# =returns, =errors (each line begins with an errno, or is indented and continues
# the last), =differences (from the stock library; "None." if there are none), and
# =see with pages besides those that all have. "!null", "!older" in the differences
# stand for a sentence that many pages have; =stock names the stock library's page if
# that is not the first function's ("-" for none).

function start_page(	i)
{
	OUT = dir "/" NAMES[1] ".3ep"
	print ".\\\" SPDX-License-Identifier: BSD-2-Clause" > OUT
	print ".\\\" Made from lib/man/pages; see lib/man/pages.awk." > OUT
	put(".Dd November 22, 2026")
	put(".Dt " toupper(NAMES[1]) " 3ep")
	put(".Os rdma_ep")
	put(".Sh NAME")
	for (i = 1; i <= NR_NAMES; i++)
		put(".Nm " NAMES[i] (i < NR_NAMES ? " ," : ""))
	put(".Nd " WHAT)
	put(".Sh SYNOPSIS")
	for (i = 1; i <= NR_HEADS; i++)
		put(".In " HEADS[i])
}

# "type name(type arg, type arg);"
function prototype(s,	name, type, args, n, i, arg)
{
	gsub(/[ \t\n]+/, " ", s)
	sub(/ *; *$/, "", s)
	args = s
	sub(/^[^(]*\(/, "", args)
	sub(/\)$/, "", args)
	sub(/ *\(.*/, "", s)
	match(s, /[A-Za-z0-9_]+$/)
	name = substr(s, RSTART)
	type = substr(s, 1, RSTART - 1)
	gsub(/^ +| +$/, "", type)
	put(".Ft " type)
	put(".Fo " name)
	n = split(args, arg, / *, */)
	for (i = 1; i <= n; i++)
		put(".Fa \"" arg[i] "\"")
	put(".Fc")
}

function synopsis(s,	n, i, p)
{
	n = split(s, p, /;/)
	for (i = 1; i <= n; i++)
		if (p[i] ~ /\(/)
			prototype(p[i])
}

function paragraphs(s,	n, i, p)
{
	n = split(s, p, /\n\n+/)
	for (i = 1; i <= n; i++) {
		if (i > 1)
			put(".Pp")
		text(p[i])
	}
}

function returns(s)
{
	if (s == "errno")
		s = "0 on success. On failure -1, and {errno} is set."
	else if (s == "positive")
		s = "0 on success, else one of the error numbers below."
	else if (s == "pointer")
		s = "The object. On failure NULL, and {errno} is set."
	paragraphs(s)
}

function errors(s,	n, i, line, item, name)
{
	text("In addition to the errors that librdma_ep(7) lists for all functions:")
	put(".Bl -tag -width Er")
	gsub(/\n[ \t]+/, " ", s)
	n = split(s, line, /\n+/)
	for (i = 1; i <= n; i++) {
		item = line[i]
		name = item
		sub(/ .*/, "", name)
		sub(/^[^ ]* */, "", item)
		gsub(/,/, " , Er ", name)
		put(".It Bq Er " name)
		text(item)
	}
	put(".El")
}

# The sentences on NULL and on newer functions are on many pages.
function differences(s)
{
	sub(/!null/, "The stock library crashes on a pointer that is NULL or not set yet, where this library fails with EINVAL.", s)
	sub(/!older/, "The library has these functions with every version of rdma-core. Older versions of rdma-core lack them.", s)
	paragraphs(s)
}

function see(s,	n, i, w, all)
{
	all = STOCK == "-" ? "" : (STOCK == "" ? NAMES[1] : STOCK) " 3\n"
	n = split(s, w, /[ \t\n,]+/)
	for (i = 1; i <= n; i++)
		if (w[i] != "")
			all = all w[i] " 3ep\n"
	all = all "librdma_ep 7\nrdma_ep 7"
	n = split(all, w, /\n/)
	for (i = 1; i <= n; i++)
		put(".Xr " w[i] (i < n ? " ," : ""))
}

function end_section(	s)
{
	s = BODY
	gsub(/^\n+|\n+$/, "", s)
	if (SECTION == "synopsis") {
		start_page()
		synopsis(s)
	} else if (SECTION == "description") {
		put(".Sh DESCRIPTION")
		paragraphs(s)
	} else if (SECTION == "returns") {
		put(".Sh RETURN VALUES")
		returns(s)
	} else if (SECTION == "errors") {
		put(".Sh ERRORS")
		errors(s)
	} else if (SECTION == "differences") {
		put(".Sh DIFFERENCES")
		differences(s)
	} else if (SECTION == "see") {
		SEE = s
	} else if (SECTION != "") {
		print FILENAME ": unknown section " SECTION | "cat >&2"
		exit 1
	}
	SECTION = BODY = ""
}

function end_page(	i, link)
{
	end_section()
	if (!NR_NAMES)
		return
	put(".Sh SEE ALSO")
	see(SEE)
	close(OUT)
	for (i = 2; i <= NR_NAMES; i++) {
		link = dir "/" NAMES[i] ".3ep"
		print ".so man3/" NAMES[1] ".3ep" > link
		close(link)
	}
	NR_NAMES = 0
	SEE = STOCK = ""
}

/^#/ { next }
/^=page / {
	end_page()
	NR_NAMES = split(substr($0, 7), NAMES, / +/)
	next
}
/^=what / { WHAT = substr($0, 7); next }
/^=head / { NR_HEADS = split(substr($0, 7), HEADS, / +/); next }
/^=stock / { STOCK = substr($0, 8); next }
/^=/ {
	end_section()
	SECTION = substr($1, 2)
	BODY = substr($0, length($1) + 2)
	next
}
{ BODY = BODY "\n" $0 }
END { end_page() }
