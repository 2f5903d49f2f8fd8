#!/usr/bin/env bash
# Starts the built demo on a free loopback port, and drives it with curl as a user would: every login,
# every kind of route, the lines that it prints, Ctrl-C. Build first: npm run build && npm run demo:build
# With DATABASE_URL set, the demo runs on that PostgreSQL server.
set -euo pipefail
cd "$(dirname "$0")/.."

main=examples/demo/dist/main.js
work=$(mktemp -d)
pid=
passed=0
failed=0
export NO_PROXY='*' no_proxy='*' NO_COLOR=1
unset AUTH_JWT_SECRET AUTH_JWT_EXPIRY AUTH_BASIC_USERNAME AUTH_BASIC_PASSWORD HOST LOG_LEVEL DEMO_DATA_DIR
unset AUTH_JWT_RSA_PRIVATE AUTH_JWT_RSA_PUBLIC AUTH_JWT_RSA_PASSPHRASE
unset AUTH_JWT_ECDSA_PRIVATE AUTH_JWT_ECDSA_PUBLIC AUTH_JWT_ECDSA_PASSPHRASE
export DEMO_KEYS_DIR="$work/keys"

finish() {
  local status=$?
  if [[ -n $pid ]]; then kill -KILL "$pid" 2>/dev/null || true; fi
  if ((status != 0)) && [[ -f $work/out ]]; then
    echo '--- what the demo printed last:'
    tail -n 30 "$work/out" "$work/err"
  fi
  rm -rf "$work"
}
trap finish EXIT

pass() { passed=$((passed + 1)); }

fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
  shift
  if (($# > 0)); then printf '%s\n' "$@"; fi
}

# is NAME EXPECTED FOUND
is() {
  if [[ $2 == "$3" ]]; then pass; else fail "$1" "  expected: $2" "  found:    $3"; fi
}

# has NAME PART WHOLE
has() {
  if [[ $3 == *"$2"* ]]; then pass; else fail "$1" "  expected: … $2 …" "  found:    $3"; fi
}

# answer STATUS BODY PATH [CURL OPTION…]: BODY is the whole body; the headers are left in $work/headers.
answer() {
  local status=$1 body=$2 path=$3 found
  shift 3
  found=$(curl -sS --max-time 30 -D "$work/headers" -w '\n%{http_code}' "$@" "$api$path") || found="curl: $?"
  is "$path $*" "$body"$'\n'"$status" "$found"
}

# header NAME VALUE: of the last answer
header() {
  local found
  found=$(tr -d '\r' <"$work/headers" | grep -i "^$1: " | cut -d ' ' -f 2-) || found='(not there)'
  is "header $1" "$2" "$found"
}

# login PATH USER PASSWORD: prints the token
login() {
  curl -sS --max-time 30 -H 'Content-Type: application/json' \
    -d "{\"username\":\"$2\",\"password\":\"$3\"}" "$api$1" |
    node -pe 'JSON.parse(fs.readFileSync(0)).token'
}

# start PORT: leaves its address in $api and its process in $pid
start() {
  : >"$work/out"
  PORT=$1 node "$main" >"$work/out" 2>"$work/err" &
  pid=$!
  for ((i = 0; i < 600; i++)); do
    api=$(sed -n 's/.* listens on \(http:.*\)$/\1/p' "$work/out")
    if [[ -n $api ]]; then return; fi
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  echo 'The demo does not listen.'
  exit 1
}

# stop SIGNAL: it has to end by itself, in time, and with 0
stop() {
  local status=0
  kill "-$1" "$pid"
  for ((i = 0; i < 150; i++)); do
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  if kill -0 "$pid" 2>/dev/null; then
    fail "it hangs after SIG$1"
    kill -KILL "$pid"
  fi
  wait "$pid" || status=$?
  pid=
  is "exit code after SIG$1" 0 "$status"
  is "the last line after SIG$1" 'Closed.' "$(tail -n 1 "$work/out")"
  is "nothing on stderr" '' "$(cat "$work/err")"
  if curl -s --max-time 5 -o /dev/null "$api/"; then fail 'it still listens'; else pass; fi
}

if [[ ! -f $main ]]; then
  echo "$main is not there. Build it: npm run build && npm run demo:build"
  exit 1
fi

start 0
admin=$(sed -n 's/^  Admin *admin \/ \([^ ]*\) (made up for this run)$/\1/p' "$work/out")
alice='{"id":1,"name":"alice","email":"alice@example.org","role":"editor"}'
bob='{"id":2,"name":"bob","email":"bob@example.org","role":"author"}'
none='{"error":"Invalid or missing authentication header."}'
wrong='{"error":"Invalid credentials."}'
scopeless='{"error":"Your credentials do not allow this action."}'
roleless='{"error":"You are not allowed to do this."}'
invalid='{"error":"Your authentication token is invalid."}'
bearer='Bearer realm="Authorization required"'
basic='Basic realm="Authorization required", charset="UTF-8"'
json='Content-Type: application/json'
echo "# the lines that it prints, pasted into a shell ($api)"
sed -n 's/^  \(curl .*\|TOKEN=.*\)$/\1/p' "$work/out" >"$work/paste"
pasted=$(bash -euo pipefail "$work/paste" 2>&1) || fail "a pasted line fails: $?"
is 'pasted lines' 24 "$(grep -c . "$work/paste")"
is 'refusals among them' 3 "$(grep -c '"error"' <<<"$pasted")"
for part in 'HTTP/1.1 401 Unauthorized' 'authentification est absent' "$alice" "$bob" \
  '"title":"Tea"' 'Hello, stranger!' 'Hello, alice!' '"reader":null' '# Shopping' \
  '"admin":"admin"' '{"status":"ok"}' "{\"user\":$alice,\"scope\":\"notes:read notes:write\"}" \
  'HTTP/1.1 403 Forbidden' "$scopeless" "$roleless" 'HTTP/1.1 204 No Content'; do
  has 'what pasted lines answer' "$part" "$pasted"
done

published=$(curl -sS --max-time 30 "$api/notes/published")

echo '# open'
answer 200 '{"name":"fastify-authn demo","login":"POST /login"}' /
answer 200 '{"status":"ok"}' /admin/health
answer 200 "$published" /notes/published
has 'published notes' '"owner":"alice","title":"Hello"' "$published"

echo '# the page of the API'
has '/docs' '<div id="swagger-ui"></div>' "$(curl -sS --max-time 30 "$api/docs")"
document=$(curl -sS --max-time 30 "$api/docs/json")
for part in '"security":[{"bearerAuth":[]}]' '"security":[{"reader":["notes:write"]}]' 'Needs the role `editor`.'; do
  has '/docs/json' "$part" "$document"
done

echo '# login'
answer 401 "$wrong" /login -d username=alice -d password=wrong
header WWW-Authenticate "$bearer"
header Cache-Control no-store
answer 401 "$wrong" /login -d username=nobody -d password=wrong
answer 400 '{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"body/username must be string"}' \
  /login -H "$json" -d '{"username":1,"password":"wonderland-1865"}'
token=$(login /login alice wonderland-1865)
rs256=$(login /rs256/login alice wonderland-1865)
es256=$(login /es256/login bob builder-1999)
hs256=(-H "Authorization: Bearer $token")

echo '# tokens'
answer 200 "$alice" /me "${hs256[@]}"
answer 401 "$none" /me
header WWW-Authenticate "$bearer"
header Content-Language en
answer 401 "$invalid" /me -H "Authorization: Bearer $rs256"
header WWW-Authenticate "$bearer, error=\"invalid_token\", error_description=\"The token is invalid\""
answer 401 '{"error":"L’en-tête d’authentification est absent ou non valide."}' /me -H 'Accept-Language: fr'
header Content-Language fr
answer 200 "$alice" /rs256/me -H "Authorization: Bearer $rs256"
answer 401 "$invalid" /rs256/me "${hs256[@]}"
answer 200 "{\"user\":$bob,\"scope\":\"notes:read\"}" /es256/me -H "Authorization: Bearer $es256"
answer 401 "$invalid" /es256/me -H "Authorization: Bearer $rs256"

echo '# a scope of the token, a role of the user'
note='{"title":"Tea","text":"At five."}'
answer 403 "$scopeless" /es256/notes -H "Authorization: Bearer $es256" -H "$json" -d "$note"
header WWW-Authenticate "$bearer, error=\"insufficient_scope\", error_description=\"The token does not have the scope that is needed\", scope=\"notes:write\""
header Cache-Control no-store
answer 401 "$none" /es256/notes -H "$json" -d "$note"
writer=$(login /es256/login alice wonderland-1865)
has '/es256/notes' '"owner":"alice","title":"Tea"' \
  "$(curl -sS --max-time 30 -H "Authorization: Bearer $writer" -H "$json" -d "$note" "$api/es256/notes")"
answer 403 "$roleless" /notes/published/2 -u bob:builder-1999 -X DELETE
header WWW-Authenticate '(not there)'
answer 401 "$none" /notes/published/2 -X DELETE
answer 200 "$published" /notes/published
answer 404 '{"error":"There is no such note."}' /notes/published/4 "${hs256[@]}" -X DELETE

echo '# optional and try'
answer 200 '{"greeting":"Hello, stranger!"}' /greeting
answer 200 '{"greeting":"Hello, alice!"}' /greeting "${hs256[@]}"
answer 401 "$invalid" /greeting -H 'Authorization: Bearer broken'
answer 200 "{\"reader\":\"alice\",\"notes\":$published}" /feed "${hs256[@]}"
answer 200 "{\"reader\":null,\"notes\":$published}" /feed -H 'Authorization: Bearer broken'

echo '# Basic'
answer 200 "$bob" /account -u bob:builder-1999
answer 401 "$wrong" /account -u bob:wrong
header WWW-Authenticate "$basic"
answer 401 "$none" /account "${hs256[@]}"
answer 401 "$none" /export
header WWW-Authenticate "$bearer"$'\n'"$basic"
has '/export' '# Shopping' "$(curl -sS --max-time 30 -u bob:builder-1999 "$api/export")"
has '/admin/stats' '{"admin":"admin","users":2,' \
  "$(curl -sS --max-time 30 -u "admin:$admin" "$api/admin/stats")"
answer 401 "$wrong" /admin/stats -u alice:wonderland-1865
answer 401 "$none" /admin/stats

echo '# notes'
answer 401 "$none" /notes
answer 401 "$none" /notes -H "$json" -d '{"title":"Tea","text":""}'
created=$(curl -sS --max-time 30 "${hs256[@]}" -H "$json" -d '{"title":"Milk","text":"No."}' "$api/notes")
id=$(sed 's/^{"id":\([0-9]*\),.*/\1/' <<<"$created")
answer 200 "{\"id\":$id,\"owner\":\"alice\",\"title\":\"Milk\",\"text\":\"No.\",\"published\":false}" "/notes/$id" "${hs256[@]}"
answer 200 "{\"id\":$id,\"owner\":\"alice\",\"title\":\"Soy\",\"text\":\"\",\"published\":true}" "/notes/$id" \
  "${hs256[@]}" -X PUT -H "$json" -d '{"title":"Soy","text":"","published":true}'
answer 204 '' "/notes/$id" "${hs256[@]}" -X DELETE
answer 404 '{"error":"You have no such note."}' "/notes/$id" "${hs256[@]}"
answer 401 "$none" "/notes/$id" -X DELETE

echo '# the page for people, whose tokens are cookies'
jar=(-b "$work/jar" -c "$work/jar")
has '/app/' '<title>Notes' "$(curl -sS --max-time 30 "$api/app/")"
answer 302 '' / -H 'Accept: text/html'
header Location /app/
answer 401 "$none" /app/me "${jar[@]}"
answer 200 '{"expiresIn":300}' /app/login "${jar[@]}" -H "$json" -d '{"username":"alice","password":"wonderland-1865"}'
answer 200 "$alice" /app/me "${jar[@]}"
header Cache-Control private
has '/app/sessions' '"device":"curl","isThis":true' "$(curl -sS --max-time 30 "${jar[@]}" "$api/app/sessions")"
answer 403 '{"error":"Requests from other sites are not accepted."}' /app/notes "${jar[@]}" \
  -H 'Origin: https://evil.example' -H "$json" -d "$note"
answer 200 '{"expiresIn":300}' /app/login/refresh "${jar[@]}" -X POST
answer 204 '' /app/logout -b "$work/jar" -X POST
header Set-Cookie $'token=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax\nrefresh=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict'
answer 401 "$invalid" /app/me -b "$work/jar"

echo '# a port in use'
status=0
refused=$(PORT=${api##*:} node "$main" 2>&1) || status=$?
is 'exit code' 1 "$status"
is 'message' "
The demo cannot start. Something else listens on 127.0.0.1, port ${api##*:}. Stop it, or choose another port: PORT=3001 npm start" \
  "$refused"
answer 200 "$alice" /me "${hs256[@]}"

echo '# Ctrl-C while a browser holds a connection open, and a second start'
exec 3<>"/dev/tcp/127.0.0.1/${api##*:}"
stop INT
exec 3>&-
is 'key files' $'-rw-------\n-rw-------' "$(ls -l "$work/keys"/*.pem | cut -c 1-10)"
AUTH_JWT_SECRET=$(node -p "crypto.randomBytes(32).toString('base64url')")
export AUTH_JWT_SECRET
start 0
answer 200 "$alice" /rs256/me -H "Authorization: Bearer $rs256"
answer 401 "$invalid" /me "${hs256[@]}"
if grep -qF -e "$AUTH_JWT_SECRET" "$work/out" "$work/err"; then fail 'the secret is printed'; else pass; fi
stop TERM

echo "$passed passed, $failed failed"
((failed == 0))
