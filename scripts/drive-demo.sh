#!/usr/bin/env bash
# Builds the demo, starts it on a free loopback port, pastes the lines that it prints into a shell, as a user would, ends
# it with Ctrl-C and starts it again. Build the package first: npm run build
# With DATABASE_URL set, the demo runs on that PostgreSQL server. What each route answers: test/flows/demo.test.ts.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
pid='' passed=0 failed=0
export NO_PROXY='*' no_proxy='*' NO_COLOR=1 DEMO_KEYS_DIR="$work/keys"
for name in $(compgen -e | grep -E '^AUTH_|^(HOST|LOG_LEVEL|DEMO_DATA_DIR)$'); do unset "$name"; done

finish() {
  if [[ -n $pid ]]; then kill -KILL "$pid" 2>/dev/null || true; fi
  if ((failed > 0)); then tail -n 30 "$work/out" "$work/err"; fi
  rm -rf "$work"
  echo "$passed passed, $failed failed"
  if ((failed > 0 || passed == 0)); then exit 1; fi
}
trap finish EXIT

# has NAME PART WHOLE
has() {
  if [[ $3 == *"$2"* ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n  expected: … %s …\n  found:    %s\n' "$1" "$2" "$3"
  fi
}

# start: leaves its address in $api and its process in $pid
start() {
  : >"$work/out"
  PORT=0 node examples/demo/dist/main.js >"$work/out" 2>"$work/err" &
  pid=$!
  until api=$(sed -n 's/.* listens on \(http:.*\)$/\1/p' "$work/out") && [[ -n $api ]]; do
    if ! kill -0 "$pid" 2>/dev/null; then
      has 'it listens' 'listens on' "$(cat "$work/out" "$work/err")"
      exit
    fi
    sleep 0.1
  done
}

# stop SIGNAL: it has to end by itself, with 0
stop() {
  local status=0
  kill "-$1" "$pid"
  timeout 15 tail --pid="$pid" -f /dev/null || kill -KILL "$pid"
  wait "$pid" || status=$?
  pid=
  has "the end after SIG$1" '0 Closed.' "$status $(tail -n 1 "$work/out")$(cat "$work/err")"
}

node scripts/build-demo.js
start
sed -n 's/^  \(curl .*\|TOKEN=.*\|KEY=.*\)$/\1/p' "$work/out" >"$work/paste"
pasted=$(bash -euo pipefail "$work/paste" 2>&1) || has 'pasted lines' 'no failure' "$pasted"
has 'how many they are' 27 "$(grep -c . "$work/paste")"
has 'rejections among them' 4 "$(grep -c '"error"' <<<"$pasted")"
for part in 'HTTP/1.1 401 Unauthorized' 'authentification est absent' 'HTTP/1.1 403 Forbidden' \
  '{"id":1,"name":"alice","email":"alice@example.org","role":"editor"}' '"title":"Tea"' \
  'Hello, stranger!' 'Hello, alice!' '"reader":null' '# Shopping' '"admin":"admin"' \
  '{"status":"ok"}' '"scope":"notes:read notes:write"' 'HTTP/1.1 204 No Content'; do
  has 'what they answer' "$part" "$pasted"
done
token=$(curl -sS "$api/rs256/login" -d username=alice -d password=wonderland-1865 | sed 's/.*:"\(.*\)".*/\1/')

# Ctrl-C while a browser holds a connection open, and a second start: the keys of RSA stay, the secret is a new one.
exec 3<>"/dev/tcp/127.0.0.1/${api##*:}"
stop INT
exec 3>&-
AUTH_JWT_SECRET=$(node -p "crypto.randomBytes(32).toString('base64url')")
export AUTH_JWT_SECRET
start
has 'a token of before' '"name":"alice"' "$(curl -sS "$api/rs256/me" -H "Authorization: Bearer $token")"
stop TERM
has 'secrets that are printed' 0 "$(cat "$work/out" "$work/err" | grep -cF -e "$AUTH_JWT_SECRET" || true)"
