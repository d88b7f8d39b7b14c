#!/bin/bash
# Subjects of commits are as CONTRIBUTING.md says: `room: what changes`, of at most 72 characters. Of
# all commits since the one that brought this test; a shallow clone has the last of them, an exported
# tree none.
. "$(dirname "$0")/tap.sh"

git_in() { git -c safe.directory='*' -C "$1" "${@:2}" 2>/dev/null; }

# Those of a checkout that are not; it has to know the commit that brought the test.
wrong_subjects() { # wrong_subjects FOLDER
  local first
  first=$(git_in "$1" log --diff-filter=A --format=%H -- tests/cli/subjects.t | tail -1)
  [ -n "$first" ] || return 1
  git_in "$1" log --no-merges --format=%s "$first..HEAD" -- . |
    LC_ALL=C.UTF-8 grep -vE '^.{1,72}$' |
    sed 's/^/too long: /'
  git_in "$1" log --no-merges --format=%s "$first..HEAD" -- . | grep -vE '^[^ :][^:]*: ' |
    sed 's/^/no room: /'
  return 0
}

if wrong=$(wrong_subjects "$TOP"); then
  is "every subject since this test is \`room: what changes\`, of at most 72" "" "$wrong"
else
  echo "ok $((count += 1)) - subjects # SKIP no history here"
fi

if ! command -v git >/dev/null; then
  echo "ok $((count += 1)) - a history of its own # SKIP there is no git"
  finish
fi
repository=$TMP/repository
commit() { # commit SUBJECT
  echo "$1" >>"$repository/file"
  git_in "$repository" add -A
  git_in "$repository" -c user.name=a -c user.email=a@b commit -qm "$1"
}
git_in "$TMP" init -q repository
commit "an old one that was made before the rule and is longer than seventy-two characters are"
mkdir -p "$repository/tests/cli" && : >"$repository/tests/cli/subjects.t"
commit "tests: a rule for subjects"
commit "tests: seventy-two characters are as many as a subject of a commit has.."
is "what was before the rule is left alone; 72 characters pass" "" "$(wrong_subjects "$repository")"
commit "tests: seventy-three characters are one more than a subject may have.. .."
commit "what has no room"
is "one more does not, nor what names no room" \
  "too long: tests: seventy-three characters are one more than a subject may have.. ..
no room: what has no room" "$(wrong_subjects "$repository")"
git_in "$TMP" clone -q --depth 1 "file://$repository" shallow
is "a shallow clone has nothing to say of what it has not" "" "$(wrong_subjects "$TMP/shallow")"
mkdir "$TMP/exported"
ok "$(wrong_subjects "$TMP/exported"; [ $? = 1 ]; echo $?)" "an exported tree has no history"
finish
