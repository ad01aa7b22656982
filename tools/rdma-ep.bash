# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Completion of rdma-ep(1).

_rdma_ep()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words
	if ((COMP_CWORD == 1)); then
		words='run status devices metrics doctor help'
	else
		case ${COMP_WORDS[1]} in
		run)
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
			;;
		status)  words='--json --pid --watch' ;;
		devices) words='--json' ;;
		metrics) words='--textfile --http' ;;
		doctor)  words='--json --report --listen' ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$cur")
}
complete -F _rdma_ep rdma-ep
