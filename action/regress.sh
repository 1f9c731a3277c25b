#!/usr/bin/env bash
# The step of the action: runs groundwire regress, and writes the job summary, the output `status`
# and, with a token, one comment on the pull request. Ends with the exit status of the command.
set -euo pipefail
marker="<!-- groundwire regress -->"
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/groundwire.XXXXXX")

install() { # the version that this action belongs to, unless the job has installed one
  "$PYTHON" -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet "$GITHUB_ACTION_PATH/.." "$GITHUB_ACTION_PATH/../models/reader-base"
  PATH=$folder/venv/bin:$PATH
}

api() { # method, path, curl's arguments...: the token is in no process list
  local method=$1 path=$2
  shift 2
  curl --silent --show-error --fail --max-time 30 --request "$method" \
    --header @<(printf 'Authorization: Bearer %s\n' "$TOKEN") \
    --header "Accept: application/vnd.github+json" "$@" "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/$path"
}

comment() { # number of the pull request: the comment of an earlier run is changed
  local found id="" page=1
  while [[ -z $id ]]; do
    found=$(api GET "issues/$1/comments?per_page=100&page=$page") || return
    id=$(jq --raw-output --arg marker "$marker" 'map(select(.body | startswith($marker)))[0].id // ""' <<<"$found") || return
    (($(jq length <<<"$found") == 100)) || break
    page=$((page + 1))
  done
  jq --raw-input --slurp '{body: .}' "$folder/report.md" >"$folder/comment.json"
  if [[ -n $id ]]; then
    api PATCH "issues/comments/$id" --data "@$folder/comment.json" >/dev/null
  else
    api POST "issues/$1/comments" --data "@$folder/comment.json" >/dev/null
  fi
}

command -v groundwire >/dev/null || install

# xargs reads quotes and backslashes as a shell does, and expands nothing.
xargs -n 1 printf '%s\n' <<<"$ARGUMENTS" >"$folder/arguments.txt"
mapfile -t arguments <"$folder/arguments.txt"
status=0
groundwire regress "${arguments[@]}" >"$folder/out.txt" 2>"$folder/err.txt" || status=$?
cat "$folder/out.txt" "$folder/err.txt"

case $status in
  0) title="passed" ;;
  1) title="FAILED" ;;
  *) title="NOT COMPARED" ;;
esac
{
  printf '%s\n### groundwire regress: %s\n\n````text\n' "$marker" "$title"
  # The annotations are in the log; the summary says the same in words.
  cat "$folder/out.txt" "$folder/err.txt" | grep -v '^::' | head -c 60000 || true
  printf '\n````\n'
} >"$folder/report.md"
cat "$folder/report.md" >>"$GITHUB_STEP_SUMMARY"
echo "status=$status" >>"$GITHUB_OUTPUT"

number=$(jq --raw-output '.pull_request.number // ""' "$GITHUB_EVENT_PATH")
if [[ -n $TOKEN && -n $number ]]; then
  comment "$number" || echo "::warning title=groundwire regress::The comment could not be written. The token needs the permission pull-requests: write."
fi
exit "$status"
