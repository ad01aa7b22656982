# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f text.awk -f ioctls.awk -v header=rdma_ep.h -v OUT=FILE rdma_ep.4.in
#
# rdma_ep(4): the kernel-doc comments of the ABI's header replace the line "@COMMANDS@".
# A command, or a member of a structure, without a comment is an error.

function fail(what)
{
	print header ": " what | "cat >&2"
	FAILED = 1
}

# ---- the header

# The commands of each structure, and the types of its members.
function collect(	line, f, name, s)
{
	while ((getline line < header) > 0) {
		LINES[++NR_LINES] = line
		if (line ~ /^#define RDMA_EP_IOC_[A-Z_]+ .*\\$/) {
			getline s < header
			LINES[++NR_LINES] = s
			sub(/\\$/, "", line)
			line = line s
		}
		if (line ~ /^#define RDMA_EP_IOC_[A-Z_]+[ \t]+RDMA_EP_IOC\(/) {
			split(line, f, /[ \t(),]+/)
			COMMANDS[f[5]] = COMMANDS[f[5]] " " f[2]
			DEFINED[f[4]] = 1
		} else if (line ~ /^\tRDMA_EP_CMD_/) {
			match(line, /RDMA_EP_CMD_[A-Z_]+/)
			ALL[substr(line, RSTART + 12, RLENGTH - 12)] = 1
		} else if (line ~ /^struct [a-z_]+ [{]$/) {
			split(line, f, " ")
			name = f[2]
		} else if (line ~ /^[}]/) {
			name = ""
		} else if (name != "" && line ~ /;$/) {
			s = line
			gsub(/^[\t ]+|;$/, "", s)
			match(s, /[a-z_0-9]+([[][^]]*[]])?$/)
			f[1] = substr(s, RSTART)
			s = substr(s, 1, RSTART - 1)
			f[2] = f[1]
			sub(/\[.*/, "", f[1])
			sub(/^[^[]*/, "", f[2])
			sub(/ +$/, "", s)
			if (line ~ /^\t[}]/)
				s = "union"
			if (line !~ /^\t\t/) {
				TYPE[name, f[1]] = s
				DIMENSION[name, f[1]] = f[2]
				MEMBERS[name] = MEMBERS[name] " " f[1]
			}
		}
	}
	if (!NR_LINES)
		fail("cannot be read")
	for (name in ALL)
		if (!(name in DEFINED))
			fail("there is no RDMA_EP_IOC_" name)
}

# ---- one comment

function marked(s)
{
	# "min(@max, @num)" is not a word that can be marked up.
	gsub(/min\(@max, @num\)/, "the lesser of @max and @num", s)
	text(s)
}

# Paragraphs; those that begin with " - " are a list.
function body(s,	n, i, p, m, j, item, name)
{
	gsub(/^\n+|\n+$/, "", s)
	if (s == "")
		return
	n = split(s, p, /\n\n+/)
	for (i = 1; i <= n; i++) {
		if (p[i] ~ /^ - /) {
			put(".Bl -tag -width Er")
			m = split("\n" substr(p[i], 1), item, /\n - /)
			for (j = 2; j <= m; j++) {
				name = item[j]
				sub(/:.*/, "", name)
				sub(/^[A-Z0-9]*: */, "", item[j])
				put(".It Bq Er " name)
				marked(item[j])
			}
			put(".El")
			continue
		}
		if (i > 1)
			put(".Pp")
		marked(p[i])
	}
}

# The structure's members, except those that every structure has.
function members(name, doc,	n, i, m, f, any, open)
{
	n = split(MEMBERS[name], m, " ")
	open = 0
	for (i = 1; i <= n; i++) {
		f = m[i]
		if (!((f) in doc)) {
			fail(name "." f " is not documented")
			continue
		}
		if (f == "size" || f == "reserved" || f == "padding" ||
		    doc[f] == "must be 0")
			continue
		if (!open)
			put(".Bl -tag -width Ds -compact")
		open = 1
		put(".It Vt \"" TYPE[name, f] "\" Va " f DIMENSION[name, f])
		marked(doc[f])
	}
	if (open)
		put(".El")
}

function structure(name, what, doc, rest,	n, i, c, line, f)
{
	for (f in doc)
		if (!((name, f) in TYPE))
			fail(name " has no " f)
	n = split(COMMANDS[name], c, " ")
	if (n) {
		line = ".It "
		for (i = 1; i <= n; i++)
			line = line (i > 1 ? " , " : "") "Dv " c[i]
		put(line)
		put(".Vt struct " name)
		put(".Pp")
	} else {
		put(".It Vt struct " name)
		marked(toupper(substr(what, 1, 1)) substr(what, 2) ".")
		put(".Pp")
	}
	members(name, doc)
	if (rest !~ /^\n*( - .*)?$/)
		put(".Pp")
	body(rest)
	DONE[name] = 1
}

# An enumeration: its values are in the comment only.
function enumeration(name, what, keys, n, doc, rest,	i)
{
	put(".It Vt enum " name)
	marked(toupper(substr(what, 1, 1)) substr(what, 2) ".")
	put(".Bl -tag -width Ds -compact")
	for (i = 1; i <= n; i++) {
		put(".It Dv " keys[i])
		marked(doc[keys[i]])
	}
	put(".El")
	body(rest)
}

function comment(s,	n, i, l, head, doc, keys, nk, key, rest, in_members)
{
	n = split(s, l, /\n/)
	head = l[1]
	i = 2
	# The structure's description may take two lines.
	while (i <= n && l[i] ~ /^\t/)
		head = head " " l[i++]
	in_members = 1
	key = ""
	nk = 0
	split("", doc)
	for (; i <= n; i++) {
		if (in_members && l[i] ~ /^@/) {
			key = l[i]
			sub(/:.*/, "", key)
			key = substr(key, 2)
			doc[key] = l[i]
			sub(/^@[A-Za-z_0-9]*: */, "", doc[key])
			keys[++nk] = key
		} else if (in_members && key != "" && l[i] ~ /^[\t]/) {
			sub(/^\t+/, " ", l[i])
			doc[key] = doc[key] l[i]
		} else {
			in_members = 0
			rest = rest "\n" l[i]
		}
	}
	if (head ~ /^DOC:/) {
		body(rest)
		return
	}
	what = head
	sub(/^[^-]* - /, "", what)
	split(head, l, " ")
	list(1)
	if (l[1] == "struct") {
		structure(l[2], what, doc, rest)
	} else if (l[1] == "enum") {
		enumeration(l[2], what, keys, nk, doc, rest)
	} else {
		put(".It Dv " l[1])
		marked(toupper(substr(what, 1, 1)) substr(what, 2) ".")
	}
}

function list(on)
{
	if (on && !IN_LIST)
		put(".Bl -tag -width Ds")
	if (!on && IN_LIST)
		put(".El")
	IN_LIST = on
}

function commands(	i, s, line, title, name)
{
	for (i = 1; i <= NR_LINES; i++) {
		line = LINES[i]
		if (line ~ /^\/\* -+ \*\/$/ && LINES[i + 2] == line) {
			title = LINES[i + 1]
			gsub(/^\/\* *| *\*\/$/, "", title)
			list(0)
			put(".Ss " title)
			i += 2
		} else if (line ~ /^\/\*\* .* \*\/$/) {
			sub(/^\/\*\* /, "", line)
			sub(/ \*\/$/, "", line)
			comment(line)
		} else if (line == "/**") {
			s = ""
			while (LINES[++i] !~ /^ \*\/$/) {
				line = LINES[i]
				sub(/^ \* ?/, "", line)
				s = s (s == "" ? "" : "\n") line
			}
			comment(s)
		}
	}
	list(0)
	for (name in COMMANDS)
		if (!(name in DONE))
			fail("struct " name " is not documented")
}

BEGIN { collect() }
$0 == "@COMMANDS@" { commands(); next }
{ put($0) }
END { exit FAILED }
