# SPDX-License-Identifier: BSD-2-Clause
#
# Plain text into mdoc(7), for pages.awk and ioctls.awk. Words are marked up by their
# form: ENOENT, IBV_QPT_RC, NULL, name(), name(3), /dev/file, &struct name,
# <argument>, {member} and, in kernel-doc comments, @member and *emphasis*.

# One line of output; words are gathered in LINE until it is full.
function flush_line()
{
	if (LINE != "") {
		# groff would read such a line as a request.
		if (LINE ~ /^[.']/)
			LINE = "\\&" LINE
		print LINE > OUT
	}
	LINE = ""
}

function put(line)
{
	flush_line()
	print line > OUT
}

function plain(w)
{
	gsub(/\\/, "\\e", w)
	if (LINE != "" && length(LINE) + length(w) > 76)
		flush_line()
	LINE = LINE == "" ? w : LINE " " w
	# New sentence, new line.
	if (w ~ /[.?!][)"]*$/)
		flush_line()
}

# ".Er EINVAL ," from "EINVAL,"; before is an opening parenthesis or nothing.
function macro(name, before, arg, after,	line, i)
{
	line = "." name
	if (before != "" && after ~ /^\)/) {
		line = ".Pq " name
		after = substr(after, 2)
		before = ""
	}
	# groff takes no bracket before the name of a page.
	if (before != "" && name == "Xr")
		line = ".Pf " before " Xr"
	else if (before != "")
		line = line " " before
	line = line " " arg
	for (i = 1; i <= length(after); i++)
		line = line " " substr(after, i, 1)
	put(line)
}

function word(w,	before, after, core, vt)
{
	before = after = ""
	core = w
	while (core ~ /^\(/) {
		before = before "("
		core = substr(core, 2)
	}
	if (match(core, /^[A-Za-z_][A-Za-z0-9_.-]*\([0-9]*[a-z]*\)/)) {
		after = substr(core, RLENGTH + 1)
		core = substr(core, 1, RLENGTH)
		if (length(before) < 2 && after ~ /^[.,;:)]*$/) {
			if (core ~ /\(\)$/) {
				macro("Fn", before, substr(core, 1,
				      length(core) - 2), after)
				return
			}
			if (core ~ /\([0-9][a-z]*\)$/) {
				sub(/\(/, " ", core)
				sub(/\)$/, "", core)
				macro("Xr", before, core, after)
				return
			}
		}
		plain(w)
		return
	}
	if (match(core, /[.,;:)]+$/)) {
		after = substr(core, RSTART)
		core = substr(core, 1, RSTART - 1)
	}
	if (core !~ /./ || length(before) > 1)
		plain(w)
	else if (core ~ /^E[A-Z0-9]+$/ && length(core) > 3)
		macro("Er", before, core, after)
	else if (core == "NULL" || core ~ /^[A-Z][A-Z0-9]*_[A-Z0-9_*]+$/)
		macro("Dv", before, core, after)
	else if (core ~ /^\/[a-z]+\//)
		macro("Pa", before, core, after)
	else if (core ~ /^<[^>]*>$/)
		macro("Fa", before, substr(core, 2, length(core) - 2), after)
	else if (core ~ /^\*[a-z]+\*$/)
		macro("Em", before, substr(core, 2, length(core) - 2), after)
	else if (core ~ /^@[a-z_0-9]+$/)
		macro("Va", before, substr(core, 2), after)
	else if (core ~ /^[{][^}]*[}]$/)
		macro("Va", before, substr(core, 2, length(core) - 2), after)
	else
		plain(w)
}

# A paragraph's worth of text.
function text(s,	n, i, w)
{
	gsub(/&struct /, "struct ", s)
	n = split(s, w, /[ \t\n]+/)
	for (i = 1; i <= n; i++)
		if (w[i] != "")
			word(w[i])
	flush_line()
}
