import t from 'tap'
import { isOrigin, isOwnOrigin } from '../../lib/http/origin.js'

t.test('isOrigin() accepts exactly what browsers write as Origin', async (t) => {
  const good = [
    'https://shop.example',
    'http://shop.example',
    'https://shop.example:8443',
    'http://localhost:5173',
    'http://127.0.0.1:3000',
    'http://[::1]:3000',
    'https://xn--bcher-kva.example',
    'capacitor://localhost',
    'ionic://localhost',
    'tauri://localhost',
    'chrome-extension://abcdefghijklmnop',
  ]
  for (const text of good) t.ok(isOrigin(text), text)
  const bad = [
    '',
    'null',
    '*',
    'https://*',
    'https://*.shop.example',
    'https://shop.example/',
    'https://shop.example/path',
    'https://shop.example?x',
    'https://shop.example#x',
    'https://shop.example:443',
    'http://shop.example:80',
    'https://Shop.example',
    'HTTPS://shop.example',
    'https://bücher.example',
    'https://user@shop.example',
    'https://a b',
    'https://',
    'https:shop.example',
    '//shop.example',
    'shop.example',
    'localhost:3000',
    ' https://shop.example',
    'https://shop.example ',
    'https://shop.example, https://other.example',
    'https://shop.example:99999',
    'capacitor://',
    'capacitor://localhost/',
    'capacitor://*',
    'javascript:alert(1)',
    'data:text/html,x',
    'file://',
  ]
  for (const text of bad) t.notOk(isOrigin(text), text)
})

t.test('isOwnOrigin() matches scheme, host and port of the server', async (t) => {
  const rows: [origin: string, protocol: string, host: string, isOwn: boolean][] = [
    ['https://shop.example', 'https', 'shop.example', true],
    ['https://shop.example:8443', 'https', 'shop.example:8443', true],
    ['http://[::1]:3000', 'http', '[::1]:3000', true],
    // Clients and proxies may name the default port in Host.
    ['https://shop.example', 'https', 'shop.example:443', true],
    ['http://localhost', 'http', 'localhost:80', true],
    ['http://shop.example', 'http', 'shop.example:443', false],
    ['https://shop.example', 'https', 'shop.example:80', false],
    ['https://shop.example:443', 'https', 'shop.example', false],
    ['http://shop.example', 'https', 'shop.example', false],
    ['https://shop.example', 'http', 'shop.example', false],
    ['https://shop.example:1', 'https', 'shop.example:2', false],
    ['https://shop.example', 'https', 'shop.example.evil.example', false],
    ['https://evil.example', 'https', 'shop.example', false],
    ['https://sub.shop.example', 'https', 'shop.example', false],
    ['https://SHOP.example', 'https', 'shop.example', false],
    ['null', 'https', 'shop.example', false],
    ['null', 'https', '', false],
    ['', 'https', 'shop.example', false],
    ['https://shop.example, https://shop.example', 'https', 'shop.example', false],
    // What Traefik says of WebSockets.
    ['https://shop.example', 'wss', 'shop.example', true],
    ['https://shop.example', 'wss', 'shop.example:443', true],
    ['http://localhost:3000', 'ws', 'localhost:3000', true],
    ['https://shop.example', 'ws', 'shop.example', false],
    ['wss://shop.example', 'wss', 'shop.example', false],
    ['ftp://shop.example', 'ftp', 'shop.example:21', false],
    ['https://shop.example', 'constructor', 'shop.example', false],
  ]
  for (const [origin, protocol, host, isOwn] of rows) {
    t.equal(isOwnOrigin(origin, protocol, host), isOwn, `${origin} at ${protocol}://${host}`)
  }
})
