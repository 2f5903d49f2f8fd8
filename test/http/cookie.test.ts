import t from 'tap'
import { MALFORMED } from '../../lib/http/authorization.js'
import { isCookieValue, parseCookies, setCookie } from '../../lib/http/cookie.js'

/** The cookie `token`; null where it is missing or empty. */
const valueIn = (header: string): unknown => parseCookies(header).get('token') || null

t.test('parseCookies() finds the value of exactly one cookie, undecoded', async (t) => {
  const rows: [header: string, value: unknown][] = [
    ['', null],
    ['token=a', 'a'],
    ['a=1; token=b; c=3', 'b'],
    ['a=1; \t token= b \t; c=3', 'b'],
    ['token=a=b==', 'a=b=='],
    // Nothing is decoded, and nothing unquoted.
    ['token="a"', '"a"'],
    ['token=%61', '%61'],
    // Other names.
    ['Token=a', null],
    ['token2=a', null],
    ['token =a', null],
    ['__Host-token=a', null],
    ['a=token=b', null],
    ['token', null],
    ['token; a=1', null],
    ['token; =; token=a', 'a'],
    ['\u00a0token=a', null],
    ['\ttoken=\u00a0a', 'a'],
    ['a, token=b', null],
    [';;; ;', null],
    [';;token=a;', 'a'],
    // Empty.
    ['token=', null],
    // Twice, whatever they hold.
    ['token=a; token=a', MALFORMED],
    ['token=a; b=1; token=c', MALFORMED],
    ['token=; token=a', MALFORMED],
    ['token=a; token=', MALFORMED],
  ]
  for (const [header, value] of rows) t.equal(valueIn(header), value, header)
})

t.test('a header of 700,000 characters is read in one pass', async (t) => {
  const pieces = ['token; ', ';', '=', ' ', '\t;', ' =', '=;', 'a=b; ']
  for (const piece of pieces) {
    const header = piece.repeat(Math.ceil(700_000 / piece.length))
    const started = performance.now()
    t.equal(valueIn(`${header};token=a`), 'a', JSON.stringify(piece))
    t.ok(performance.now() - started < 2000, 'bounded')
  }
})

t.test('a cookie value must not hold spaces, quotes, commas, semicolons or controls', async (t) => {
  for (const text of ['', 'a', 'eyJ.e30.x_-', "!#$%&'()*+-./:<=>?@[]^_`{|}~"]) {
    t.ok(isCookieValue(text), text)
  }
  for (const text of ['a b', 'a;b', 'a,b', '"a"', 'a\\b', 'a\r\nb', 'a\0', '\u007f', 'é']) {
    t.notOk(isCookieValue(text), encodeURIComponent(text))
  }
})

t.test('setCookie() writes the attributes that are set', async (t) => {
  const cookie = {
    name: '__Host-token',
    value: 'a',
    maxAge: 300,
    isSecure: true,
    sameSite: 'Lax',
  } as const
  t.equal(setCookie(cookie), '__Host-token=a; Max-Age=300; Path=/; Secure; HttpOnly; SameSite=Lax')
  t.equal(
    setCookie({ ...cookie, name: 'token', maxAge: null, isSecure: false, sameSite: 'Strict' }),
    'token=a; Path=/; HttpOnly; SameSite=Strict',
  )
})
