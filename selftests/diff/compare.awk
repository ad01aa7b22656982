# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f compare.awk EXPECTED STOCK OURS: compare two runs of diff_calls. Prints TAP
# with a result for each topic and one for all.
#
# EXPECTED has a line for each difference
#
#	label | stock's answer | our answer | reason
#
# where the reason may be @NAME if a line "@NAME = reason" defines it.

function note(topic, text)
{
	notes[topic] = notes[topic] "# " text "\n"
}

function topic_of(label)
{
	return substr(label, 1, index(label, ":") - 1)
}

# Stores an answer of a run; keeps the order of the labels.
function learn(answers, which)
{
	topic = topic_of($1)
	if (!(topic in calls)) {
		topics[++num_topics] = topic
		calls[topic] = 0
	}
	if (($1, which) in seen)
		note(topic, "a label twice: " $1)
	seen[$1, which] = 1
	answers[$1] = $2
	if (which == "stock" || !($1 in stock))
		labels[++num_labels] = $1
	if (which == "ours" && $1 in stock && $1 !~ / = /)
		calls[topic]++
}

BEGIN { FS = " [|] " }

FNR == 1 { file++ }

file == 1 && /^@/ {
	at = index($0, " = ")
	defined[substr($0, 1, at - 1)] = substr($0, at + 3)
	next
}
file == 1 && /^[^#]/ {
	if (NF != 4)
		note(topic_of($1), "expected: not four fields: " $0)
	expected[$1] = $2 " | " $3
	reasons[$1] = $4 in defined ? defined[$4] : $4
	used[$4] = 1
	if ($4 ~ /^@/ && !($4 in defined))
		note(topic_of($1), "expected: no such reason: " $4)
}
file == 2 { learn(stock, "stock") }
file == 3 { learn(ours, "ours") }

END {
	for (i = 1; i <= num_labels; i++) {
		label = labels[i]
		topic = topic_of(label)
		s = label in stock ? stock[label] : "(none)"
		o = label in ours ? ours[label] : "(none)"
		if (s == o) {
			if (label in expected)
				note(topic, "no longer differs: " label)
			continue
		}
		differences[topic]++
		total_differences++
		if (label in expected && expected[label] == s " | " o) {
			counts[reasons[label]]++
			continue
		}
		# Print the line in the form of EXPECTED.
		note(topic, label " | " s " | " o " | (no reason)")
	}
	for (label in expected)
		if (!(label in stock) && !(label in ours))
			note(topic_of(label), "expected, but not called: " label)
	for (name in defined)
		if (!(name in used))
			unused = unused " " name

	n = first
	for (i = 1; i <= num_topics; i++) {
		topic = topics[i]
		total += calls[topic]
		failed = topic in notes
		printf "%s %d %s: %d calls, %d differences%s\n",
			failed ? "not ok" : "ok", n++, topic, calls[topic],
			differences[topic], failed ? "" : ", all explained"
		if (failed)
			printf "%s", notes[topic]
		bad += failed
		delete notes[topic]
	}
	# Notes about topics that have not been run
	for (topic in notes) {
		printf "%s", notes[topic]
		bad++
	}
	fflush()
	for (reason in counts)
		printf "# %d: %s\n", counts[reason], reason | "sort -k 2nr"
	close("sort -k 2nr")
	if (unused)
		print "# reasons that nothing has:" unused
	printf "%s %d %d calls compared, %d differences%s\n",
		bad || unused || !total ? "not ok" : "ok", n, total,
		total_differences, bad || unused ? "" : ", all explained"
}
