#!/usr/bin/env bash
# review.sh BASE COMMENT: looks at what has changed between the commit BASE and the working tree, in a git repository, and writes a comment
# on it to the file COMMENT. The environment says the rest: CHAINWALK is the program; OBJECTS and SCENARIOS are paths in the repository, a
# line each. It checks what has changed, runs changed scenarios (all of SCENARIOS if objects have changed, since scenarios include them),
# and says what the change does to packets. The status is 1 if there are mistakes or a scenario fails, 2 if something could not be read;
# packets that change are no failure.
set -euo pipefail

base=$1
comment=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
: "${CHAINWALK:?name the chainwalk program}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# paths TEXT: the lines that are not empty, into the array "listed".
paths() {
	listed=()
	local line
	while IFS= read -r line; do
		if [[ -n $line ]]; then listed+=("$line"); fi
	done <<<"$1"
}
paths "${OBJECTS:-}"
objects=(${listed[@]+"${listed[@]}"})
paths "${SCENARIOS:-}"
scenarios=(${listed[@]+"${listed[@]}"})

# changed PATH...: the files below that are new or others in the working tree, into "listed"; those that git does not know too.
changed() {
	listed=()
	if (($# == 0)); then return; fi
	git diff -z --name-only --diff-filter=d "$base" -- "$@" >"$work/names"
	git ls-files -z --others --exclude-standard -- "$@" >>"$work/names"
	local name
	while IFS= read -r -d '' name; do listed+=("$name"); done <"$work/names"
}

# section TITLE COMMAND...: writes what a command prints, and remembers the worst status.
section() {
	local title=$1 status=0
	shift
	"$@" >"$work/out" 2>"$work/err" || status=$?
	if ((status > failed)); then failed=$status; fi
	{
		printf '\n#### %s\n\n' "$title"
		# Indented, no text of a file can end the block.
		head -c 20000 "$work/out" "$work/err" | grep -v '^==> .* <==$' | grep -v '^$' | sed 's/^/    /' || true
	} >>"$comment"
}

printf '<!-- chainwalk -->\n### chainwalk\n' >"$comment"

changed ${scenarios[@]+"${scenarios[@]}"}
changed_scenarios=()
for name in ${listed[@]+"${listed[@]}"}; do
	case $name in *.yaml | *.yml) changed_scenarios+=("./$name") ;; esac
done
changed ${objects[@]+"${objects[@]}"}
changed_objects=${#listed[@]}
if [[ ${#objects[@]} -gt 0 ]] && ! git diff --quiet "$base" -- "${objects[@]}"; then
	changed_objects=$((changed_objects + 1)) # one may be gone
fi

if ((${#changed_scenarios[@]} == 0 && changed_objects == 0)); then
	printf '\nNo scenario and no object has changed.\n' >>"$comment"
	exit 0
fi

to_run=(${changed_scenarios[@]+"${changed_scenarios[@]}"})
if ((changed_objects > 0)); then to_run=(${scenarios[@]+"${scenarios[@]}"}); fi
if ((${#to_run[@]} > 0)); then
	section "mistakes in scenarios" "$CHAINWALK" check --ignore-unknown -- "${to_run[@]}"
	section "scenarios" "$CHAINWALK" run --ignore-unknown --ways none -- "${to_run[@]}"
fi
if ((changed_objects == 0)); then exit "$failed"; fi

# Two folders have the objects as they were and as they are.
mkdir "$work/before" "$work/after"
for path in "${objects[@]}"; do
	if git cat-file -e "$base:$path" 2>/dev/null; then git archive "$base" -- "$path" | tar -x -C "$work/before"; fi
	if [[ -e $path ]]; then
		mkdir -p "$work/after/$(dirname "$path")"
		cp -R "$path" "$work/after/$(dirname "$path")/"
	fi
done
cd "$work/after"
if [[ -z $(find ../before -type f) || -z $(find . -type f) ]]; then
	printf '\nThe objects are all new, or all gone: there is nothing to compare packets with.\n' >>"$comment"
	exit "$failed"
fi
status=0
"$CHAINWALK" run --diff ../before . --ignore-unknown -o markdown >"$work/table" 2>"$work/why" || status=$?
if ((status > 1)); then
	section "packets before and after" cat "$work/why"
	failed=$status
else
	{
		printf '\n#### packets before and after\n\n'
		head -c 40000 "$work/table"
	} >>"$comment"
fi
exit "$failed"
